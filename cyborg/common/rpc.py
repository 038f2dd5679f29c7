# SPDX-License-Identifier: Apache-2.0
"""Messaging between our services: transport, clients, servers.

A process calls ``init`` once, before it builds clients or servers, and
``cleanup`` at its end; tests do both through a fixture.
"""

from collections.abc import Iterator
import contextlib
import logging
import re
from typing import Any

from oslo_config import cfg
import oslo_messaging as messaging
from oslo_messaging import opts as messaging_opts
from oslo_messaging.rpc import dispatcher

from cyborg.common import broker
from cyborg.common import context as cyborg_context
from cyborg.common import deadline
from cyborg.common import exception
from cyborg.conf import CONF

LOG = logging.getLogger(__name__)

CONTROL_EXCHANGE = 'cyborg'

# Errors of these modules are raised again, as what they are, on the side that
# called; all others arrive as oslo_messaging.RemoteError.
ALLOWED_EXMODS = ('cyborg.common.exception', 'oslo_versionedobjects.exception')

# The default of the library is "openstack"; set before options are parsed.
messaging.set_transport_defaults(CONTROL_EXCHANGE)

# The library registers it when it makes the first client.
CONF.register_opts([
    option for group, options in messaging_opts.list_opts() if group is None
    for option in options if option.name == 'rpc_response_timeout'])

_VERSION = re.compile(r'[1-9][0-9]*\.(0|[1-9][0-9]*)')


class RequestContextSerializer(messaging.Serializer):
    """Carries our request context; leaves the arguments to ``base``.

    :param base: serializer of the arguments and results, such as the one for
        versioned objects; None passes them through.
    """

    def __init__(self, base: messaging.Serializer | None = None):
        self._base = base or messaging.NoOpSerializer()

    def serialize_entity(self, context: cyborg_context.RequestContext,
                         entity: Any) -> Any:
        return self._base.serialize_entity(context, entity)

    def deserialize_entity(self, context: cyborg_context.RequestContext,
                           entity: Any) -> Any:
        return self._base.deserialize_entity(context, entity)

    def serialize_context(self, context: cyborg_context.RequestContext
                          ) -> dict[str, Any]:
        return context.to_dict()

    def deserialize_context(self, context: dict[str, Any]
                            ) -> cyborg_context.RequestContext:
        return cyborg_context.RequestContext.from_dict(context)


class _Messaging:
    """The transport of this process, or none."""

    def __init__(self):
        self.transport = None


_messaging = _Messaging()


def init(conf: cfg.ConfigOpts = CONF,
         allowed_remote_exmods: tuple[str, ...] = ()) -> None:
    """Create the transport of this process.

    :param allowed_remote_exmods: further modules whose errors are raised
        again on this side
    :raises exception.TransportInvalid: ``[DEFAULT] transport_url`` is of no
        use
    """
    if _messaging.transport is not None:
        return
    with explained(conf):
        _messaging.transport = messaging.get_rpc_transport(
            conf, allowed_remote_exmods=[*ALLOWED_EXMODS,
                                         *allowed_remote_exmods])


@contextlib.contextmanager
def explained(conf: cfg.ConfigOpts, option: str = broker.OPTION
              ) -> Iterator[None]:
    """What the library says of a broker's URL, in an operator's words.

    :raises exception.TransportInvalid: the URL is of no use.
    """
    try:
        yield
    except (messaging.InvalidTransportURL,
            messaging.DriverLoadFailure) as error:
        raise exception.TransportInvalid(
            option=option, host=conf.host,
            reason=exception.plain_text(error)) from error
    except ValueError:
        # Its text repeats what stands in the place of the port, which is a
        # part of the password when that holds a slash.
        raise exception.TransportInvalid(
            option=option, host=conf.host, reason='its host and port cannot '
            'be told apart') from None


def cleanup() -> None:
    """Close the transport; ``init`` may be called again afterwards."""
    transport, _messaging.transport = _messaging.transport, None
    if transport is not None:
        transport.cleanup()


def initialized() -> bool:
    return _messaging.transport is not None


def get_transport() -> messaging.Transport:
    """The transport of this process.

    :raises RuntimeError: ``init`` was not called
    """
    if _messaging.transport is None:
        raise RuntimeError('cyborg.common.rpc.init() was not called')
    return _messaging.transport


def get_client(target: messaging.Target, version_cap: str | None = None,
               serializer: messaging.Serializer | None = None
               ) -> messaging.RPCClient:
    """An RPC client.

    :param target: topic and version
    :param version_cap: newest version this client may send
    :param serializer: of arguments and results
    """
    return messaging.get_rpc_client(
        get_transport(), target, version_cap=version_cap,
        serializer=RequestContextSerializer(serializer))


def waited_for(context: cyborg_context.RequestContext, timeout: float | None
               ) -> cyborg_context.RequestContext:
    """The context of a call whose answer is waited for.

    :param timeout: seconds; None takes ``[DEFAULT] rpc_response_timeout``.
    :returns: a context that says until when that is.
    :raises exception.CallTooLate: it follows from a call for whose answer
        nobody waits any more.
    """
    deadline.check(context)
    return context.until(deadline.now() + (
        CONF.rpc_response_timeout if timeout is None else timeout))


def get_server(target: messaging.Target, endpoints: list,
               serializer: messaging.Serializer | None = None
               ) -> messaging.MessageHandlingServer:
    """An RPC server, not yet started. Requests are served by threads.

    No executor is named: oslo.messaging takes threads by itself where nothing
    is monkey patched, and naming it is deprecated.
    """
    return messaging.get_rpc_server(
        get_transport(), target, endpoints,
        serializer=RequestContextSerializer(serializer),
        access_policy=dispatcher.DefaultRPCAccessPolicy)


def version_cap(service: str, newest: str, releases: dict[str, str]) -> str:
    """The RPC version that ``[upgrade_levels]`` allows for a service.

    :param service: name of the option, such as ``conductor``
    :param newest: version of this release, used when the option is unset
    :param releases: name of a release -> its RPC version
    :returns: ``MAJOR.MINOR``
    :raises UpgradeLevelInvalid: neither a version nor a known release, or a
        version newer than ours
    """
    value = getattr(CONF.upgrade_levels, service)
    if value is None:
        return newest
    cap = releases.get(value.strip(), value.strip())
    if not _VERSION.fullmatch(cap) or _numbers(cap) > _numbers(newest):
        raise exception.UpgradeLevelInvalid(
            service=service, value=value,
            known=', '.join(sorted(releases)) or newest)
    return cap


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split('.'))

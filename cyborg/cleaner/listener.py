# SPDX-License-Identifier: Apache-2.0
"""Hears Nova's versioned notifications and raises reservations at once.

It believes a message no more than that it is worth a look: what is reserved
follows from the consumer's allocations in Placement. It never lowers anything.
A message of any kind is counted, and never raised or asked for again.
"""

import collections
from collections.abc import Callable
from typing import Any

from oslo_log import log as logging
import oslo_messaging as messaging
from oslo_utils import uuidutils

from cyborg.cleaner import view as placement_view
from cyborg.common import exception
from cyborg.placement import client as placement
from cyborg.placement import tree

LOG = logging.getLogger(__name__)

_ALIAS = 'pci_passthrough:alias'
_NAMESPACE = 'nova'
_MAJOR = '1.'


class Malformed(ValueError):
    """What a message is not."""


class Endpoint:
    """What oslo.messaging calls for each message.

    :param hint: called with the name of a host.
    :ivar counts: kind of message -> number.
    """

    def __init__(self, client: tree.TreeClient,
                 hint: Callable[[str], None]):
        self._client = client
        self._hint = hint
        self.counts: collections.Counter = collections.Counter()

    def info(self, ctxt: dict, publisher_id: str, event_type: str,
             payload: Any, metadata: dict) -> Any:
        return self._hear(event_type, payload)

    # A failed start has another priority, and so another queue.
    error = info

    def _hear(self, event_type, payload) -> str:
        """:returns: HANDLED, whatever came"""
        try:
            kind = self._handle(event_type, payload)
        except Malformed as error:
            kind = 'malformed'
            LOG.debug('A notification is of no use: %s', error)
        except exception.CyborgException as error:
            # The cleaner of the host sees the same at its next look.
            kind = 'placement'
            LOG.warning('A notification of Nova was heard, and Placement '
                        'could not be asked: %s', exception.plain_text(error))
        except Exception:
            kind = 'failed'
            LOG.exception('A notification could not be handled.')
        self.counts[kind] += 1
        return messaging.NotificationResult.HANDLED

    def _handle(self, event_type, payload) -> str:
        if not isinstance(event_type, str):
            raise Malformed('its event type is no text')
        if not event_type.startswith('instance.'):
            return 'ignored'
        instance, host, node = instance_of(payload)
        if instance is None:
            return 'ignored'
        hosts = {host} if host else set()
        failed = None
        try:
            for provider in self._client.get_allocations(None, instance):
                found = self._client.get_provider(None, provider)
                at = found and placement_view.address_of(found.name)
                if at:
                    hosts.add(host or node or at[0])
                    failed = self._raised(provider) or failed
        finally:
            # The cleaner of the host looks for itself.
            for each in sorted(hosts):
                self._hint(each)
        if failed is not None:
            raise failed
        return 'heard'

    def _raised(self, provider: str) -> exception.CyborgException | None:
        """One provider that fails keeps no other from being reserved."""
        try:
            self._raise(provider)
        except placement.ERRORS as error:
            return error
        return None

    def _raise(self, provider: str) -> None:
        """Reserve it, if it is one that a cleaner cares for.

        Nobody would ever free the reservation of another one.
        """
        client = self._client
        try:
            aggregates = client.get_aggregates(None, provider)
            if placement_view.CARED_FOR in aggregates.uuids and (
                    sum(client.get_usages(None, provider).values())):
                _reserve(client, provider)
        except exception.PlacementResourceProviderNotFound:
            LOG.debug('Provider %s is gone', provider)


@placement.retry_conflicts
def _reserve(client, provider):
    placement_view.reserve(client, provider)


def instance_of(payload: Any) -> tuple[str | None, str | None, str | None]:
    """(instance, host, node); no instance when its flavor wants no device.

    :raises Malformed: it is no payload of an instance, of version 1.
    """
    data = _data(payload, 'the payload')
    instance = data.get('uuid')
    if not uuidutils.is_uuid_like(instance):
        raise Malformed('its uuid is %.80r' % (instance,))
    flavor = _data(data.get('flavor'), 'the flavor')
    specs = flavor.get('extra_specs')
    if specs is not None and not isinstance(specs, dict):
        raise Malformed('its extra_specs are no object')
    names = []
    for key in ('host', 'node'):
        value = data.get(key)
        if value is not None and not isinstance(value, str):
            raise Malformed('its %s is no text' % key)
        names.append(value)
    if _ALIAS not in (specs or {}):
        return None, *names
    return instance, *names


def _data(value, what) -> dict:
    if not isinstance(value, dict):
        raise Malformed('%s is no object' % what)
    version = value.get('nova_object.version')
    if value.get('nova_object.namespace') != _NAMESPACE or (
            not isinstance(version, str)
            or not version.startswith(_MAJOR)):
        raise Malformed('%s is no object of Nova\'s version 1, but of %.80r'
                        % (what, version))
    data = value.get('nova_object.data')
    if not isinstance(data, dict):
        raise Malformed('%s has no data' % what)
    return data


class Listener:
    """Listens until it is stopped.

    :param transport: a notification transport.
    """

    def __init__(self, transport, endpoint: Endpoint, exchange: str,
                 topics: list[str], pool: str):
        self._server = messaging.get_notification_listener(
            transport, [messaging.Target(topic=topic, exchange=exchange)
                        for topic in topics], [endpoint],
            executor='threading', allow_requeue=False, pool=pool)

    def start(self) -> None:
        self._server.start()

    def stop(self) -> None:
        self._server.stop()
        self._server.wait()


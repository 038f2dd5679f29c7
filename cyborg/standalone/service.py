# SPDX-License-Identifier: Apache-2.0
"""Starts and stops the services of ``cyborg-standalone``.

Conductor and agent are those of the commands; they talk through
oslo.messaging's in-process transport, over which the agent's objects reach
the conductor as they do over a broker. Placement is reached over HTTP.
"""

import contextlib
import fcntl
import pathlib
import shutil

from oslo_config import cfg
from oslo_log import log as logging
import oslo_middleware

from cyborg.agent import service as agent_service
from cyborg.api import app as api_app
from cyborg.api.middleware import mount
from cyborg.api.middleware import noauth
from cyborg.common import config
from cyborg.common import exception
from cyborg.common import http
from cyborg.common import rpc
from cyborg.common import sdk
from cyborg.common.i18n import _
from cyborg.conductor import service as conductor_service
from cyborg.db.sqlalchemy import migration
from cyborg.pci import simulate
from cyborg.placement import client as placement_client
from cyborg.standalone import placement
from cyborg.standalone import settings

LOG = logging.getLogger(__name__)

ADDRESS = '127.0.0.1'
MOUNT = mount.PREFIX
DEFAULT_PORT = 6666


class StateInUse(exception.CyborgException):
    _msg_fmt = _('Another cyborg-standalone uses %(directory)s. Stop it, or '
                 'choose another directory with --state-dir.')


class StateUnusable(exception.CyborgException):
    _msg_fmt = _('%(directory)s cannot hold the state: %(reason)s. Choose '
                 'another directory with --state-dir.')


class Standalone:
    """All services of one machine; a context manager that stops them.

    :param state: directory of the databases; made when absent.
    :ivar url: where the API answers, without version.
    :ivar placement_url: where Placement answers.
    """

    def __init__(self, conf: cfg.ConfigOpts, state: pathlib.Path):
        self._conf = conf
        self._state = state
        self._exits = contextlib.ExitStack()
        self.url = ''
        self.placement_url = ''

    def __enter__(self) -> 'Standalone':
        with contextlib.ExitStack() as exits:
            self._start(exits)
            self._exits = exits.pop_all()
        return self

    def __exit__(self, *exc_info) -> None:
        self._exits.close()

    def _start(self, exits: contextlib.ExitStack) -> None:
        """:raises exception.CyborgException: whatever keeps it from it."""
        conf, state = self._conf, self._state
        self._own_state(exits)
        # The ports first: a taken one is the likeliest mistake.
        api = http.Server(
            'The API', _mounted(MOUNT, lambda *args: self._app(*args)),
            http.listen('The API', ADDRESS, _port(conf), '--port'),
            threads=8)
        exits.callback(api.stop)
        provider = http.Server(
            'Placement', placement.application(state / 'placement.sqlite'),
            http.listen('Placement', ADDRESS, conf.placement_port,
                        '--placement-port'))
        exits.callback(provider.stop)
        provider.start()
        self.placement_url = provider.url
        settings.apply(conf, state, provider.url)
        if conf.simulate:
            _build_host(state / 'host')
        migration.upgrade()
        _ensure_root(conf.agent.resource_provider_name)
        exits.callback(rpc.cleanup)
        rpc.init()
        for service in (conductor_service.ConductorService(
                            expects_nova=False),
                        agent_service.AgentService()):
            exits.callback(service.stop)
            service.start()
        self.url = api.url + MOUNT
        config.set_api_defaults()
        self._app = oslo_middleware.RequestId(
            noauth.AdminWithoutHeaders(api_app.make_app()))
        api.start()
        LOG.info('The API answers at %s', self.url)

    def _own_state(self, exits: contextlib.ExitStack) -> None:
        try:
            self._state.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = exits.enter_context(open(self._state / 'lock', 'a'))
        except OSError as error:
            raise StateUnusable(directory=self._state,
                                reason=error.strerror) from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StateInUse(directory=self._state) from None


def _port(conf) -> int:
    if conf.port is not None:
        return conf.port
    return 0 if conf.demo or conf.demo_cleaning else DEFAULT_PORT


def _build_host(path: pathlib.Path) -> None:
    """Made anew each time: a tree of an earlier release may differ."""
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    simulate.build(str(path / 'sys'))


def _ensure_root(name: str) -> None:
    """Create the host's provider, as a compute service would."""
    client = placement_client.PlacementClient()
    if client.find_providers(None, name):
        return
    answer = sdk.adapter('placement', placement_client.SERVICE_TYPE).post(
        '/resource_providers', json={'name': name}, microversion='1.20')
    if answer.status_code != 200:
        raise exception.PlacementRequestRefused(
            method='POST', url='/resource_providers',
            status=answer.status_code, reason=answer.text)


def _mounted(prefix: str, application):
    """Serve an application below a path, and its versions at the root.

    Clients that are given nothing but a host and a port look for them there,
    and follow the links.
    """

    def serve(environ, start_response):
        path = environ.get('PATH_INFO', '')
        if path not in ('', '/') and not (path + '/').startswith(prefix + '/'):
            start_response('404 Not Found', [
                ('Content-Type', 'application/json')])
            return [b'{"error_message": "The service is below %s/v2"}'
                    % prefix.encode()]
        return application(environ, start_response)

    return serve

# SPDX-License-Identifier: Apache-2.0
"""The server inside ``cyborg-api``, for set-ups without one of their own.

Cheroot serves the application with threads, in ``[api] api_workers``
processes that share one listening socket. Larger set-ups let uWSGI, gunicorn
or mod_wsgi load ``cyborg.wsgi.api:application``.
"""

from collections.abc import Callable
import logging
import os
import socket
import threading

from cheroot import wsgi
from cheroot.ssl import builtin
from oslo_concurrency import processutils
from oslo_service import service

from cyborg.api.middleware import readable
from cyborg.common import exception
from cyborg.common.i18n import _
from cyborg.conf import CONF

LOG = logging.getLogger(__name__)

NAME = 'cyborg-api'
BACKLOG = 128
#: Requests that one process serves at a time.
THREADS = 10
# A client that keeps a connection open without asking must not keep a thread.
_IDLE_TIMEOUT = 30
# Bytes. Nobody may fill the memory before the application, which knows what
# is sensible and says so, has seen the request.
_MAX_HEADERS = 128 * 1024
_MAX_BODY = 8 * readable.MAX_BODY


class CannotListen(exception.CyborgException):
    _msg_fmt = _('%(host)s port %(port)s cannot be listened on: %(reason)s. '
                 'Check [api] host_ip and port, and what else runs there.')


def listen(host: str, port: int) -> socket.socket:
    """A socket that every worker accepts connections from.

    :raises CannotListen: the address is taken, or is none of this machine.
    """
    try:
        family, kind, protocol, _name, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM,
            flags=socket.AI_PASSIVE)[0]
        sock = socket.socket(family, kind, protocol)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
        sock.listen(BACKLOG)
    except OSError as error:
        raise CannotListen(host=host, port=port, reason=error) from error
    return sock


def tls() -> builtin.BuiltinSSLAdapter | None:
    """What speaks TLS; None when ``[api] enable_ssl_api`` is off.

    :raises exception.ConfigInvalid: a certificate or key cannot be used.
    """
    if not CONF.api.enable_ssl_api:
        return None
    for name in ('cert_file', 'key_file'):
        path = CONF.ssl[name]
        if not path or not os.path.isfile(path):
            raise exception.ConfigInvalid(
                error_msg=_('[api] enable_ssl_api needs [ssl] %(name)s, '
                            'which is %(path)s: no such file.')
                % {'name': name, 'path': path or _('not set')})
    try:
        return builtin.BuiltinSSLAdapter(
            CONF.ssl.cert_file, CONF.ssl.key_file, CONF.ssl.ca_file)
    except (OSError, ValueError) as error:
        raise exception.ConfigInvalid(
            error_msg=_('[ssl] cert_file and key_file cannot be used: %s')
            % error) from error


class _Server(wsgi.Server):
    """Cheroot on a socket that exists already."""

    max_request_header_size = _MAX_HEADERS
    max_request_body_size = _MAX_BODY

    def __init__(self, sock: socket.socket, application: Callable):
        super().__init__(sock.getsockname()[:2], application,
                         numthreads=THREADS, server_name=NAME,
                         request_queue_size=BACKLOG, timeout=_IDLE_TIMEOUT)
        self._sock = sock

    def bind(self, family, type, proto=0):
        self.socket = self._sock
        return self._sock

    def error_log(self, msg='', level=20, traceback=False):
        LOG.log(level, '%s', msg, exc_info=traceback)


class ApiService(service.Service):
    """One worker process; ``service`` launches several of it."""

    def __init__(self, sock: socket.socket, application: Callable,
                 adapter: builtin.BuiltinSSLAdapter | None):
        super().__init__()
        self._sock = sock
        self._application = application
        self._adapter = adapter
        self._server = None
        self._thread = None

    def start(self) -> None:
        self._server = _Server(self._sock, self._application)
        self._server.ssl_adapter = self._adapter
        self._server.prepare()
        self._thread = threading.Thread(target=self._server.serve,
                                        name=NAME, daemon=True)
        self._thread.start()

    def stop(self, graceful: bool = True) -> None:
        """Finish the requests in hand and take no more."""
        if self._server is not None:
            self._server.stop()
        super().stop(graceful)

    def wait(self) -> None:
        if self._thread is not None:
            self._thread.join()
        super().wait()


def workers() -> int:
    """How many processes to serve with: ``api_workers``, or one a CPU."""
    return CONF.api.api_workers or processutils.get_worker_count()


def run(application: Callable) -> int:
    """Serve until SIGTERM or SIGINT; returns the exit status.

    :raises CannotListen: see :func:`listen`.
    :raises exception.ConfigInvalid: see :func:`tls`.
    """
    adapter = tls()
    sock = listen(CONF.api.host_ip, CONF.api.port)
    number = workers()
    host, port = sock.getsockname()[:2]
    LOG.info('%(name)s serves %(scheme)s://%(host)s:%(port)d with '
             '%(workers)d processes.',
             {'name': NAME, 'scheme': 'https' if adapter else 'http',
              'host': '[%s]' % host if ':' in host else host, 'port': port,
              'workers': number})
    launcher = service.ProcessLauncher(CONF)
    launcher.launch_service(ApiService(sock, application, adapter),
                            workers=number)
    return launcher.wait() or 0

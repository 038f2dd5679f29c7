# SPDX-License-Identifier: Apache-2.0
"""The server inside ``cyborg-api``, for set-ups without one of their own.

It serves the application in ``[api] api_workers`` processes that share one
listening socket. Larger set-ups let uWSGI, gunicorn or mod_wsgi load
``cyborg.wsgi.api:application``.
"""

from collections.abc import Callable
import logging
import os
import socket
import ssl
import threading

from oslo_concurrency import processutils
from oslo_service import service

from cyborg.api import bodies
from cyborg.common import exception
from cyborg.common import http
from cyborg.common.i18n import _
from cyborg.conf import CONF

LOG = logging.getLogger(__name__)

NAME = 'cyborg-api'
#: Requests that one process serves at a time.
THREADS = 10
# Bytes. Nobody may fill the memory before the application, which knows what
# is sensible and says so, has seen the request.
_MAX_BODY = 8 * bodies.MAX_BODY


def tls() -> ssl.SSLContext | None:
    """What speaks TLS; None when ``[api] enable_ssl_api`` is off.

    :raises exception.ConfigInvalid: a certificate or key cannot be used.
    """
    if not CONF.api.enable_ssl_api:
        return None
    needed = [name for name in ('cert_file', 'key_file', 'ca_file')
              if name != 'ca_file' or CONF.ssl.ca_file]
    for name in needed:
        path = CONF.ssl[name]
        if not path or not os.path.isfile(path):
            raise exception.ConfigInvalid(
                error_msg=_('[api] enable_ssl_api needs [ssl] %(name)s, '
                            'which is %(path)s: no such file.')
                % {'name': name, 'path': path or _('not set')})
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(CONF.ssl.cert_file, CONF.ssl.key_file,
                                _no_passphrase)
        if CONF.ssl.ca_file:
            # What stands there is sent behind the API's own certificate.
            context.load_verify_locations(CONF.ssl.ca_file)
    except (OSError, ValueError) as error:
        raise exception.ConfigInvalid(
            error_msg=_('[ssl] cert_file = %(cert)s and key_file = %(key)s '
                        'cannot be used: %(reason)s. Give a certificate and '
                        'its key in PEM form, readable for this user.')
            % {'cert': CONF.ssl.cert_file, 'key': CONF.ssl.key_file,
               'reason': error}) from error
    return context


def _no_passphrase() -> str:
    """Instead of a question on the terminal."""
    raise ValueError(_('the key has a passphrase'))


class ApiService(service.Service):
    """One worker process; ``service`` launches several of it."""

    def __init__(self, sock: socket.socket, application: Callable,
                 context: ssl.SSLContext | None):
        super().__init__()
        self._sock = sock
        self._application = application
        self._tls = context
        self._server = None
        self._stopped = threading.Event()

    def start(self) -> None:
        # Its news are how many requests wait, at each one that does.
        logging.getLogger('waitress.queue').setLevel(logging.ERROR)
        self._server = http.Server(
            NAME, self._application, self._sock, threads=THREADS,
            max_body=_MAX_BODY, tls=self._tls, trust_proxy=True)
        self._server.start()

    def stop(self, graceful: bool = True) -> None:
        """Finish the requests in hand and take no more."""
        if self._server is not None:
            self._server.stop(CONF.graceful_shutdown_timeout
                              or threading.TIMEOUT_MAX)
        self._stopped.set()
        super().stop(graceful)

    def wait(self) -> None:
        self._stopped.wait()
        super().wait()


def workers() -> int:
    """How many processes to serve with: ``api_workers``, or one a CPU."""
    return CONF.api.api_workers or processutils.get_worker_count()


def run(application: Callable) -> int:
    """Serve until SIGTERM or SIGINT; returns the exit status.

    :raises http.AddressUnusable: see :func:`http.listen`.
    :raises exception.ConfigInvalid: see :func:`tls`.
    """
    context = tls()
    sock = http.listen(_('The API'), CONF.api.host_ip, CONF.api.port,
                       '[api] host_ip and port')
    number = workers()
    host, port = sock.getsockname()[:2]
    LOG.info('%(name)s serves %(scheme)s://%(host)s:%(port)d with '
             '%(workers)d processes.',
             {'name': NAME, 'scheme': 'https' if context else 'http',
              'host': '[%s]' % host if ':' in host else host, 'port': port,
              'workers': number})
    launcher = service.ProcessLauncher(CONF)
    launcher.launch_service(ApiService(sock, application, context),
                            workers=number)
    return launcher.wait() or 0

# SPDX-License-Identifier: Apache-2.0
"""Serves a WSGI application from threads of this process.

Waitress reads requests and sends answers in one thread that waits for no
client, and gives whole requests to the others. However many clients are slow,
they keep no request of others from being answered.
"""

from collections.abc import Callable
import errno
import socket
import ssl
import threading
import time

from oslo_log import log as logging
from waitress import adjustments
from waitress import channel
from waitress import server as waitress_server

from cyborg.common import exception
from cyborg.common.i18n import _

LOG = logging.getLogger(__name__)

#: Connections of one process; others wait to be accepted.
CONNECTIONS = 800
#: Seconds that a request may take to arrive, and that a connection is kept
#: between two.
PATIENCE = 60
#: Bytes of the first line and the headers.
MAX_HEADERS = 64 * 1024
# A record of TLS is read whole; the socket does not tell of what is left.
_READ_SIZE = 64 * 1024

_REASONS = {errno.EADDRINUSE: _('another process listens there'),
            errno.EACCES: _('that port needs more privileges'),
            errno.EADDRNOTAVAIL: _('no interface has that address')}
_NOT_NOW = (ssl.SSLWantReadError, ssl.SSLWantWriteError)


class AddressUnusable(exception.CyborgException):
    _msg_fmt = _('%(what)s cannot listen on %(host)s port %(port)s: '
                 '%(reason)s. Choose another one with %(option)s.')


def listen(what: str, host: str, port: int, option: str) -> socket.socket:
    """A socket that accepts connections; several processes may share it.

    :param what: what listens there, for people
    :param port: 0 takes a free one.
    :param option: what to change, for people
    :raises AddressUnusable: naming ``what`` and ``option``.
    """
    try:
        family = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise AddressUnusable(
            what=what, host=host, port=port, option=option,
            reason=_REASONS.get(error.errno, error.strerror)) from None


class _Channel(channel.HTTPChannel):
    """A connection whose time runs from the first byte of a request on."""

    def handle_read(self):
        before = self.last_activity
        is_new = self.request is None
        super().handle_read()
        if not is_new:
            # Byte by byte a client would keep its connection for ever.
            self.last_activity = before


class _TlsChannel(_Channel):
    """A connection that speaks TLS; the handshake is part of reading."""

    _received = b''

    def handle_read(self):
        try:
            self._received = self.socket.recv(_READ_SIZE)
        except _NOT_NOW:
            return
        except OSError:
            self.handle_close()
            return
        super().handle_read()

    def recv(self, buffer_size):
        if not self._received:
            self.handle_close()
        return self._received

    def send(self, data, do_close=True):
        try:
            return super().send(data, do_close=do_close)
        except _NOT_NOW:
            return 0


class _Server(waitress_server.TcpWSGIServer):
    """Waitress on a socket that exists already.

    :param tls: None speaks plain HTTP.
    """

    def __init__(self, application, sock, adj, tls: ssl.SSLContext | None):
        self._tls = tls
        self.channel_class = _TlsChannel if tls else _Channel
        super().__init__(
            application, {}, True, sock, adj=adj, bind_socket=False,
            sockinfo=(sock.family, sock.type, sock.proto, sock.getsockname()))

    def accept(self):
        found = super().accept()
        if found is None or self._tls is None:
            return found
        sock, address = found
        return self._tls.wrap_socket(
            sock, server_side=True, do_handshake_on_connect=False), address


class Server:
    """Answers from :meth:`start` on what is asked of a listening socket.

    :param what: what is served, for people
    :param sock: see :func:`listen`
    :param threads: requests answered at the same time.
    :param max_body: bytes of a body that are read at most.
    :param trust_proxy: leave headers that a proxy sets, such as
        ``X-Forwarded-For``, to the application.
    """

    def __init__(self, what: str, application: Callable, sock: socket.socket,
                 *, threads: int = 4, max_body: int = 16 * 1024 * 1024,
                 tls: ssl.SSLContext | None = None,
                 trust_proxy: bool = False):
        self.what = what
        host, self.port = sock.getsockname()[:2]
        self.url = '%s://%s:%d' % ('https' if tls else 'http', '[%s]' % host
                                   if ':' in host else host, self.port)
        self._server = _Server(application, sock, adjustments.Adjustments(
            sockets=[sock], threads=threads, ident='cyborg',
            server_name=host, url_scheme='https' if tls else 'http',
            connection_limit=CONNECTIONS, asyncore_use_poll=True,
            channel_timeout=PATIENCE, cleanup_interval=PATIENCE // 4,
            max_request_header_size=MAX_HEADERS,
            max_request_body_size=max_body, log_socket_errors=False,
            clear_untrusted_proxy_headers=not trust_proxy), tls)
        self._thread = threading.Thread(
            target=self._server.run, name='http-%s' % what, daemon=True)

    def start(self) -> None:
        self._thread.start()
        LOG.debug('%s answers at %s', self.what, self.url)

    def stop(self, timeout: float = 5) -> None:
        """Finish the requests in work; clients that linger are cut off.

        :param timeout: seconds
        """
        dispatcher = self._server.task_dispatcher
        if not self._thread.is_alive():
            dispatcher.shutdown(timeout=timeout)
            self._server.close()
            return
        end = time.monotonic() + timeout
        self._server.accepting = False
        while dispatcher.queue and time.monotonic() < end:
            time.sleep(0.05)
        dispatcher.shutdown(timeout=max(0, end - time.monotonic()))
        # Sockets belong to the loop, so they are closed from within it; what
        # wakes it is one of them, and something else may have woken it.
        woken = threading.Event()
        self._server.trigger.pull_trigger(lambda: self._close(woken))
        woken.set()
        self._thread.join(timeout=5)

    def _close(self, woken: threading.Event) -> None:
        woken.wait(5)
        for connection in list(self._server.active_channels.values()):
            connection.handle_close()
        self._server.close()

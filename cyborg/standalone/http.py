# SPDX-License-Identifier: Apache-2.0
"""Serves a WSGI application from threads of this process."""

import errno
import socket
import threading

from oslo_log import log as logging
import waitress

from cyborg.common import exception
from cyborg.common.i18n import _

LOG = logging.getLogger(__name__)

_REASONS = {errno.EADDRINUSE: _('another process listens there'),
            errno.EACCES: _('that port needs more privileges'),
            errno.EADDRNOTAVAIL: _('no interface has that address')}


class AddressUnusable(exception.CyborgException):
    _msg_fmt = _('%(what)s cannot listen on %(host)s port %(port)s: '
                 '%(reason)s. Choose another one with %(option)s.')


class Server:
    """Listens from construction on, answers from :meth:`start` on.

    :param port: 0 takes a free one.
    :param threads: requests answered at the same time.
    :raises AddressUnusable: naming ``what`` and the ``option`` to change.
    """

    def __init__(self, what: str, application, host: str, port: int,
                 option: str, threads: int = 4):
        self.what = what
        try:
            family = socket.getaddrinfo(host, port)[0][0]
            listener = socket.create_server((host, port), family=family)
        except OSError as error:
            raise AddressUnusable(
                what=what, host=host, port=port, option=option,
                reason=_REASONS.get(error.errno, error.strerror)) from None
        self._server = waitress.create_server(
            application, sockets=[listener], threads=threads, ident='cyborg',
            clear_untrusted_proxy_headers=True)
        self.port = listener.getsockname()[1]
        self.url = 'http://%s:%d' % (
            '[%s]' % host if ':' in host else host, self.port)
        self._thread = threading.Thread(
            target=self._server.run, name='http-%s' % what, daemon=True)

    def start(self) -> None:
        self._thread.start()
        LOG.debug('%s answers at %s', self.what, self.url)

    def stop(self) -> None:
        """Finish the requests in work; clients that linger are cut off."""
        self._server.task_dispatcher.shutdown(cancel_pending=True, timeout=5)
        if not self._thread.is_alive():
            self._server.close()
            return
        # Sockets belong to the loop, so they are closed from within it.
        self._server.trigger.pull_trigger(self._close)
        self._thread.join(timeout=5)

    def _close(self) -> None:
        for channel in list(self._server.active_channels.values()):
            channel.handle_close()
        self._server.close()

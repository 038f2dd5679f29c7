# SPDX-License-Identifier: Apache-2.0
"""A TCP proxy that a campaign disturbs."""

import contextlib
import socket
import threading
import time

CHUNK = 65536


class Proxy:
    """Forwards a loopback port of its own to another one.

    :ivar mode: ``pass``; ``stall`` holds everything back; ``delay`` holds
        each piece back for a moment; ``swallow`` loses what the server says
    """

    def __init__(self, port: int):
        self.target = port
        self.mode = 'pass'
        self._pairs: set[tuple[socket.socket, socket.socket]] = set()
        self._lock = threading.Lock()
        self._listener = socket.create_server(('127.0.0.1', 0), backlog=64)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(('127.0.0.1', self.target),
                                                  5)
            except OSError:
                client.close()
                continue
            server.settimeout(None)
            pair = (client, server)
            with self._lock:
                self._pairs.add(pair)
            for source, sink in (pair, pair[::-1]):
                threading.Thread(
                    target=self._pump, args=(pair, source, sink),
                    daemon=True).start()

    def _pump(self, pair, source, sink):
        try:
            while True:
                data = source.recv(CHUNK)
                while self.mode == 'stall':
                    time.sleep(0.05)
                if self.mode == 'delay':
                    time.sleep(0.05)
                if self.mode == 'swallow' and source is pair[1]:
                    continue
                if not data:
                    break
                sink.sendall(data)
        except OSError:
            pass
        self._close(pair)

    def _close(self, pair):
        with self._lock:
            self._pairs.discard(pair)
        for one in pair:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def cut(self):
        """End every connection there is."""
        for pair in list(self._pairs):
            self._close(pair)

    def half_close(self):
        """Tell each server that its client says no more."""
        for _, server in list(self._pairs):
            with contextlib.suppress(OSError):
                server.shutdown(socket.SHUT_WR)

    def heal(self):
        """From now on as if nothing had been; what was swallowed is lost."""
        lost = self.mode == 'swallow'
        self.mode = 'pass'
        if lost:
            self.cut()

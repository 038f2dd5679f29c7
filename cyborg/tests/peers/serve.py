# SPDX-License-Identifier: Apache-2.0
"""Serve one WSGI application on a loopback port, for tests alone.

``serve.py MODULE:ATTRIBUTE PORT [ARGUMENTS SEEN BY THE APPLICATION…]``
Runs under any Python environment, so it needs nothing but the standard
library. ``SERVE_WORKERS`` in the environment makes several processes of it.
"""

import importlib
import os
import socketserver
import sys
from wsgiref import simple_server


class Server(socketserver.ThreadingMixIn, simple_server.WSGIServer):
    daemon_threads = True
    request_queue_size = 128


class Quiet(simple_server.WSGIRequestHandler):
    protocol_version = 'HTTP/1.0'

    def log_message(self, *arguments):
        pass

    def address_string(self):
        return self.client_address[0]


def load(target):
    module, attribute = target.split(':')
    application = getattr(importlib.import_module(module), attribute)
    return application if attribute == 'application' else application()


def more_workers(server, target, count):
    """Fork processes that serve, too, once this one listens.

    One after the other loads the application: the first may make tables.

    :returns: what lets them begin when it is closed
    """
    waiting, begin = os.pipe()
    for _ in range(count):
        loading, loaded = os.pipe()
        if not os.fork():
            os.close(begin)
            server.set_app(load(target))
            os.close(loaded)
            os.read(waiting, 1)
            server.serve_forever()
        os.close(loaded)
        os.read(loading, 1)
    return begin


def main():
    target, port = sys.argv[1], int(sys.argv[2])
    sys.argv[1:] = sys.argv[3:]
    server = Server(('127.0.0.1', port), Quiet, bind_and_activate=False)
    server.server_bind()
    begin = more_workers(server, target,
                         int(os.environ.get('SERVE_WORKERS', '1')) - 1)
    server.set_app(load(target))
    server.server_activate()
    os.close(begin)
    print('serving', target, flush=True)
    server.serve_forever()


if __name__ == '__main__':
    main()

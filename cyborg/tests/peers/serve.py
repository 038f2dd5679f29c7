# SPDX-License-Identifier: Apache-2.0
"""Serve one WSGI application on a loopback port, for tests alone.

``serve.py MODULE:ATTRIBUTE PORT [ARGUMENTS SEEN BY THE APPLICATION…]``
Runs under any Python environment, so it needs nothing but the standard
library.
"""

import importlib
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


def main():
    target, port = sys.argv[1], int(sys.argv[2])
    sys.argv[1:] = sys.argv[3:]
    module, attribute = target.split(':')
    application = getattr(importlib.import_module(module), attribute)
    if attribute != 'application':
        application = application()
    server = simple_server.make_server(
        '127.0.0.1', port, application, Server, Quiet)
    print('serving', target, flush=True)
    server.serve_forever()


if __name__ == '__main__':
    main()

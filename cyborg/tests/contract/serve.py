# SPDX-License-Identifier: Apache-2.0
"""Serve a prepared service, to replay a stream against from a shell.

    python -m cyborg.tests.contract.serve --stream m --port 6666

The whole service runs in this process (real conductor and Placement, SQLite
or a database server, stand-ins for Nova and the agent) and ends with Ctrl-C.
Nova's answers follow the header X-Test-Nova-Answer of a request when it is
there: 200 (the default), 422, 404 or 500.
"""

import argparse
import socketserver
import sys
from wsgiref import simple_server

import fixtures

from cyborg.tests.fixtures import conf
from cyborg.tests.fixtures import contract
from cyborg.tests.fixtures import database


class _Server(socketserver.ThreadingMixIn, simple_server.WSGIServer):
    daemon_threads = True


class _Handler(simple_server.WSGIRequestHandler):
    def log_message(self, *args):
        pass


class _Prepared(fixtures.Fixture):

    def __init__(self, stream: str, database_kind: str):
        super().__init__()
        self._stream = stream
        self._database_kind = database_kind

    def _setUp(self):
        options = self.useFixture(conf.ConfFixture())
        self.state = self.useFixture(contract.RecordedState(
            options, self._stream, database_kind=self._database_kind))

    def __call__(self, environ, start_response):
        self.state.before({'environment': {
            'nova_external_events': environ.get(
                'HTTP_X_TEST_NOVA_ANSWER', '200')}})
        return self.state.service.application(environ, start_response)


def main(argv=None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--stream', default='m', choices=list('monk'))
    parser.add_argument('--port', type=int, default=6666)
    parser.add_argument('--database', default='sqlite',
                        choices=sorted(database.DATABASES))
    args = parser.parse_args(argv)
    with _Prepared(args.stream, args.database) as prepared:
        server = simple_server.make_server(
            '127.0.0.1', args.port, prepared, _Server, _Handler)
        print('Stream %s: http://127.0.0.1:%d (Ctrl-C ends it)'
              % (args.stream, args.port), flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            server.server_close()
    return 0


if __name__ == '__main__':
    sys.exit(main())

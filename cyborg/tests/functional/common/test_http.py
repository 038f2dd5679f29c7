# SPDX-License-Identifier: Apache-2.0

import threading
import time

import fixtures
import requests

from cyborg.common import http
from cyborg.tests import base


class TestServer(base.TestCase):

    def serve(self, application, **options):
        server = http.Server('It', application, http.listen(
            'It', '127.0.0.1', 0, '--port'), **options)
        server.start()
        self.addCleanup(server.stop)
        return server

    def test_answers(self):
        server = self.serve(_hello)
        self.assertEqual('hello', requests.get(server.url, timeout=5).text)

    def test_stop_frees_the_port_though_a_client_lingers(self):
        server = self.serve(_hello)
        with requests.Session() as client:
            client.get(server.url, timeout=5)
            started = time.monotonic()
            server.stop()
            self.assertLess(time.monotonic() - started, 30)
            http.listen('It', '127.0.0.1', server.port, '--port').close()

    def test_stop_while_the_loop_is_awake(self):
        """It closes what it is woken by, which must not be in use then."""
        server = self.serve(_hello)
        trigger, loop = server._server.trigger, server._thread
        write = trigger._physical_pull

        def wake():
            write()
            # As if the answer to a request had woken it before.
            loop.join(0.5)
            write()
        self.useFixture(fixtures.MockPatchObject(
            trigger, '_physical_pull', wake))
        server.stop()
        self.assertFalse(loop.is_alive())

    def test_stop_finishes_the_request_in_work(self):
        reached = threading.Event()

        def slow(environ, start_response):
            reached.set()
            time.sleep(0.5)
            return _hello(environ, start_response)

        server = self.serve(slow)
        answers = []
        client = threading.Thread(target=lambda: answers.append(
            requests.get(server.url, timeout=5).text))
        client.start()
        reached.wait(300)
        server.stop()
        client.join()
        self.assertEqual(['hello'], answers)

    def test_unusable_addresses(self):
        taken = self.serve(_hello)
        for host, port, reason in (
                ('127.0.0.1', taken.port, 'another process listens there'),
                ('192.0.2.1', 1024, 'no interface has that address')):
            error = self.assertRaises(
                http.AddressUnusable, http.listen, 'The API', host, port,
                '--port')
            self.assertEqual(
                'The API cannot listen on %s port %d: %s. Choose another one '
                'with --port.' % (host, port, reason), error.message)


def _hello(environ, start_response):
    start_response('200 OK', [('Content-Type', 'text/plain'),
                              ('Content-Length', '5')])
    return [b'hello']

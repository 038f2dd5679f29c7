# SPDX-License-Identifier: Apache-2.0
"""cyborg-api and the WSGI entry point as real processes (fault 17)."""

import json
import os
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import textwrap
import urllib.error
import urllib.request

from cyborg.tests import base
from cyborg.tests.fixtures import api
from cyborg.tests.fixtures import database
from cyborg.tests.fixtures import processes

_QUIET = {'PYTHONWARNINGS': 'ignore'}


class ProcessTestCase(base.TestCase):

    timeout = 180

    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.temp_dir())
        self.db = self.useFixture(database.SqliteDatabase())
        self.port = processes.free_port()
        self.scheme = 'http'
        (self.folder / 'api-paste.ini').write_text(
            textwrap.dedent(api.PASTE) % {'filters': 'noauth'})
        self.log = self.folder / 'api.log'

    def configure(self, more: str = '') -> pathlib.Path:
        path = self.folder / 'cyborg.conf'
        path.write_text(textwrap.dedent('''
            [DEFAULT]
            transport_url = fake:/
            state_path = %(folder)s
            [database]
            connection = %(url)s
            [api]
            port = %(port)d
            api_workers = 2
            ''') % {'folder': self.folder, 'url': self.db.url,
                    'port': self.port} + more)
        return path

    def command(self, *options) -> list:
        return [sys.executable, '-m', 'cyborg.cmd.api', '--config-file',
                self.folder / 'cyborg.conf', *options]

    def serve(self, command, environment=None) -> processes.Process:
        running = self.useFixture(processes.Process(
            command, self.log, {**_QUIET, **(environment or {})}))
        processes.wait_until(
            lambda: self.answers() or running.process.poll() is not None,
            'an answer of the API', 60)
        self.assertIsNone(running.process.poll(), running.output)
        return running

    def ask(self, path: str, body=None) -> tuple[int, object]:
        url = '%s://127.0.0.1:%d%s' % (self.scheme, self.port, path)
        context = None
        if self.scheme == 'https':
            context = ssl.create_default_context(
                cafile=self.folder / 'api.crt')
            context.check_hostname = False
        try:
            request = urllib.request.Request(url)
            if body is not None:
                request.add_header('Content-Type', 'application/json')
                request.data = json.dumps(body).encode()
            with urllib.request.urlopen(request, timeout=10,
                                        context=context) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)

    def answers(self) -> bool:
        try:
            return self.ask('/v2')[0] == 200
        except OSError:
            return False

    def check(self):
        """It serves real answers, good and bad ones."""
        status, body = self.ask('/')
        self.assertEqual(200, status)
        self.assertEqual(
            '%s://127.0.0.1:%d/accelerator/v2' % (self.scheme, self.port),
            body['versions'][0]['links'][0]['href'])
        self.assertEqual((200, {'devices': []}), self.ask('/v2/devices'))
        self.assertEqual(404, self.ask('/v2/devices/x')[0])


class TestCommand(ProcessTestCase):

    def test_serves_and_ends_on_sigterm(self):
        self.configure()
        running = self.serve(self.command())
        self.check()
        os.kill(running.process.pid, signal.SIGTERM)
        self.assertEqual(0, running.process.wait(300), running.output)
        self.assertFalse(self.answers())

    def test_sigterm_that_another_thread_gets(self):
        self.configure()
        running = self.serve(self.command())
        processes.signal_other_thread(running.process.pid, signal.SIGTERM)
        self.assertEqual(0, running.process.wait(300), running.output)
        self.assertFalse(self.answers())

    def send(self, *parts: bytes) -> bytes:
        """The answer to bytes, which the server may stop to read."""
        with socket.create_connection(('127.0.0.1', self.port), 20) as sock:
            try:
                for part in parts:
                    sock.sendall(part)
            except OSError:
                pass
            return sock.recv(65536)

    def test_a_broker_that_is_away(self):
        """Said once, at the start; the rest is served."""
        path = self.configure()
        path.write_text(path.read_text().replace(
            'fake:/', 'rabbit://me:secret@127.0.0.1:%d/'
            % processes.free_port()))
        running = self.serve(self.command())
        self.check()
        line, = [line for line in running.output.splitlines()
                 if 'transport_url' in line]
        self.assertIn('WARNING', line)
        self.assertIn('What needs the other services is refused for now: '
                      '[DEFAULT] transport_url = rabbit://me:***@127.0.0.1:',
                      line)
        self.assertIn('Start the broker, or correct host and port', line)
        self.assertNotIn('Traceback', running.output)

    def test_requests_that_nobody_can_read(self):
        self.configure()
        running = self.serve(self.command())
        start = (b'POST /v2/device_profiles HTTP/1.1\r\nHost: x\r\n'
                 b'Content-Type: application/json\r\n')
        chunked = start + b'Transfer-Encoding: chunked\r\n\r\n'
        for status, parts in (
                (400, (chunked, b'zz\r\n[]\r\n0\r\n\r\n')),
                (400, (chunked, b'2\r\n[]\r\n0\r\n\r\n')),
                (413, (chunked, *[b'%x\r\n%s\r\n' % (2 ** 16, b'[' * 2 ** 16)]
                       * 80)),
                (413, (start, b'Content-Length: 9000000\r\n\r\n')),
                (413, (start, b'Content-Length: 9999999999999\r\n\r\n')),
                (431, (start, b'X-Long: ', b'x' * 200000, b'\r\n\r\n'))):
            answer = self.send(*parts)
            self.assertRegex(answer, b'^HTTP/1.[01] %d ' % status,
                             (status, parts[1][:40]))
        self.assertNotIn('Traceback', running.output)
        self.check()

    def slow_clients(self, number: int) -> None:
        """Clients that have begun to ask and do not come to an end."""
        start = (b'POST /v2/device_profiles HTTP/1.1\r\nHost: x\r\n'
                 b'Content-Type: application/json\r\nContent-Length: 100'
                 b'\r\n\r\n')
        for n in range(number):
            client = socket.create_connection(('127.0.0.1', self.port), 20)
            self.addCleanup(client.close)
            client.sendall((b'', b'G', start + b'[')[n % 3])

    def test_slow_clients_keep_nobody_waiting(self):
        self.configure()
        self.serve(self.command())
        self.slow_clients(200)
        for _time in range(20):
            self.check()

    def test_a_worker_that_dies_is_replaced(self):
        self.configure()
        running = self.serve(self.command())

        def workers():
            return {int(word) for path in pathlib.Path(
                        '/proc/%d/task' % running.process.pid).iterdir()
                    for word in (path / 'children').read_text().split()}

        # The first one answers before the second is there.
        processes.wait_until(lambda: len(workers()) == 2, 'both workers')
        victim = workers().pop()
        os.kill(victim, signal.SIGKILL)
        processes.wait_until(
            lambda: len(workers()) == 2 and victim not in workers(),
            'a new worker')
        self.check()

    def test_tls(self):
        if shutil.which('openssl') is None:
            self.skipTest('openssl makes the certificate and is not there')
        subprocess.run(
            ['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes',
             '-subj', '/CN=127.0.0.1', '-days', '2',
             '-keyout', self.folder / 'api.key',
             '-out', self.folder / 'api.crt'], check=True,
            capture_output=True)
        self.scheme = 'https'
        self.configure('enable_ssl_api = true\n[ssl]\n'
                       'cert_file = %(f)s/api.crt\nkey_file = %(f)s/api.key\n'
                       % {'f': self.folder})
        self.serve(self.command())
        self.check()
        # Nor is anybody kept waiting for the handshake of others.
        self.slow_clients(100)
        for _time in range(5):
            self.check()
        # More than one record of TLS.
        self.assertEqual(404, self.ask('/v2/attributes', body={
            'deployable_id': 1, 'key': 'k', 'value': 'x' * 60000})[0])

    def test_a_taken_port_ends_it_with_the_reason(self):
        self.configure()
        self.serve(self.command())
        second = subprocess.run(
            self.command(), capture_output=True, text=True, timeout=300,
            env={**os.environ, **_QUIET})
        self.assertEqual(1, second.returncode)
        self.assertEqual(
            'cyborg-api cannot start: The API cannot listen on 127.0.0.1 port '
            '%d: another process listens there. Choose another one with [api] '
            'host_ip and port.\n' % self.port, second.stderr)

    def test_an_unknown_option(self):
        self.configure()
        failed = subprocess.run(
            self.command('--nonsense'), capture_output=True, text=True,
            timeout=300, env={**os.environ, **_QUIET})
        self.assertNotEqual(0, failed.returncode)
        self.assertNotIn('Traceback', failed.stderr)


class TestWsgiEntry(ProcessTestCase):
    """cyborg.wsgi.api:application, loaded by a server that is no ours."""

    SERVER = '''
        from wsgiref import simple_server
        from cyborg.wsgi.api import application
        simple_server.make_server(
            '127.0.0.1', %d, application).serve_forever()
        '''

    def test_configured_by_the_environment(self):
        self.configure()
        self.serve(
            [sys.executable, '-c', textwrap.dedent(self.SERVER % self.port)],
            {'OS_CYBORG_CONFIG_DIR': str(self.folder)})
        self.check()

    def test_the_released_pipeline_asks_for_tokens(self):
        source = pathlib.Path(__file__).resolve().parents[4] / 'etc'
        if not source.is_dir():
            self.skipTest('etc/ comes with a clone only')
        shutil.copy(source / 'cyborg' / 'api-paste.ini', self.folder)
        self.configure('[keystone_authtoken]\nwww_authenticate_uri = '
                       'http://keystone.example.org:5000\n')
        self.serve(
            [sys.executable, '-c', textwrap.dedent(self.SERVER % self.port)],
            {'OS_CYBORG_CONFIG_FILES': str(self.folder / 'cyborg.conf')})
        self.assertEqual(401, self.ask('/v2/devices')[0])
        self.assertEqual(200, self.ask('/')[0])

# SPDX-License-Identifier: Apache-2.0
"""A message broker that cannot be used: one line, and a way out."""

import pathlib
import re
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time

import oslo_messaging as messaging

from cyborg.common import broker
from cyborg.conf import CONF
from cyborg.tests import base
from cyborg.tests.fixtures import processes
from cyborg.tests.fixtures import rabbit
from cyborg.tests.fixtures import relay
from cyborg.tests.fixtures import rpc as rpc_fixture

BIN = pathlib.Path(sys.executable).parent
TOPIC = 'cyborg-agent'
#: Class and method of Connection.Close (AMQP 0-9-1, 1.4.2.10).
_CLOSE = b'\0\x0a\0\x32'


class BrokerTestCase(base.TestCase):

    def setUp(self):
        super().setUp()
        self.vhost = self.useFixture(rabbit.RabbitVirtualHost())
        # It makes the options of the messaging library known.
        self.useFixture(rpc_fixture.RPCFixture('rabbit://'))

    def url(self, user, password, vhost=None, port=5672, more=''):
        return 'rabbit://%s:%s@127.0.0.1:%d/%s%s' % (
            user, password, port, vhost or self.vhost.name, more)

    def trouble(self, url: str) -> str:
        error = self.assertRaises(
            broker.BrokerUnusable, broker.check,
            messaging.TransportURL.parse(CONF, url), TOPIC)
        self.assertNotIn('\n', error.message)
        self.assertNotIn(re.search(r':([^:@]+)@', url)[1], error.message)
        head = '[DEFAULT] transport_url = rabbit://'
        self.assertEqual(head, error.message[:len(head)])
        self.assertIn(' of host compute-1: ', error.message)
        return error.message.partition(' of host compute-1: ')[2]


class TestCheck(BrokerTestCase):

    def test_a_good_one(self):
        url = self.url(*self.vhost.user('.*', '.*', '.*'))
        broker.check(messaging.TransportURL.parse(CONF, url), TOPIC)

    def test_one_of_two_hosts_is_enough(self):
        good = self.url(*self.vhost.user('.*', '.*', '.*'))
        both = good.replace('rabbit://', 'rabbit://a:bcd@127.0.0.1:%d,' %
                            processes.free_port())
        broker.check(messaging.TransportURL.parse(CONF, both), TOPIC)

    def test_password(self):
        user, _password = self.vhost.user('.*', '.*', '.*')
        self.assertEqual(
            '127.0.0.1:5672 refuses the user %(user)s or its password. '
            'Correct them in the URL, or set the password with "rabbitmqctl '
            'change_password %(user)s".' % {'user': user},
            self.trouble(self.url(user, 'wrong')))

    def test_virtual_host(self):
        user, password = self.vhost.user()
        for vhost in ('nowhere-at-all', self.vhost.name):
            self.assertEqual(
                '127.0.0.1:5672 has no virtual host %(vhost)s, or the user '
                '%(user)s may not use it. Correct the end of the URL, or run '
                '"rabbitmqctl add_vhost %(vhost)s" and "rabbitmqctl '
                'set_permissions -p %(vhost)s %(user)s \'.*\' \'.*\' \'.*\'".'
                % {'user': user, 'vhost': vhost},
                self.trouble(self.url(user, password, vhost)))

    def test_permission(self):
        user, password = self.vhost.user('^nova', '.*', '.*')
        self.assertEqual(
            'The user %(user)s may not make queues in virtual host %(vhost)s '
            'of 127.0.0.1:5672. Run "rabbitmqctl set_permissions -p %(vhost)s '
            '%(user)s \'.*\' \'.*\' \'.*\'".'
            % {'user': user, 'vhost': self.vhost.name},
            self.trouble(self.url(user, password)))

    def test_one_that_stands_still(self):
        """Whenever it does: an end of the service would wait for it, too."""
        user = self.vhost.user('.*', '.*', '.*')
        found = {}
        for what, until in (('greeting', b'AMQP'), ('queue', b'_check_'),
                            ('parting', _CLOSE)):
            way = self.useFixture(relay.Relay(rabbit.ADDRESS, until))
            url = messaging.TransportURL.parse(
                CONF, self.url(*user, port=way.port))

            def look(what=what, url=url):
                try:
                    broker.check(url, TOPIC)
                    found[what] = 'of use'
                except broker.BrokerUnusable as error:
                    found[what] = error.message
            looking = threading.Thread(target=look, daemon=True)
            looking.start()
            looking.join(200)
            self.assertIn(what, found)
        for what in ('greeting', 'queue'):
            self.assertIn('cannot be used: no answer within 5 s. Start the '
                          'broker', found[what])
        # All is known by then.
        self.assertEqual('of use', found['parting'])

    def test_tls_where_none_is_spoken(self):
        text = self.trouble(self.url('a', 'bcd', more='?ssl=true'))
        self.assertIn('127.0.0.1:5672 does not speak TLS with this service',
                      text)
        self.assertIn('usually 5671, or set [oslo_messaging_rabbit] ssl = '
                      'false.', text)


class TestTls(BrokerTestCase):
    """A port for TLS, which a broker would answer behind."""

    def setUp(self):
        super().setUp()
        if shutil.which('openssl') is None:
            self.skipTest('openssl makes the certificate and is not there')
        folder = pathlib.Path(self.temp_dir())
        subprocess.run(
            ['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes',
             '-subj', '/CN=127.0.0.1', '-days', '2', '-keyout',
             folder / 'key', '-out', folder / 'crt'], check=True,
            capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / 'crt', folder / 'key')
        listener = socket.create_server(('127.0.0.1', 0))
        self.port = listener.getsockname()[1]
        self.addCleanup(listener.close)
        self.other = folder / 'other'
        shutil.copy(folder / 'crt', self.other)

        def serve():
            while True:
                try:
                    sock, _address = listener.accept()
                except OSError:
                    return
                try:
                    context.wrap_socket(sock, server_side=True).recv(1)
                except OSError:
                    pass
                sock.close()

        threading.Thread(target=serve, daemon=True).start()

    def test_no_tls_where_it_is_spoken(self):
        self.assertIn('it closes the connection. If that port is for TLS, set '
                      '[oslo_messaging_rabbit] ssl = true.',
                      self.trouble(self.url('a', 'bcd', port=self.port)))

    def test_a_certificate_that_nobody_knows(self):
        import certifi
        self.conf.set(group='oslo_messaging_rabbit',
                      ssl_ca_file=certifi.where())
        text = self.trouble(self.url('a', 'bcd', port=self.port,
                                     more='?ssl=true'))
        self.assertIn('The certificate of 127.0.0.1:%d is not trusted: '
                      % self.port, text)
        self.assertIn('Let [oslo_messaging_rabbit] ssl_ca_file, now %s, name '
                      'the authority that issued it.' % certifi.where(), text)


class TestProcesses(BrokerTestCase):
    """Services as an operator starts and stops them."""

    timeout = 180

    def configure(self, url: str, more: str = '') -> pathlib.Path:
        path = pathlib.Path(self.temp_dir()) / 'cyborg.conf'
        path.write_text(
            '[DEFAULT]\nhost = compute-1\nstate_path = %s\n'
            'transport_url = %s\n'
            '[placement]\nauth_type = none\n'
            'endpoint_override = http://127.0.0.1:%d\n%s' % (
                path.parent, url, processes.free_port(), more))
        return path

    def start(self, command: str, url: str,
              more: str = '') -> processes.Process:
        path = self.configure(url, more)
        return self.useFixture(processes.Process(
            [BIN / command, '--config-file', path], path.with_name('log'),
            {'PYTHONWARNINGS': 'ignore'}))

    def test_a_wrong_password_is_one_line(self):
        user, _password = self.vhost.user('.*', '.*', '.*')
        for command in ('cyborg-agent', 'cyborg-conductor',
                        'cyborg-cleaner-listener'):
            running = self.start(command, self.url(user, 'wrong'))
            running.wait_for_output('Waiting for the message broker')
            running.wait_for_output('Still waiting')
            self.assertNotIn('Traceback', running.output)
            self.assertEqual(1, running.output.count('refuses the user'))
            self.assertEqual(0, running.stop(), running.output)

    def test_a_broker_of_notifications(self):
        """Another option, which the line names."""
        user, _password = self.vhost.user('.*', '.*', '.*')
        running = self.start(
            'cyborg-cleaner-listener', self.url(
                *self.vhost.user('.*', '.*', '.*')),
            '[oslo_messaging_notifications]\ntransport_url = %s\n'
            % self.url(user, 'wrong'))
        running.wait_for_output('refuses the user')
        self.assertIn('Waiting for the message broker: '
                      '[oslo_messaging_notifications] transport_url = '
                      'rabbit://%s:***@' % user, running.output)
        self.assertEqual(0, running.stop(), running.output)

    def test_sigterm_while_the_broker_is_away(self):
        way = self.useFixture(relay.Relay(rabbit.ADDRESS))
        path = self.configure(self.url(*self.vhost.user('.*', '.*', '.*'),
                                       port=way.port))
        running = self.useFixture(processes.Process(
            [sys.executable, '-c', _SERVICE, path], path.with_name('log'),
            {'PYTHONWARNINGS': 'ignore'}))
        running.wait_for_output('It asks.')
        way.cut()
        running.wait_for_output('the connection is lost')
        began = time.monotonic()
        self.assertEqual(0, running.stop(60), running.output)
        self.assertLess(time.monotonic() - began, 50)
        self.assertNotIn('did not finish its work', running.output)

    def test_what_waits_for_the_broker_is_not_waited_for(self):
        way = self.useFixture(relay.Relay(rabbit.ADDRESS))
        path = self.configure(self.url(*self.vhost.user('.*', '.*', '.*'),
                                       port=way.port))
        running = self.useFixture(processes.Process(
            [sys.executable, '-c', _STUCK, path], path.with_name('log'),
            {'PYTHONWARNINGS': 'ignore'}))
        running.wait_for_output('serves topic')
        way.cut()
        began = time.monotonic()
        self.assertEqual(0, running.stop(60), running.output)
        self.assertLess(time.monotonic() - began, 50)
        self.assertIn('ends without waiting for the message broker',
                      running.output)


#: As an agent it waits for an answer that will not come.
_SERVICE = '''
import sys
import oslo_messaging as messaging
from cyborg.common import config, context, rpc, service
config.prepare(['x', '--config-file', sys.argv[1]])
rpc.CONF.set_override('periodic_interval', 1)
rpc.init()

def report():
    print('It asks.', flush=True)
    rpc.get_client(messaging.Target(topic='nobody')).call(
        context.get_admin_context(), 'report')

sys.exit(service.run(service.RPCService(
    'it', 'it', object(), periodic=report)))
'''

#: As the library is that tries again and again.
_STUCK = '''
import sys
import time
from cyborg.common import config, rpc, service
config.prepare(['x', '--config-file', sys.argv[1]])
rpc.init()

class Stuck(service.RPCService):
    def stop(self, graceful=True):
        time.sleep(300)

sys.exit(service.run(Stuck('it', 'it', object())))
'''

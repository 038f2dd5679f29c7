# SPDX-License-Identifier: Apache-2.0
"""Waiting, starting, stopping."""

import pathlib
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time

import oslo_messaging as messaging

from cyborg.common import context
from cyborg.common import exception
from cyborg.common import rpc
from cyborg.common import service
from cyborg.tests import base
from cyborg.tests.fixtures import processes
from cyborg.tests.fixtures import rpc as rpc_fixture


class Answers:
    """A check that fails with each of the given errors, then returns 7."""

    def __init__(self, *errors):
        self.errors = list(errors)

    def __call__(self):
        if self.errors:
            raise self.errors.pop(0)
        return 7


class Stopping(threading.Event):
    """Somebody stops the process in the middle of the first pause."""

    def wait(self, timeout=None):
        self.set()
        return super().wait(timeout)


class WaitForTest(base.TestCase):

    def wait(self, check, **kwargs):
        return service.wait_for('the database', check, ConnectionError,
                                max_pause=0.01, **kwargs)

    def test_at_once(self):
        self.assertEqual(7, self.wait(Answers()))
        self.assertEqual([], self.logs.messages('WARNING'))

    def test_one_warning_for_each_reason(self):
        self.assertEqual(7, self.wait(Answers(
            ConnectionError('refused'), ConnectionError('refused'),
            ConnectionError('no such table'))))
        self.assertEqual(
            ['Waiting for the database: refused',
             'Waiting for the database: no such table'],
            self.logs.messages('WARNING'))
        self.assertLogged('INFO', 'Still waiting for the database')
        self.assertLogged('INFO', 'the database answers, after')

    def test_other_errors_are_raised(self):
        self.assertRaises(KeyError, self.wait, Answers(KeyError('x')))

    def test_stop_ends_a_pause(self):
        error = self.assertRaises(
            service.StopRequested, service.wait_for, 'the database',
            Answers(*[ConnectionError('refused')] * 3), ConnectionError,
            Stopping())
        self.assertEqual('Told to stop while waiting for the database.',
                         error.message)

    def test_stopped_before(self):
        stopping = threading.Event()
        stopping.set()
        self.assertRaises(service.StopRequested, self.wait, Answers(),
                          stopping=stopping)


class WaitForBrokerTest(base.TestCase):

    def use(self, url):
        self.useFixture(rpc_fixture.RPCFixture(url))

    def closed_port(self):
        with socket.create_server(('127.0.0.1', 0)) as closed:
            return closed.getsockname()[1]

    def test_transport_without_network(self):
        self.use('fake:/')
        service.wait_for_broker('cyborg-agent')
        self.assertTrue(service.broker_answers())

    def test_says_which_host_does_not_answer(self):
        port = self.closed_port()
        self.use('rabbit://a:b@127.0.0.1:%d/x' % port)
        self.assertFalse(service.broker_answers())
        self.assertRaises(service.StopRequested, service.wait_for_broker,
                          'cyborg-agent', Stopping())
        self.assertLogged('WARNING', (
            'Waiting for the message broker: [DEFAULT] transport_url = '
            'rabbit://a:***@127.0.0.1:%(port)d/x of host compute-1: '
            '127.0.0.1:%(port)d cannot be used: Connection refused. Start the '
            'broker, or correct host and port in the URL.') % {'port': port})
        self.assertNotIn('a:b', self.logs.text)

    def test_a_file_that_is_not_there(self):
        self.use('rabbit://a:b@127.0.0.1:%d/?ssl=true' % self.closed_port())
        self.conf.set(group='oslo_messaging_rabbit',
                      ssl_ca_file='/nowhere/ca.pem')
        self.assertRaises(service.StopRequested, service.wait_for_broker,
                          'cyborg-agent', Stopping())
        self.assertLogged('WARNING', 'A file of [oslo_messaging_rabbit] '
                          "cannot be read: [Errno 2] No such file or "
                          "directory: '/nowhere/ca.pem'.")


class SlowEndpoint:

    def __init__(self):
        self.started = threading.Event()
        self.finished = False

    def work(self, context):
        self.started.set()
        time.sleep(0.3)
        self.finished = True
        return 'done'


class RPCServiceTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.useFixture(rpc_fixture.RPCFixture())

    def service(self, endpoint=None, **kwargs):
        running = service.RPCService('cyborg-test', 'topic-2',
                                     endpoint or SlowEndpoint(), **kwargs)
        self.addCleanup(running.stop)
        return running

    def test_stop_finishes_the_work_in_hand(self):
        endpoint = SlowEndpoint()
        running = self.service(endpoint)
        running.start()
        client = rpc.get_client(messaging.Target(topic='topic-2',
                                                 version='1.0'))
        answers = []
        caller = threading.Thread(target=lambda: answers.append(
            client.call(context.get_admin_context(), 'work')))
        caller.start()
        self.assertTrue(endpoint.started.wait(300))
        running.stop()
        self.assertTrue(endpoint.finished)
        caller.join(300)
        self.assertEqual(['done'], answers)

    def test_prepare_comes_first_and_may_refuse(self):
        def prepare():
            raise exception.StartupFailed('no')
        running = self.service(prepare=prepare)
        self.assertRaises(exception.StartupFailed, running.start)

    def test_periodic_goes_on_after_an_error(self):
        self.conf.set(periodic_interval=0)
        twice = threading.Event()
        calls = []

        def periodic():
            calls.append(1)
            if len(calls) >= 2:
                twice.set()
                time.sleep(0.05)
            raise ValueError('broken')

        running = self.service(periodic=periodic)
        running.start()
        self.assertTrue(twice.wait(300))
        running.stop()
        self.assertLogged('ERROR', 'The periodic task of cyborg-test failed')

    def test_stop_does_not_wait_for_the_next_period(self):
        self.conf.set(periodic_interval=3600)
        running = self.service(periodic=self.fail)
        running.start()
        started = time.monotonic()
        running.stop()
        self.assertLess(time.monotonic() - started, 60)


class ProcessTest(base.TestCase):
    """A whole process: exit status and what it leaves in the log."""

    SCRIPT = textwrap.dedent('''
        import logging, sys, threading, time
        logging.basicConfig(level=logging.INFO, format='%(message)s')
        from cyborg.common import config, exception, rpc, service
        config.parse_args(['cyborg-test'], [])
        from oslo_messaging import conffixture
        fixture = conffixture.ConfFixture(rpc.CONF)
        fixture.setUp()
        fixture.transport_url = 'fake:/'
        rpc.init()
        class Endpoint: pass
        stopping = threading.Event()
        def prepare():
            PREPARE
        sys.exit(service.run(service.RPCService(
            'cyborg-test', 'topic-3', Endpoint(), prepare=prepare,
            stopping=stopping)))
    ''')

    def start(self, prepare):
        path = pathlib.Path(self.temp_dir()) / 'script.py'
        path.write_text(self.SCRIPT.replace('PREPARE', prepare))
        process = subprocess.Popen(
            [sys.executable, '-W', 'ignore', str(path)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def read_until(self, process, text):
        for line in process.stdout:
            if text in line:
                return
        self.fail('the process ended without saying ' + text)

    def test_refused_start_is_one_line_and_status_1(self):
        """REC-7: a fatal condition is no traceback."""
        process = self.start("raise exception.StartupFailed('it is Monday')")
        output = process.communicate(timeout=300)[0]
        self.assertEqual(1, process.returncode)
        self.assertIn('cannot start: it is Monday', output)
        self.assertNotIn('Traceback', output)

    def test_unexpected_error_at_start_is_status_1_with_traceback(self):
        process = self.start('1 / 0')
        output = process.communicate(timeout=300)[0]
        self.assertEqual(1, process.returncode)
        self.assertIn('ZeroDivisionError', output)

    def test_sigterm_while_serving_is_status_0(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            process = self.start('pass')
            self.read_until(process, 'serves topic')
            process.send_signal(number)
            output = process.communicate(timeout=300)[0]
            self.assertEqual(0, process.returncode, output)
            self.assertIn('has stopped', output)

    def test_sigterm_that_another_thread_gets(self):
        """The main one sleeps on unless it looks by itself."""
        process = self.start('pass')
        self.read_until(process, 'serves topic')
        processes.signal_other_thread(process.pid, signal.SIGTERM)
        output = process.communicate(timeout=300)[0]
        self.assertEqual(0, process.returncode, output)
        self.assertIn('has stopped', output)

    def test_sigterm_while_waiting_is_status_0(self):
        process = self.start(
            "service.wait_for('a miracle', lambda: 1 / 0, "
            "ZeroDivisionError, stopping)")
        self.read_until(process, 'Waiting for a miracle')
        process.send_signal(signal.SIGTERM)
        output = process.communicate(timeout=300)[0]
        self.assertEqual(0, process.returncode, output)
        self.assertNotIn('Traceback', output)

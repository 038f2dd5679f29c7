# SPDX-License-Identifier: Apache-2.0
"""Database and broker are lost while the services run.

One line with option, value and remedy; no traceback, and not again and again.
"""

import re

from cyborg.tests import base
from cyborg.tests.fixtures import processes
from cyborg.tests.fixtures import rabbit
from cyborg.tests.fixtures import relay
from cyborg.tests.fixtures import servers

PATIENCE = 120


class _Servers(servers.RealServers):
    """The services reach database and broker through relays."""

    def _setUp(self):
        self.to_database = self.useFixture(relay.Relay(('127.0.0.1', 3306)))
        self.to_broker = self.useFixture(relay.Relay(rabbit.ADDRESS))
        super()._setUp()

    def process(self, name, options):
        options = {group: dict(given) for group, given in options.items()}
        options.setdefault('DEFAULT', {})['transport_url'] = (
            self.url.replace(':5672', ':%d' % self.to_broker.port))
        if 'database' in options:
            options['database']['connection'] = re.sub(
                '@127.0.0.1(:[0-9]+)?/',
                '@127.0.0.1:%d/' % self.to_database.port,
                options['database']['connection'])
        return super().process(name, options)


class LostTest(base.TestCase):

    timeout = 500

    def setUp(self):
        super().setUp()
        self.servers = self.useFixture(_Servers('mariadb'))
        self.cloud = self.useFixture(
            servers.InProcesses(self.conf, self.servers))
        self.cloud.configure(rpc_response_timeout=10)
        self.cloud.plug('0000:25:00.1')
        self.cloud.start_agent()
        self.conductor = self.servers.conductor
        self.both = self.conductor, self.cloud.agent

    def lines(self, process: processes.Process, option: str) -> list[str]:
        return [line for line in process.output.splitlines()
                if option in line]

    def assert_reports_again(self):
        # In whole, or as what was reported before: that, too, a conductor
        # has answered.
        agent = self.cloud.agent
        agent.wait_for_output(' 1 devices ', PATIENCE, len(agent.output))

    def test_database(self):
        self.servers.to_database.cut()
        self.conductor.wait_for_output('the connection is lost', PATIENCE)
        self.cloud.agent.wait_for_output('could not report', PATIENCE)
        self.servers.to_database.mend()
        self.assert_reports_again()
        line, *more = self.lines(self.conductor, '[database] connection')
        self.assertIn(' of host conductor-1: the connection is lost (', line)
        self.assertIn('Start the server, or correct user, password', line)
        self.assertLess(len(more), 3)
        for process in self.both:
            self.assertNotIn('Traceback', process.output)

    def test_broker(self):
        self.servers.to_broker.cut()
        for process in self.both:
            process.wait_for_output('the connection is lost', PATIENCE)
        self.servers.to_broker.mend()
        self.assert_reports_again()
        self._assert_broker_told('Start the broker, or correct host and port')

    def test_virtual_host(self):
        name = self.servers.url.rpartition('/')[2]
        rabbit.RabbitVirtualHost._run('delete_vhost', name)
        for process in self.both:
            process.wait_for_output('has no virtual host', PATIENCE)
        rabbit.RabbitVirtualHost._run('add_vhost', name)
        rabbit.RabbitVirtualHost._run(
            'set_permissions', '-p', name, 'guest', '.*', '.*', '.*')
        self.assert_reports_again()
        self._assert_broker_told('"rabbitmqctl add_vhost %s"' % name)

    def _assert_broker_told(self, remedy):
        for process in self.both:
            lines = self.lines(process, '[DEFAULT] transport_url')
            self.assertTrue(any(remedy in line for line in lines), lines)
            # Once for each thing that is wrong, in a minute.
            self.assertLess(len(lines), 12, lines)
            self.assertNotIn('Traceback', process.output)
            self.assertNotIn('guest:guest', process.output)

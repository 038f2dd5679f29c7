# SPDX-License-Identifier: Apache-2.0
"""Conductors as processes: over RabbitMQ, on real databases, killed."""

import collections
from concurrent import futures
import os
import pathlib
import signal
import sys
import threading
import time

import oslo_messaging as messaging
import sqlalchemy as sa
import testscenarios

from cyborg.common import context
from cyborg.common import exception
from cyborg.db.sqlalchemy import models
from cyborg.rpcapi import conductor as conductor_rpcapi
from cyborg.tests.fixtures import needs
from cyborg.tests.fixtures import nova
from cyborg.tests.fixtures import placement
from cyborg.tests.fixtures import processes
from cyborg.tests.fixtures import rabbit
from cyborg.tests.fixtures import rpc
from cyborg.tests.functional.conductor import base

NAME = 'compute-1_0000:01:00.0'

CONFIG = """
[DEFAULT]
host = {host}
transport_url = {transport}
debug = true
[database]
connection = {database}
[placement]
auth_type = none
endpoint_override = {placement}
connect_retries = 0
[nova]
auth_type = none
endpoint_override = {nova}
[oslo_messaging_rabbit]
heartbeat_timeout_threshold = 0
"""


class ProcessCase(base.ConductorTestCase):
    """The base's services on sockets, the conductors in processes."""

    timeout = 240

    def setUp(self):
        reason = rabbit.missing()
        if reason:
            needs.skip_or_fail(reason)
        super().setUp()

    def set_up_services(self):
        self.placement = self.useFixture(
            placement.PlacementFixture(http=True))
        self.root = self.placement.add_provider(base.HOST)
        self.nova = self.useFixture(nova.NovaFixture(http=True))
        self.vhost = self.useFixture(rabbit.RabbitVirtualHost())
        self.rpc = self.useFixture(rpc.RPCFixture(self.vhost.url))
        self.conductor = conductor_rpcapi.ConductorAPI()
        self.number = 0

    def start(self, wait: bool = True, **values) -> processes.Process:
        """Start another conductor process."""
        self.number += 1
        folder = pathlib.Path(self.temp_dir())
        config = folder / 'cyborg.conf'
        config.write_text(CONFIG.format(**{
            'host': 'c%d' % self.number, 'transport': self.vhost.url,
            'database': self.db.url, 'placement': self.placement.endpoint,
            'nova': self.nova.endpoint, **values}))
        process = self.useFixture(processes.Process(
            [sys.executable, '-W', 'ignore', '-m', 'cyborg.cmd.conductor',
             '--config-file', config], folder / 'log'))
        if wait:
            process.wait_for_output('serves topic')
        return process

    def assertConverged(self, count):
        host = self.host()
        self.assertEqual(count, len(host.devices))
        for device in host.devices:
            deployable, = device.deployables
            self.assertEqual(self.provider(deployable.name),
                             deployable.rp_uuid)
            self.assertEqual(1, len(deployable.handles))
            self.assertAmounts({'CUSTOM_PCI': (1, 0)}, deployable.name)
        self.assertEqual(count + 1, len(self.placement.providers()))


class BindTest(ProcessCase):
    """BASE-5 with two processes and a broker."""

    scenarios = [(name, {'database': name})
                 for name in ('mariadb', 'postgresql')]

    def test_twenty_binds_of_ten_handles(self):
        first, second = self.start(wait=False), self.start(wait=False)
        for process in (first, second):
            process.wait_for_output('serves topic')
        self.report(base.device(1, handles=base.handles(10)))
        arqs = [self.arq() for _count in range(20)]
        barrier = threading.Barrier(20)

        def bind(arq):
            asker = context.get_admin_context()
            values = {'hostname': base.HOST, 'instance_uuid': arq,
                      'device_rp_uuid': self.provider(NAME)}
            barrier.wait(300)
            try:
                self.conductor.arq_apply_patch(
                    asker, {arq: [{'op': 'add', 'path': '/hostname'}]},
                    {arq: values})
            except (exception.ResourceNotFound,
                    exception.AttachHandleTaken) as error:
                # Over a broker, too, it arrives as what it is.
                self.assertNotIn('Traceback', error.message)
                return 'failed'
            return 'bound'

        with futures.ThreadPoolExecutor(20) as pool:
            results = list(pool.map(bind, arqs))
        self.assertEqual({'bound': 10, 'failed': 10},
                         dict(collections.Counter(results)))
        rows = [self.arq_row(arq) for arq in arqs]
        self.assertEqual(
            10, len({row.attach_handle_id for row in rows} - {None}))
        self.assertEqual({'Bound': 10, 'BindFailed': 10}, dict(
            collections.Counter(row.state for row in rows)))
        # Both took part: the broker hands out in turn.
        for process in (first, second):
            self.assertIn('Bound accelerator requests', process.output)


class KillTest(ProcessCase):
    """A conductor is killed in a report; the next report repairs."""

    scenarios = [(name, {'database': name})
                 for name in ('mariadb', 'postgresql')]

    def report_quietly(self, *devices):
        """A report that may get no answer."""
        try:
            self.conductor.report_data(self.context, base.HOST,
                                       list(devices), timeout=15)
        except (messaging.MessagingTimeout, messaging.RemoteError):
            pass

    def killed_at(self, match, *devices, skip=0):
        """Report to a conductor that dies when it sends such a call."""
        process = self.start()
        done = threading.Event()

        def kill():
            os.kill(process.process.pid, signal.SIGKILL)
            process.process.wait(300)
            done.set()

        self.placement.before(match, kill, skip=skip)
        reporting = threading.Thread(target=self.report_quietly,
                                     args=devices, daemon=True)
        reporting.start()
        self.assertTrue(done.wait(300), 'no call matches %s' % match)
        self.placement.heal()
        return reporting

    def test_killed_around_each_write_to_placement(self):
        """Before, between and after the writes of new devices."""
        devices = [base.device(bus) for bus in range(1, 6)]
        # With a device more each time: what one report has under way when it
        # is killed is up to chance.
        last = [self.killed_at(match, *devices[:count])
                for count, match in enumerate((
                    'GET /resource_providers', 'POST /resource_providers',
                    'PUT .*inventories', 'PUT .*/traits$'), 2)]
        self.start()
        self.report(*devices)
        self.report(*devices)
        self.assertConverged(5)
        for thread in last:
            thread.join(300)

    def test_killed_in_a_transaction(self):
        """The rows are locked by someone else while it is killed."""
        first = self.start()
        self.report(base.device(1), base.device(2))
        changed = [base.device(1, traits=('B',)), base.device(3)]
        trait, = [a.id for a in self.deployable(NAME).attributes
                  if a.key == 'trait0']
        with self.db.engine.connect() as connection:
            # One row by its key: MariaDB would lock gaps, too, and keep the
            # report from storing the new device.
            connection.execute(sa.select(models.Attribute.id).where(
                models.Attribute.id == trait).with_for_update())
            reporting = threading.Thread(
                target=self.report_quietly, args=changed, daemon=True)
            reporting.start()
            # Placement is written already, the attribute is waited for.
            processes.wait_until(
                lambda: 'CUSTOM_B' in self.placement.traits(
                    self.provider(NAME)), 'traits')
            time.sleep(1)
            first.kill()
            connection.rollback()
        self.start()
        self.report(*changed)
        self.report(*changed)
        self.assertConverged(2)
        self.assertEqual({'trait0': 'CUSTOM_B', 'rc': 'CUSTOM_PCI'}, {
            a.key: a.value for a in self.deployable(NAME).attributes})
        reporting.join(300)

    def test_killed_while_a_device_goes(self):
        """Between the provider's removal and that of its rows."""
        self.start().stop()
        keep = self.start()
        self.report(base.device(1), base.device(2))
        keep.stop()
        name = 'compute-1_0000:02:00.0'
        reporting = self.killed_at(
            'DELETE /resource_providers/%s' % self.provider(name),
            base.device(1))
        self.start()
        self.report(base.device(1))
        self.assertConverged(1)
        reporting.join(300)

    def test_reply_is_lost(self):
        """B55: the work was done, nobody heard; nothing is doubled."""
        process = self.start()
        devices = [base.device(1), base.device(2)]
        release = threading.Event()
        self.placement.before('GET /resource_providers',
                              lambda: release.wait(20))
        self.assertRaises(
            messaging.MessagingTimeout, self.conductor.report_data,
            self.context, base.HOST, devices, timeout=1)
        release.set()
        process.wait_for_output('Report of host')
        self.report(*devices)
        self.assertConverged(2)


class LifeTest(ProcessCase):
    """How the process starts, waits and ends."""

    database = 'mariadb'

    def test_waits_and_says_for_what(self):
        """FAULT-19"""
        self.placement.fail('.*', times=None, status=503)
        process = self.start(wait=False)
        process.wait_for_output('Waiting for Placement')
        self.assertIsNone(process.process.poll())
        self.placement.heal()
        process.wait_for_output('serves topic')

    def test_waits_for_broker_and_ends_when_told(self):
        process = self.start(
            wait=False, transport='rabbit://guest:guest@127.0.0.1:1/x')
        process.wait_for_output('Waiting for the message broker')
        self.assertEqual(0, process.stop())

    def test_waits_for_database(self):
        process = self.start(
            wait=False, database='mysql+pymysql://root@127.0.0.1:1/x\n'
            'max_retries = 0')
        process.wait_for_output('Waiting for the database')
        self.assertEqual(0, process.stop())

    def test_unusable_configuration(self):
        """One line, no traceback."""
        process = self.start(wait=False, transport='nonsense://')
        self.assertEqual(1, process.process.wait(300))
        self.assertIn('cannot start', process.output)
        self.assertNotIn('Traceback', process.output)

    def test_unusable_database(self):
        """No waiting for what cannot come: one line, no traceback."""
        for url, reason in (('garbage', 'parse'),
                            ('mysql+nodriver://u:secret@db/x', 'nodriver'),
                            ('mysql+cymysql://u:secret@db/x', 'cymysql')):
            process = self.start(wait=False, database=url)
            self.assertEqual(1, process.process.wait(300))
            line, = [line for line in process.output.splitlines()
                     if 'cannot start' in line]
            for part in ('[database] connection', reason, 'install'):
                self.assertIn(part, line)
            self.assertNotIn('secret', process.output)
            self.assertNotIn('Traceback', process.output)

    def test_finishes_the_work_in_hand(self):
        """SIGTERM in the middle of a report: it is answered, then ends."""
        process = self.start()
        release = threading.Event()
        self.placement.before('POST /resource_providers', lambda: (
            release.set(), time.sleep(2)))
        with futures.ThreadPoolExecutor(1) as pool:
            answer = pool.submit(self.report, base.device(1))
            self.assertTrue(release.wait(300))
            process.process.terminate()
            answer.result(300)
        self.assertEqual(0, process.process.wait(300))
        self.assertConverged(1)

    def test_states_of_earlier_rows_are_filled_in(self):
        """db-schema.md: NULL marks a row from before the column existed."""
        self.start().stop()
        with self.db.engine.begin() as connection:
            connection.execute(sa.insert(models.Device.__table__), {
                'uuid': 'x', 'type': 'GPU', 'vendor': 'v', 'model': 'm',
                'hostname': base.HOST, 'status': 'enabled'})
        process = self.start()
        self.assertEqual('available', self.host().devices[0].device_state)
        self.assertIn('1 devices of an earlier release', process.output)


load_tests = testscenarios.load_tests_apply_scenarios

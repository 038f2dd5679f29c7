# SPDX-License-Identifier: Apache-2.0
"""cyborg-status upgrade check, as an operator runs it."""

import os
import subprocess
import sys

from cyborg.cmd import status
from cyborg.db.sqlalchemy import indexes
from cyborg.tests.fixtures import rows
from cyborg.tests.functional.db import base


class TestDeviceState(base.DatabaseTestCase):

    def check(self):
        self.conf.set(group='database', connection=self.db.url)
        result = status.check_device_state()
        return result.code.name, result.details

    def test_rows_without_state(self):
        rows.device(bus=1)
        self.assertEqual(('SUCCESS', None), self.check())
        rows.device(bus=2, device_state=None)
        self.assertEqual(
            ('FAILURE', '1 devices have no device_state. Run: cyborg-dbsync '
             'online_data_migrations'), self.check())


class TestIndexes(base.DatabaseTestCase):
    """PERF-4"""

    def check(self):
        self.conf.set(group='database', connection=self.db.url)
        result = status.check_indexes()
        return result.code.name, result.details

    def test_a_large_fleet_without_indexes(self):
        for number in range(100):
            rows.device(bus=1, hostname='host-%d' % number)
        self.assertEqual('SUCCESS', self.check()[0])
        rows.device(bus=1, hostname='host-100')
        lower = ('devices_lower_hostname_idx, '
                 if self.database == 'postgresql' else '')
        self.assertEqual(
            ('WARNING', 'The indexes devices_hostname_idx, ' + lower +
             'deployables_rp_uuid_idx are missing: each report and each bind '
             'looks through the devices of all 101 hosts. Run: '
             'cyborg-dbsync indexes'), self.check())
        self.addCleanup(indexes.drop)
        indexes.add()
        self.assertEqual('SUCCESS', self.check()[0])


class TestCommand(base.DatabaseTestCase):
    scenarios = [('sqlite', {'database': 'sqlite'})]
    schema = False

    def run_status(self, *lines):
        """Exit status and output."""
        path = os.path.join(self.temp_dir(), 'cyborg.conf')
        with open(path, 'w') as stream:
            stream.write('\n'.join((
                '[database]', 'connection = ' + self.db.url, *lines)))
        done = subprocess.run(
            [sys.executable, '-W', 'ignore', '-m', 'cyborg.cmd.status',
             '--config-file', path, 'upgrade', 'check'],
            capture_output=True, text=True, timeout=300)
        return done.returncode, ' '.join(
            done.stdout.replace('|', ' ').split())

    def test_a_database_that_was_never_made(self):
        code, text = self.run_status()
        self.assertEqual(2, code, text)
        self.assertIn('The devices table cannot be read', text)
        self.assertIn('Run: cyborg-dbsync upgrade', text)

    def test_files_that_cannot_be_read(self):
        """No verdict: 1 would stand for a warning."""
        for path, reason in (
                ('/nowhere.conf', 'Failed to find some config files: '
                 '/nowhere.conf'),
                (self.temp_dir(), 'Is a directory')):
            done = subprocess.run(
                [sys.executable, '-W', 'ignore', '-m', 'cyborg.cmd.status',
                 '--config-file', path, 'upgrade', 'check'],
                capture_output=True, text=True, timeout=300)
            self.assertEqual((255, ''), (done.returncode, done.stdout))
            self.assertIn(reason, done.stderr)
            self.assertEqual(1, len(done.stderr.splitlines()), done.stderr)

    def test_every_check_is_listed(self):
        code, text = self.run_status('[pci]', 'passthrough_whitelist = oops')
        self.assertEqual(2, code)
        for name in ('Policy File JSON to YAML Migration',
                     'Configuration files', 'Device state backfill',
                     'Indexes of large fleets',
                     'PCI option name', 'PCI options', 'SSD driver',
                     'Unsafe PCI devices'):
            self.assertIn('Check: %s' % name, text)
        self.assertIn('entry 1, oops: at $: not JSON', text)

# SPDX-License-Identifier: Apache-2.0
"""cyborg-dbsync, as an operator runs it."""

import os
import subprocess
import sys

import sqlalchemy as sa

from cyborg.tests.fixtures import nova as nova_fixture
from cyborg.tests.fixtures import rows
from cyborg.tests.functional.db import base
from cyborg.tests.functional.db import schemas
from cyborg.tests.functional.db import test_migrations

HEAD = test_migrations.HEAD


class TestDbsync(base.DatabaseTestCase):
    scenarios = [('sqlite', {'database': 'sqlite'})]
    schema = False

    def setUp(self):
        super().setUp()
        self.directory = self.temp_dir()
        self.file = os.path.join(self.directory, 'cyborg.conf')
        self._write('[database]\nconnection = %s\n' % self.db.url)

    def _write(self, text):
        with open(self.file, 'w') as file:
            file.write(text)

    def run_dbsync(self, *args, option='--config-file', status=0):
        """Standard output and error of one command."""
        path = self.file if option == '--config-file' else self.directory
        done = subprocess.run(
            [sys.executable, '-W', 'ignore', '-m', 'cyborg.cmd.dbsync',
             option, path, *args], capture_output=True, text=True)
        self.assertEqual(status, done.returncode, done.stderr)
        return done.stdout.strip(), done.stderr

    def test_upgrade_by_steps(self):
        self.assertEqual('None', self.run_dbsync('version')[0])
        self.run_dbsync('upgrade', '--revision', 'c1b5abada09c')
        self.assertEqual('c1b5abada09c', self.run_dbsync('version')[0])
        self.run_dbsync('upgrade')
        version, errors = self.run_dbsync('version')
        self.assertEqual(HEAD, version)
        self.assertNotIn('is configured', errors)

    def test_indexes(self):
        """PERF-4: made once, removed again; the schema stays 2026.2's."""
        both = 'devices_hostname_idx, deployables_rp_uuid_idx'
        errors = self.run_dbsync('indexes', status=1)[1]
        self.assertIn('devices', errors)
        self.run_dbsync('upgrade')
        before = schemas.describe(self.db.engine)
        self.assertEqual('Made: ' + both, self.run_dbsync('indexes')[0])
        self.assertEqual('Made: nothing, all is so already',
                         self.run_dbsync('indexes')[0])
        self.assertNotEqual(before, schemas.describe(self.db.engine))
        self.assertEqual(HEAD, self.run_dbsync('version')[0])
        self.assertEqual('Removed: ' + both,
                         self.run_dbsync('indexes', '--drop')[0])
        self.assertEqual(before, schemas.describe(self.db.engine))

    def test_config_dir(self):
        self.run_dbsync('create_schema', option='--config-dir')
        self.assertEqual(
            HEAD, self.run_dbsync('version', option='--config-dir')[0])

    def test_the_default_is_below_state_path(self):
        self._write('[DEFAULT]\nstate_path = %s\n' % self.directory)
        errors = self.run_dbsync('create_schema')[1]
        self.assertIn('cyborg.sqlite', os.listdir(self.directory))
        self.assertIn(
            'cyborg-dbsync: no [database] connection is configured; the '
            'database is sqlite:///%s/cyborg.sqlite\n' % self.directory,
            errors)

    def test_stamp(self):
        self.run_dbsync('stamp', '--revision', 'a35b4295a0e5')
        self.assertEqual('a35b4295a0e5', self.run_dbsync('version')[0])

    def test_errors_are_one_line(self):
        self.run_dbsync('create_schema')
        for args, message in (
                (('create_schema',), 'The database has revision %s already: '
                 'use "cyborg-dbsync upgrade".' % HEAD),
                (('upgrade', '--revision', 'none'),
                 "Can't locate revision identified by 'none'")):
            errors = self.run_dbsync(*args, status=1)[1]
            self.assertEqual('cyborg-dbsync: ' + message,
                             errors.strip().splitlines()[-1])
            self.assertNotIn('Traceback', errors)

    def test_an_unreachable_server(self):
        self._write('[database]\nmax_retries = 0\n'
                    'connection = mysql+pymysql://x@127.0.0.1:1/x\n')
        errors = self.run_dbsync('version', status=1)[1]
        self.assertIn("Can't connect to MySQL server on '127.0.0.1'", errors)
        self.assertNotIn('Traceback', errors)

    def test_online_data_migrations(self):
        self.run_dbsync('create_schema')
        rows.device(bus=1, device_state=None)
        rows.device(bus=2)
        self.assertEqual([
            'Filled in device_state of 1 of 1 devices that had none.',
            'Filled in project_id of 0 of 0 accelerator requests that had '
            'none.'], self.run_dbsync('online_data_migrations')[0]
            .splitlines())
        with self.db.engine.connect() as connection:
            self.assertEqual(0, connection.scalar(sa.text(
                'SELECT count(*) FROM devices WHERE device_state IS NULL')))

    def test_whose_requests(self):
        """Nova tells the project of requests from before 2026.2."""
        nova = self.useFixture(nova_fixture.NovaFixture(http=True))
        nova.projects['i1'] = 'p1'
        self._write('[database]\nconnection = %s\n[nova]\nauth_type = none\n'
                    'endpoint_override = %s\n' % (self.db.url, nova.endpoint))
        self.run_dbsync('create_schema')
        profile = rows.profile()
        found = rows.arq(profile, project_id=None, instance_uuid='i1')
        rows.arq(profile, project_id=None, instance_uuid='gone')
        rows.arq(profile, project_id=None)
        self.assertEqual([
            'Filled in project_id of 1 of 2 accelerator requests that had '
            'none.',
            '2 accelerator requests without a project belong to no instance '
            'that Nova knows. An admin can see and delete them.'],
            self.run_dbsync('online_data_migrations')[0].splitlines()[1:])
        self.assertEqual('p1', rows.read(found).project_id)
        nova.answer = 500
        errors = self.run_dbsync('online_data_migrations', status=2)[1]
        self.assertIn('cyborg-dbsync: Nova gave an unusable answer to GET '
                      '/servers/gone: status 500, without the project',
                      errors)

    def test_nobody_to_ask(self):
        self.run_dbsync('create_schema')
        rows.arq(rows.profile(), project_id=None, instance_uuid='i1')
        errors = self.run_dbsync('online_data_migrations', status=2)[1]
        self.assertIn('[nova] has no credentials', errors)

    def test_revision_files_are_for_developers(self):
        """The command exists; it is not run, it would write into the tree."""
        self.assertIn('--autogenerate',
                      self.run_dbsync('revision', '--help')[0])

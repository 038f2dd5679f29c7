# SPDX-License-Identifier: Apache-2.0
"""The benchmarks run, and count what does not depend on the machine."""

import json
import pathlib
import subprocess
import sys

from cyborg.tests import base
from cyborg.tests.fixtures import database
from cyborg.tests.fixtures import rabbit

BENCHMARKS = pathlib.Path(__file__).parents[4] / 'benchmarks'


class BenchmarksTest(base.TestCase):

    timeout = 180

    def figures(self, name, *arguments):
        """What a benchmark measured, without the released service."""
        result = pathlib.Path(self.temp_dir()) / 'figures.json'
        done = subprocess.run(
            [sys.executable, '-W', 'ignore', BENCHMARKS / name, *arguments,
             '--json', result], capture_output=True, text=True, timeout=300)
        self.assertEqual(0, done.returncode, done.stderr)
        return json.loads(result.read_text())

    def test_discovery(self):
        """DSC-1, PERF-1: each attribute file is opened at most once."""
        found = self.figures('discovery', '--functions', '64', '--repeat',
                             '1')
        # uevent and numa_node of each, sriov_totalvfs of every eighth.
        self.assertEqual((1, 2 * 64 + 8), (found['most'], found['files']))
        for name in ('ours discovery at start', 'ours discovery again'):
            self.assertGreater(found['figures'][name]['wall'], 0)

    def test_service(self):
        """PERF-1, PERF-2"""
        found = {name: (figures['ours']['sql'], figures['ours']['calls'])
                 for name, figures in self.figures(
                     'run', '--quick').items()}
        self.assertEqual(found['list of 10'], found['list of 100'])
        # Fewer statements than devices, and one look at the host's tree.
        statements, calls = found['unchanged report, 16 devices']
        self.assertLess(statements, 16)
        self.assertEqual(1, calls)

    def test_host(self):
        """PERF-4, PERF-5, PERF-6"""
        # Skips where there is none.
        self.useFixture(database.MariaDatabase())
        found = self.figures('host', '--others', '20', '--arqs', '64',
                             '--repeat', '1')
        quiet, bind = found['unchanged report'], found['bind 16']
        self.assertEqual((1, 2, 1), (quiet['rpc'], quiet['sql'],
                                     quiet['http']))
        self.assertLess(quiet['bytes'], 4096)
        self.assertLessEqual(bind['sql'], 12 + 2 * 16)
        # Of a request: its own row and that of its handle.
        for each in found.values():
            self.assertLessEqual(each['locks'], 10 * 2 * 16)
        self.assertEqual(1, found['list of 64 requests']['sql'])

    def test_fleet(self):
        """Every part works for every report."""
        self.useFixture(database.MariaDatabase())
        self.useFixture(rabbit.RabbitVirtualHost())
        found = self.figures('fleet', '--agents', '2', '--devices', '2',
                             '--others', '4', '--conductors', '1',
                             '--rounds', '4')
        self.assertEqual(
            {'first report', 'unchanged report', 'whole report'}, set(found))
        for each in found.values():
            self.assertEqual({'agents', 'conductors', 'Placement', 'MariaDB',
                              'RabbitMQ'}, set(each['ms']))
            self.assertGreater(each['minute'], 0)
        self.assertGreater(found['first report']['ms']['conductors'], 0)

    def test_cleaner(self):
        """CLEAN-1: two calls, whatever the number of disks."""
        found = self.figures('cleaner', '--quick', '--repeat', '1')
        self.assertEqual({'4': 2, '64': 2}, {
            number: figures['calls'] for number, figures in found.items()})

    def test_refusals(self):
        """No request costs more than a tenth of a second."""
        found = self.figures('refusals')
        self.assertGreater(len(found), 400)
        self.assertEqual([], [entry for entry in found
                              if entry['seconds'] > 0.1])
        # Whatever it was, it was the client's mistake.
        self.assertEqual([], [entry for entry in found
                              if not 200 <= entry['status'] < 500])
        self.assertEqual(set(), {
            entry['request'] for entry in found if entry['status'] < 400
            and 'filter' not in entry['request']
            and 'slashes' not in entry['request']})

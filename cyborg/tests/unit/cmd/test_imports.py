# SPDX-License-Identifier: Apache-2.0
"""What the start of a command brings along, in a fresh process."""

import subprocess
import sys

import testscenarios

from cyborg.tests import base

COMMANDS = ('agent', 'api', 'conductor', 'dbsync', 'pci', 'status')
#: Imported where they are used, or not at all: each takes longer to import
#: than most of our code takes to run.
HEAVY = ('openstack', 'eventlet.support.greendns', 'dns.resolver')


class TestImports(testscenarios.WithScenarios, base.TestCase):

    scenarios = [(name, {'command': name}) for name in COMMANDS]

    def test_what_is_heavy_waits_for_its_use(self):
        done = subprocess.run(
            [sys.executable, '-W', 'ignore', '-c',
             'import sys, cyborg.cmd.%s; print(sorted(set(%r) & '
             'set(sys.modules)))' % (self.command, HEAVY)],
            capture_output=True, text=True)
        self.assertEqual('[]', done.stdout.strip(), done.stderr)

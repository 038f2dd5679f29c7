# SPDX-License-Identifier: Apache-2.0
"""What doc/source/cli says of every command."""

from importlib import metadata
import subprocess
import sys

import testscenarios

from cyborg import version
from cyborg.tests import base

MODULES = {script.name: script.module for script in metadata.distribution(
    'openstack-cyborg').entry_points.select(group='console_scripts')}


class CommandTest(testscenarios.WithScenarios, base.TestCase):

    scenarios = [(name, {'module': module})
                 for name, module in MODULES.items()]

    def run_command(self, *arguments) -> str:
        done = subprocess.run(
            [sys.executable, '-W', 'ignore', '-m', self.module, *arguments],
            capture_output=True, text=True, timeout=300)
        self.assertEqual((0, ''), (done.returncode, done.stderr))
        return done.stdout

    def test_version(self):
        """BASE-2: an operator asks each command which release it is."""
        self.assertEqual(version.release_string(),
                         self.run_command('--version').split()[-1])

    def test_common_options(self):
        text = self.run_command('--help')
        for option in ('--config-file', '--config-dir', '--debug',
                       '--version'):
            self.assertIn(option, text)

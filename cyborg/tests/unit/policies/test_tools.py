# SPDX-License-Identifier: Apache-2.0
"""The commands of oslo.policy know this service."""

import pathlib
import subprocess
import sys

from cyborg.tests import base


class TestTools(base.TestCase):

    def setUp(self):
        super().setUp()
        folder = pathlib.Path(self.temp_dir())
        self.rules = folder / 'policy.yaml'
        self.config = folder / 'cyborg.conf'
        self.config.write_text('[oslo_policy]\npolicy_file = %s\n'
                               % self.rules)

    def ask(self, name: str, *rules: str) -> tuple[int, str]:
        """Exit status and output of a command, with these rules in force."""
        self.rules.write_text('\n'.join(rules))
        command = pathlib.Path(sys.executable).with_name('oslopolicy-' + name)
        done = subprocess.run(
            [sys.executable, '-W', 'ignore', command, '--namespace', 'cyborg',
             '--config-file', self.config], capture_output=True, text=True,
            timeout=300)
        self.assertNotIn('Traceback', done.stderr)
        return done.returncode, done.stdout

    def test_policy_generator(self):
        status, text = self.ask('policy-generator',
                                '"cyborg:device:get_all": "role:auditor"')
        self.assertEqual(0, status)
        self.assertIn('"cyborg:device:get_all": "role:auditor"', text)
        self.assertIn('"cyborg:arq:update":', text)

    def test_list_redundant(self):
        status, text = self.ask('list-redundant',
                                '"admin_api": "role:admin"',
                                '"cyborg:device:get_all": "role:auditor"')
        self.assertEqual((0, True, False), (
            status, 'admin_api' in text, 'cyborg:device:get_all' in text))

    def test_sample_generator(self):
        status, text = self.ask('sample-generator')
        self.assertEqual(0, status)
        self.assertIn('"cyborg:deployable:program"', text)

    def test_validator(self):
        self.assertEqual(0, self.ask(
            'validator', '"cyborg:device:get_all": "role:auditor"')[0])
        self.assertEqual(1, self.ask(
            'validator', '"cyborg:device:get_all": "rule:nowhere"')[0])

# SPDX-License-Identifier: Apache-2.0
"""What an operator reads about an option value of a wrong type."""

import os
import re
import subprocess
import sys

import fixtures
from oslo_config import cfg

from cyborg.common import exception
from cyborg.common import option_values
from cyborg.conf import CONF
from cyborg.tests import base

#: Lines of a file -> text after the name of the file.
TEXTS = (
    ('[DEFAULT]', 'periodic_interval = 1m',
     '[DEFAULT] periodic_interval = "1m" in %s is not valid: a whole number '
     'is expected.'),
    ('[agent]', 'resource_provider_startup_retries = many',
     '[agent] resource_provider_startup_retries = "many" in %s is not valid: '
     'a whole number is expected.'),
    ('[api]', 'port = 70000',
     '[api] port = "70000" in %s is not valid: a whole number from 0 to '
     '65535 is expected.'),
    ('[api]', 'api_workers = 0',
     '[api] api_workers = "0" in %s is not valid: a whole number from 1 on '
     'is expected.'),
    ('[workarounds]', 'allow_unsafe_devices = maybe',
     '[workarounds] allow_unsafe_devices = "maybe" in %s is not valid: true '
     'or false is expected.'),
    ('[api]', 'host_ip = a b',
     '[api] host_ip = "a b" in %s is not valid: a host name or an IP address '
     'is expected.'),
)
GROUPS = ('agent', 'api', 'workarounds')


class TextTest(base.TestCase):

    def write(self, *lines: str) -> str:
        path = os.path.join(self.temp_dir(), 'cyborg.conf')
        with open(path, 'w') as stream:
            stream.write('\n'.join(lines))
        return path

    def load(self, *lines: str) -> str:
        path = self.write(*lines)
        self.conf.load_files(path)
        return path

    def assertSaid(self, *texts: str):
        found = list(option_values.errors(CONF, *GROUPS))
        self.assertEqual(list(texts), [error.message for error in found])
        for error in found:
            self.assertIsInstance(error, exception.ConfigInvalid)
            self.assertNotIn('LocationInfo', error.message)

    def test_texts(self):
        for group, line, text in TEXTS:
            self.assertSaid(text % self.load(group, line))

    def test_all_of_them(self):
        path = self.load('[api]', 'port = x', 'api_workers = y')
        self.assertEqual(2, len(list(option_values.errors(CONF, *GROUPS))))
        error = self.assertRaises(exception.OptionInvalid,
                                  option_values.check, CONF, *GROUPS)
        self.assertIn(path, error.message)

    def test_nothing_is_wrong(self):
        self.load('[api]', 'port = 1')
        self.assertSaid()

    def test_only_what_was_asked_for(self):
        """A conductor does not care about the API's port."""
        self.load('[api]', 'port = x')
        option_values.check(CONF, 'agent')

    def test_the_file_that_counts_is_named(self):
        good = self.write('[api]', 'port = 1')
        bad = self.write('[api]', 'port = x')
        self.conf.load_files(good, bad)
        self.assertSaid('[api] port = "x" in %s is not valid: a whole number '
                        'from 0 to 65535 is expected.' % bad)

    def test_in_a_directory(self):
        path = self.write('[api]', 'port = x')
        CONF(['--config-dir', os.path.dirname(path)], project='cyborg',
             default_config_files=[])
        self.assertSaid('[api] port = "x" in %s is not valid: a whole number '
                        'from 0 to 65535 is expected.' % path)

    def test_in_the_environment(self):
        self.useFixture(fixtures.EnvironmentVariable('OS_API__PORT', 'x'))
        self.assertSaid('[api] port = "x" in OS_API__PORT is not valid: a '
                        'whole number from 0 to 65535 is expected.')

    def test_a_long_value_is_cut(self):
        self.load('[api]', 'port = ' + 'x' * 9000)
        error, = option_values.errors(CONF, *GROUPS)
        self.assertIn('"%s..." in' % ('x' * 79), error.message)

    def test_options_of_libraries(self):
        """Not ours, so in the words of oslo.config, but with their place."""
        CONF.register_opt(cfg.IntOpt('their_number'), group='database')
        path = self.load('[database]', 'their_number = x')
        error, = option_values.errors(CONF, 'database')
        self.assertEqual(
            '[database] their_number = "x" in %s is not valid: invalid '
            "literal for int() with base 10: 'x'." % path, error.message)


class CommandTest(base.TestCase):
    """Each command ends with the line, before it does anything."""

    def said(self, name: str, *lines: str, arguments=()
             ) -> tuple[int, str]:
        """Exit status, and output without notes on deprecated options."""
        path = os.path.join(self.temp_dir(), 'cyborg.conf')
        with open(path, 'w') as stream:
            stream.write('\n'.join(lines))
        done = subprocess.run(
            [sys.executable, '-W', 'ignore', '-m', 'cyborg.cmd.' + name,
             '--config-file', path, *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=300)
        output = done.stdout.replace(path, 'FILE')
        return done.returncode, re.sub(
            r'Deprecated: Option .*? in the future\.\n', '', output,
            flags=re.DOTALL)

    def test_conductor(self):
        self.assertEqual(
            (1, 'cyborg-conductor cannot start: [placement] timeout = "soon" '
             'in FILE is not valid: a number is expected.\n'),
            self.said('conductor', '[DEFAULT]',
                      'transport_url = fake:/', '[placement]',
                      'timeout = soon'))

    def test_api(self):
        self.assertEqual(
            (1, 'cyborg-api cannot start: [api] port = "http" in FILE is not '
             'valid: a whole number from 0 to 65535 is expected.\n'),
            self.said('api', '[api]', 'port = http'))

    def test_dbsync(self):
        self.assertEqual(
            (1, 'cyborg-dbsync: [database] max_retries = "never" in FILE is '
             'not valid: invalid literal for int() with base 10: '
             "'never'.\n"),
            self.said('dbsync', '[database]', 'max_retries = never',
                      arguments=['upgrade']))

    def test_status(self):
        """Not 1, which stands for a warning."""
        self.assertEqual(
            (255, 'cyborg-status: [workarounds] allow_unsafe_devices = '
             '"maybe" in FILE is not valid: true or false is expected.\n'),
            self.said('status', '[workarounds]',
                      'allow_unsafe_devices = maybe',
                      arguments=['upgrade', 'check']))

    def test_pci_list(self):
        code, text = self.said('pci', '[workarounds]',
                               'allow_unsafe_devices = maybe',
                               arguments=['list'])
        self.assertEqual(
            (1, '[workarounds] allow_unsafe_devices = "maybe" in FILE is not '
             'valid: true or false is expected.\n'), (code, text))

    def test_pci_check(self):
        """PRV-1: the agent would refuse it, too."""
        code, text = self.said('pci', '[agent]',
                               'resource_provider_startup_retries = x',
                               arguments=['check', '-f', 'value'])
        self.assertEqual(1, code, text)
        self.assertIn(
            'reason configuration [agent] resource_provider_startup_retries '
            '= "x" in FILE is not valid: a whole number is expected.', text)

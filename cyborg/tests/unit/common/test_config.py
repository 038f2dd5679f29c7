# SPDX-License-Identifier: Apache-2.0
"""Reading configuration, paths, the version."""

import os
import subprocess
import sys

from oslo_config import cfg

from cyborg import version
from cyborg.common import config
from cyborg.common import exception
from cyborg.common import paths
from cyborg.conf import CONF
from cyborg.tests import base


class ParseTest(base.TestCase):

    def test_files_given_on_the_command_line(self):
        path = os.path.join(self.temp_dir(), 'cyborg.conf')
        with open(path, 'w') as file:
            file.write('[api]\nport = 7777\n')
        config.parse_args(['cyborg-x', '--config-file', path])
        self.assertEqual(7777, CONF.api.port)

    def test_a_file_that_is_no_text_is_named(self):
        folder = self.temp_dir()
        path = os.path.join(folder, 'cyborg.conf')
        with open(path, 'wb') as file:
            file.write(b'[api]\n# caf\xe9\n')
        for argument in ('--config-file=' + path, '--config-dir=' + folder):
            error = self.assertRaises(
                cfg.ConfigFileParseError, config.parse_args,
                ['cyborg-x', argument])
            self.assertEqual('Failed to parse %s: no UTF-8 text, byte 11 is '
                             '0xe9' % path, str(error))

    def test_a_directory_in_the_place_of_a_file(self):
        folder = self.temp_dir()
        error = self.assertRaises(
            cfg.ConfigFileParseError, config.parse_args,
            ['cyborg-x', '--config-file', folder])
        self.assertEqual('Failed to parse %s: Is a directory' % folder,
                         str(error))

    def test_service_tokens_need_a_service_role(self):
        config.set_api_defaults()
        self.assertTrue(
            CONF.keystone_authtoken.service_token_roles_required)


class LoggingTest(base.TestCase):
    """A place of the log that is of no use is one line."""

    def refused(self, **options) -> str:
        self.conf.set(**options)
        return self.assertRaises(exception.ConfigInvalid,
                                 config.setup_logging).message

    def test_directory(self):
        folder = os.path.join(self.temp_dir(), 'missing')
        text = self.refused(log_dir=folder, log_file='x.log')
        self.assertIn(
            '[DEFAULT] log_dir = %s, log_file = x.log of host compute-1: '
            '%s/x.log cannot be written to (No such file or directory). Make '
            'the directory, and let the user of this service write there.'
            % (folder, folder), text)

    def test_file(self):
        folder = self.temp_dir()
        text = self.refused(log_file=folder)
        self.assertIn('[DEFAULT] log_file = %s of host compute-1: %s cannot '
                      'be written to (Is a directory).' % (folder, folder),
                      text)

    def test_configuration_of_logging(self):
        path = os.path.join(self.temp_dir(), 'logging.conf')
        for content in (None, '[loggers]\n', 'junk'):
            if content is not None:
                with open(path, 'w') as stream:
                    stream.write(content)
            text = self.refused(log_config_append=path)
            self.assertIn('[DEFAULT] log_config_append = %s of host compute-1 '
                          'cannot be used: ' % path, text)
            self.assertNotIn('\n', text)


class InterruptTest(base.TestCase):

    def test_no_traceback(self):
        for raised, wanted in (('KeyboardInterrupt', 'Interrupted.\n'),
                               ('ValueError', 'Traceback')):
            done = subprocess.run(
                [sys.executable, '-c', 'import cyborg.cmd; raise %s' % raised],
                capture_output=True, text=True, timeout=300)
            self.assertNotEqual(0, done.returncode)
            self.assertIn(wanted, done.stderr)
            if raised == 'KeyboardInterrupt':
                self.assertEqual(wanted, done.stderr)


class PathsTest(base.TestCase):

    def test_defaults_are_left_to_the_configuration(self):
        self.assertEqual('$state_path/a/b', paths.state_path_def('a', 'b'))
        self.assertEqual('$pybasedir/a', paths.basedir_def('a'))
        self.assertEqual('$bindir/a', paths.bindir_def('a'))

    def test_resolved(self):
        self.assertEqual(os.path.join(self.conf.directory, 'a'),
                         paths.state_path_rel('a'))
        self.conf.set(pybasedir='/base')
        self.assertEqual('/base/a', paths.basedir_rel('a'))
        self.assertEqual('/base/bin/a', paths.bindir_rel('a'))


class VersionTest(base.TestCase):

    def test_release(self):
        self.assertRegex(version.release_string(), r'^18\.0\.0')


class BackendTest(base.TestCase):

    def test_threads_are_chosen_and_nothing_is_patched(self):
        """No eventlet: whoever imports us first gets threads."""
        subprocess.run(
            [sys.executable, '-W', 'ignore', '-c',
             'import cyborg.common.rpc, threading\n'
             'from oslo_service import backend\n'
             'assert backend.get_backend_type() is '
             'backend.BackendType.THREADING\n'
             'assert type(threading.Lock()).__module__ == "_thread"'],
            check=True, timeout=300)

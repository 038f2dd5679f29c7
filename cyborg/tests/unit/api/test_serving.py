# SPDX-License-Identifier: Apache-2.0
"""Where the application comes from, and the server of cyborg-api."""

import importlib
import os
import pathlib
import sys

import fixtures

from cyborg.api import app
from cyborg.api import server
from cyborg.cmd import api as command
from cyborg.common import exception
from cyborg.tests import base


class TestPasteFile(base.TestCase):

    def write(self, *parts):
        path = os.path.join(self.temp_dir(), *parts)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        pathlib.Path(path).write_text('')
        return path

    def test_an_absolute_path(self):
        path = self.write('x.ini')
        self.conf.set(group='api', api_paste_config=path)
        self.assertEqual(path, app.paste_file())

    def test_beside_the_configuration(self):
        path = self.write('api-paste.ini')
        config = os.path.join(os.path.dirname(path), 'cyborg.conf')
        pathlib.Path(config).write_text('')
        self.conf.load_files(config)
        self.assertEqual(path, app.paste_file())

    def test_that_of_the_package(self):
        path = self.write('etc', 'cyborg', 'api-paste.ini')
        self.useFixture(fixtures.MonkeyPatch(
            'sys.prefix', str(pathlib.Path(path).parents[2])))
        self.assertEqual(path, app.paste_file())

    def test_nowhere(self):
        self.useFixture(fixtures.MonkeyPatch('sys.prefix', self.temp_dir()))
        self.conf.set(group='api', api_paste_config='nowhere.ini')
        error = self.assertRaises(exception.ConfigInvalid, app.paste_file)
        self.assertIn('nowhere.ini', str(error))
        self.assertIn(sys.prefix, str(error))


class TestConfigFiles(base.TestCase):
    """The environment of a WSGI server names the configuration."""

    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.MonkeyPatch(
            'cyborg.api.app.load_app', lambda: 'application'))
        self.useFixture(fixtures.MonkeyPatch(
            'cyborg.common.config.prepare', lambda *args: None))
        self.addCleanup(sys.modules.pop, 'cyborg.wsgi.api', None)
        self.wsgi = importlib.import_module('cyborg.wsgi.api')

    def test_application(self):
        self.assertEqual('application', self.wsgi.application)

    def test_a_missing_file_is_one_line(self):
        errors = self.useFixture(fixtures.StringStream('err')).stream
        self.useFixture(fixtures.MonkeyPatch('sys.stderr', errors))

        def fail():
            raise exception.ConfigInvalid(error_msg='there is no such file')

        self.useFixture(fixtures.MonkeyPatch('cyborg.api.app.load_app', fail))
        error = self.assertRaises(SystemExit, self.wsgi.make_application)
        self.assertEqual(3, error.code)
        errors.seek(0)
        self.assertEqual('cyborg-api cannot start: The configuration is not '
                         'usable: there is no such file\n', errors.read())

    def test_options_that_the_server_hands_on(self):
        for argv, wanted in (
                (['uwsgi'], ['cyborg-api']),
                (['gunicorn', '-w', '4'], ['cyborg-api']),
                (['uwsgi', '--config-file', '/a'],
                 ['cyborg-api', '--config-file', '/a']),
                (['x', '--config-dir=/b'],
                 ['cyborg-api', '--config-dir=/b'])):
            self.assertEqual(wanted, self.wsgi.arguments(argv))

    def test_files(self):
        for environ, files in (
                ({}, None),
                ({'OS_CYBORG_CONFIG_DIR': '/a'}, ['/a/cyborg.conf']),
                ({'OS_CYBORG_CONFIG_FILES': '/b/x.conf; y.conf;'},
                 ['/b/x.conf', 'y.conf']),
                ({'OS_CYBORG_CONFIG_FILES': '/b/x.conf;y.conf',
                  'OS_CYBORG_CONFIG_DIR': '/a'},
                 ['/b/x.conf', '/a/y.conf'])):
            self.assertEqual(files, self.wsgi.config_files(environ))


class TestServer(base.TestCase):

    def test_no_tls(self):
        self.assertIsNone(server.tls())

    def test_tls_needs_its_files(self):
        self.conf.set(group='api', enable_ssl_api=True)
        error = self.assertRaises(exception.ConfigInvalid, server.tls)
        self.assertIn('[ssl] cert_file', str(error))

    def test_tls_needs_usable_files(self):
        path = os.path.join(self.temp_dir(), 'x.pem')
        pathlib.Path(path).write_text('no certificate')
        self.conf.set(group='api', enable_ssl_api=True)
        self.conf.set(group='ssl', cert_file=path, key_file=path)
        error = self.assertRaises(exception.ConfigInvalid, server.tls)
        self.assertIn('cannot be used', str(error))

    def test_workers(self):
        self.conf.set(group='api', api_workers=3)
        self.assertEqual(3, server.workers())
        self.conf.set(group='api', api_workers=None)
        self.assertLess(0, server.workers())

    def test_the_command_says_why_it_does_not_start(self):
        errors = self.useFixture(fixtures.StringStream('err')).stream
        self.useFixture(fixtures.MonkeyPatch('sys.stderr', errors))
        path = os.path.join(self.temp_dir(), 'cyborg.conf')
        pathlib.Path(path).write_text(
            '[api]\napi_paste_config = /nowhere.ini\n')
        self.assertEqual(1, command.main(
            ['cyborg-api', '--config-file', path]))
        errors.seek(0)
        self.assertIn('cyborg-api cannot start', errors.read())

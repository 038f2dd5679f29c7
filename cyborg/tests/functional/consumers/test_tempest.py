# SPDX-License-Identifier: Apache-2.0
"""CON-3: the Tempest plugin's client, tests and expectations."""

import importlib.util
import pathlib
import tomllib

import testscenarios
import testtools

from cyborg.tests.fixtures import api
from cyborg.tests.functional.consumers import base

load_tests = testscenarios.load_tests_apply_scenarios

PLUGIN = base.ROOT / 'tempest_plugin'
HERE = pathlib.Path(__file__).parent

#: Modules of API tests. Those of the second kind need a conductor, which the
#: older service of these tests does not have.
WITHOUT_CONDUCTOR = (
    'test_attribute_negative', 'test_attributes', 'test_deployable_negative',
    'test_deployables', 'test_device', 'test_device_negative')
WITH_CONDUCTOR = (
    'test_accelerator_request', 'test_accelerator_request_negative',
    'test_device_profile', 'test_device_profile_negative', 'test_srbac')

#: Who asks, by the token that the probe sends; as Keystone implies roles.
PERSONS = {
    'primary': ('member,reader', 'aaaaaaaaaaaa4aaa8aaaaaaaaaaaaaaa'),
    'admin': ('admin,manager,member,reader',
              'adadadadadad4dad8dadadadadadadad'),
    **{'project_' + roles.split(',')[0]: (
        roles, 'cccccccccccc4ccc8ccccccccccccccc') for roles in (
            'admin,manager,member,reader', 'manager,member,reader',
            'member,reader', 'reader')},
    'service_user': ('service', '5e5e5e5e5e5e4e5e8e5e5e5e5e5e5e5e'),
    'system_admin': ('admin,manager,member,reader', None),
}


class Persons:
    """A WSGI application that stands for the authentication middleware."""

    def __init__(self, application):
        self.application = application

    def __call__(self, environ, start_response):
        roles, project = PERSONS[environ['HTTP_X_AUTH_TOKEN']]
        said = {'HTTP_X_ROLES': roles, 'HTTP_X_USER_ID': 'u',
                'HTTP_X_IDENTITY_STATUS': 'Confirmed'}
        if project is None:
            said['HTTP_OPENSTACK_SYSTEM_SCOPE'] = 'all'
        else:
            said['HTTP_X_PROJECT_ID'] = project
        if 'HTTP_X_SERVICE_TOKEN' in environ:
            said['HTTP_X_SERVICE_ROLES'] = 'service'
        return self.application({**environ, **said}, start_response)


class PersonsFront(base.Front):
    """An endpoint whose callers are who their token says."""

    def __init__(self, application):
        super().__init__(Persons(application))

    def extra_environ(self):
        return {}


def _expectations():
    spec = importlib.util.spec_from_file_location(
        'expectations', PLUGIN / 'cyborg_tempest_plugin' / 'common' /
        'expectations.py')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class ExpectationsTest(testtools.TestCase):
    """CON-3: booleans at 2.4, nothing before."""

    address = {'domain': '0000', 'bus': '25', 'device': '00',
               'function': '4'}
    settings = {'managed': False, 'stateful': False, 'numa_node': 0}

    def setUp(self):
        super().setUp()
        self.module = _expectations()

    def problems(self, version='2.4', handle_type='PCI', expected=None,
                 **settings):
        return self.module.problems(
            {'state': 'Bound', 'attach_handle_type': handle_type,
             'attach_handle_info': {**self.address, **settings}},
            handle_type, version, expected)

    def test_settings(self):
        self.assertEqual([], self.problems(**self.settings))
        self.assertEqual([], self.problems(expected=False, **self.settings))
        self.assertEqual(['managed is False, not True'],
                         self.problems(expected=True, **self.settings))

    def test_types(self):
        """API-1: texts and numbers are no booleans, and booleans no node."""
        for name, values in (('managed', ('false', 0, None)),
                             ('stateful', ('true', 1, None)),
                             ('numa_node', ('0', True, -1, 0.0))):
            for value in values:
                found = self.problems(**{**self.settings, name: value})
                self.assertEqual(1, len(found), (name, value, found))
                self.assertIn(name, found[0])
        self.assertEqual([], self.problems(
            **{**self.settings, 'numa_node': None}))

    def test_missing(self):
        self.assertEqual(3, len(self.problems()))

    def test_other_handle(self):
        """API-1: managed is for PCI handles alone."""
        self.assertEqual(['managed is there for a TEST_PCI handle'],
                         self.problems(handle_type='TEST_PCI',
                                       **self.settings))
        del (settings := dict(self.settings))['managed']
        self.assertEqual([], self.problems(handle_type='TEST_PCI',
                                           **settings))

    def test_older(self):
        """API-2: none of them before 2.4."""
        for version in (None, '2.0', '2.3'):
            self.assertEqual([], self.problems(version))
            self.assertEqual(3, len(self.problems(version, **self.settings)))

    def test_not_bound(self):
        arq = {'state': 'Initial', 'attach_handle_type': '',
               'attach_handle_info': None}
        self.assertEqual(3, len(self.module.problems(arq, 'PCI', '2.4')))

    def test_version(self):
        ask = self.module.version_to_ask_for
        self.assertEqual(['2.4', '2.4', '2.4', '2.4', None, None],
                         [ask(newest) for newest in (
                             'latest', '2.4', '2.10', '3.0', '2.3', '2.0')])
        self.assertRaises(ValueError, ask, 'newest')

    def test_pci_id(self):
        for text in ('1d55', '0x1d55', '1D55'):
            self.assertEqual('0x1d55', self.module.pci_id(text))


class PluginTestCase(base.ConsumerTestCase):
    """A plugin in an environment of its own, and one bound request."""

    def setUp(self):
        super().setUp()
        for name in ('true', 'absent'):
            self.release(name)

    def front(self, service_of: str):
        """The service to test, which knows its callers by their token.

        Policies are read once, so the one of now gets an API of its own.
        """
        if service_of == 'ours':
            application = self.useFixture(api.ApiFixture()).application
        else:
            application = self.older()._application
        return self.useFixture(PersonsFront(application))

    def installed(self, project: dict) -> str:
        """The metadata that pip would write, for Tempest to find.

        :param project: as in ``pyproject.toml``
        """
        folder = pathlib.Path(self.temp_dir())
        info = folder / 'cyborg_tempest_plugin-0.dist-info'
        info.mkdir()
        (info / 'METADATA').write_text(
            'Metadata-Version: 2.1\nName: %(name)s\nVersion: %(version)s\n'
            % project)
        (info / 'entry_points.txt').write_text(''.join(
            '[%s]\n%s\n' % (group, '\n'.join(
                '%s = %s' % item for item in entries.items()))
            for group, entries in project['entry-points'].items()))
        return str(folder)

    def tempest(self, python, plugin, endpoint, modules, conf: str) -> dict:
        """What ``tempest_probe`` saw.

        :param plugin: its source tree
        :param conf: text of ``tempest.conf``
        """
        path = pathlib.Path(self.temp_dir()) / 'tempest.conf'
        path.write_text('[validation]\nrun_validation = False\n' + conf)
        project = tomllib.loads((PLUGIN / 'pyproject.toml').read_text())[
            'project']
        return self.probe(
            'tempest_probe', python, [plugin, self.installed(project)],
            endpoint.url, base.INSTANCE, *modules,
            environment={'TEMPEST_CONFIG_DIR': str(path.parent),
                         'TEMPEST_CONFIG': path.name})


class TempestTest(testscenarios.WithScenarios, PluginTestCase):
    """CON-3: API tests pass, and the scenario's check tells right."""

    scenarios = [
        ('unmanaged', {'service_of': 'ours', 'newest': 'latest',
                       'expected': 'False', 'error': None, 'count': 60,
                       'modules': WITHOUT_CONDUCTOR + WITH_CONDUCTOR}),
        ('any mode', {'service_of': 'ours', 'newest': '2.4',
                      'expected': None, 'error': None, 'count': 0,
                      'modules': ()}),
        ('other mode', {'service_of': 'ours', 'newest': 'latest',
                        'expected': 'True',
                        'error': 'managed is False, not True', 'count': 0,
                        'modules': ()}),
        ('2026.2', {'service_of': 'older', 'newest': '2.3',
                    'expected': None, 'error': None, 'count': 17,
                    'modules': WITHOUT_CONDUCTOR}),
    ]

    def test_plugin(self):
        if self.service_of == 'older':
            self.as_2026_2_stored_them()
        # The older service keeps its default.
        enforced = self.service_of == 'ours'
        self.conf.set(group='oslo_policy', enforce_new_defaults=enforced)
        endpoint = self.front(self.service_of)
        python, _ = base.consumer('tempest', patched=False)
        seen = self.tempest(
            python, PLUGIN, endpoint, self.modules,
            '[cyborg]\nmax_microversion = %s\n'
            '[cyborg_policy]\nenforce_new_defaults = %s\n[cyborg_pci]\n%s'
            % (self.newest, enforced,
               'expected_managed = %s\n' % self.expected
               if self.expected else ''))
        self.assertEqual([True, True], seen['folders'])
        self.assertEqual({'run': self.count, 'skipped': [], 'bad': []},
                         seen['api'])
        if self.error:
            self.assertIn(self.error, seen['scenario']['error'])
        else:
            self.assertEqual({'arqs': [self.arqs['false']]},
                             seen['scenario'])
        asked = '2.4' if self.service_of == 'ours' else None
        self.assertIn(asked, endpoint.versions['GET', 'accelerator_requests'])
        self.assertPublishedIdsKept(seen['ids'])

    def assertPublishedIdsKept(self, ids):
        """Whoever selects a published test by name or UUID gets one here."""
        published = (HERE / 'published-tempest-tests.txt').read_text()
        for line in published.splitlines():
            if not line.startswith('#'):
                name, attributes = line.split()
                (found,) = [one for one in ids
                            if one.split('[')[0].endswith('.' + name)]
                self.assertEqual(attributes, found.split('[')[1].rstrip(']'))

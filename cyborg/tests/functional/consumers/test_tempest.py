# SPDX-License-Identifier: Apache-2.0
"""CON-3: the Tempest plugin's client, tests and expectations."""

import importlib.util
import pathlib
import tomllib

import testscenarios
import testtools

from cyborg.tests.functional.consumers import base

PLUGIN = base.ROOT / 'tempest_plugin'
NAMES = {
    'test_%s_with_pci_driver_device' % name for name in (
        'create_delete_server', 'guest_reboot', 'soft_reboot_server',
        'hard_reboot_server', 'pause_unpause_server', 'snapshot_server',
        'backup_server', 'lock_unlock_server', 'rebuild_server',
        'shelve_unshelve_server')}


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


class TempestTest(testscenarios.WithScenarios, base.ConsumerTestCase):
    """CON-3: API tests pass, and the scenario's check tells right."""

    scenarios = [
        ('unmanaged', {'service_of': 'ours', 'newest': 'latest',
                       'expected': 'False', 'error': None}),
        ('any mode', {'service_of': 'ours', 'newest': '2.4',
                      'expected': None, 'error': None}),
        ('other mode', {'service_of': 'ours', 'newest': 'latest',
                        'expected': 'True',
                        'error': 'managed is False, not True'}),
        ('2026.2', {'service_of': 'older', 'newest': '2.3',
                    'expected': None, 'error': None}),
    ]

    def setUp(self):
        super().setUp()
        for name in ('true', 'absent'):
            self.release(name)

    def installed(self) -> str:
        """The metadata that pip would write, for Tempest to find."""
        project = tomllib.loads((PLUGIN / 'pyproject.toml').read_text())[
            'project']
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

    def test_plugin(self):
        if self.service_of == 'older':
            self.as_2026_2_stored_them()
        endpoint = getattr(self, self.service_of)()
        python, _ = base.consumer('client', patched=False)
        # A conductor would take part in the API tests; the older service
        # of these tests has none.
        api = ['api'] if self.service_of == 'ours' else []
        conf = pathlib.Path(self.temp_dir()) / 'tempest.conf'
        conf.write_text(
            '[cyborg]\nmax_microversion = %s\n'
            '[validation]\nrun_validation = False\n[cyborg_pci]\n%s'
            % (self.newest, 'expected_managed = %s\n' % self.expected
               if self.expected else ''))
        seen = self.probe(
            'tempest_probe', python, [PLUGIN, self.installed()],
            endpoint.url, base.INSTANCE, *api,
            environment={'TEMPEST_CONFIG_DIR': str(conf.parent),
                         'TEMPEST_CONFIG': conf.name})
        self.assertEqual(NAMES, {
            test.rsplit('.', 1)[1].split('[')[0] for test in seen['ids']
            if '.TestPCIDriverLifecycle.' in test})
        self.assertEqual([True, True], seen['folders'])
        if api:
            self.assertEqual({'run': 3, 'skipped': 0, 'bad': []},
                             seen['api'])
        if self.error:
            self.assertIn(self.error, seen['scenario']['error'])
        else:
            self.assertEqual({'arqs': [self.arqs['false']]},
                             seen['scenario'])
        asked = '2.4' if self.service_of == 'ours' else None
        self.assertIn(asked, endpoint.versions['GET', 'accelerator_requests'])

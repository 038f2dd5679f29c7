# SPDX-License-Identifier: Apache-2.0

import json
import pathlib

import fixtures

from cyborg.conf import CONF
from cyborg.pci import device_spec
from cyborg.pci import selection
from cyborg.pci import simulate
from cyborg.pci import sysfs
from cyborg.standalone import settings
from cyborg.tests import base

STATE = pathlib.Path('/state')


class TestSettings(base.TestCase):

    def setUp(self):
        super().setUp()
        CONF.clear()
        for option in settings.CLI_OPTS:
            CONF.unregister_opt(option)
        CONF.register_cli_opts(settings.CLI_OPTS)
        self.addCleanup(self.unregister)

    @staticmethod
    def unregister():
        CONF.clear()
        for option in settings.CLI_OPTS:
            CONF.unregister_opt(option)

    def parse(self, *arguments):
        CONF(arguments, project='cyborg', default_config_files=[],
             default_config_dirs=[])
        settings.check(CONF)
        return (settings.drivers(CONF), settings.rules(CONF),
                settings.sysfs_path(CONF, STATE))

    def test_own_machine_offers_the_fake_driver_alone(self):
        self.assertEqual((['fake_driver'], [], '/sys'),
                         self.parse())

    def test_another_tree_offers_nothing_unasked(self):
        folder = self.temp_dir()
        self.assertEqual((['fake_driver'], [], folder),
                         self.parse('--sysfs', folder))

    def test_rule_of_the_command_line(self):
        rule = '{"vendor_id": "10de"}'
        self.assertEqual((['pci_driver'], [rule], '/sys'),
                         self.parse('--device-spec', rule))
        drivers, rules, _path = self.parse(
            '--simulate', '--device-spec', rule)
        self.assertEqual((['pci_driver'], [rule]), (drivers, rules))

    def test_every_rule_of_the_command_line_counts(self):
        """In their order, since the first that matches decides."""
        rules = ['{"vendor_id": "%s"}' % vendor
                 for vendor in ('8086', '10de', '8086')]
        self.assertEqual((['pci_driver'], rules, '/sys'), self.parse(
            *(word for rule in rules for word in ('--device-spec', rule))))

    def test_an_empty_rule_is_not_passed_over(self):
        self.assertEqual((['pci_driver'], [''], '/sys'),
                         self.parse('--device-spec', ''))

    def test_contradictions(self):
        for arguments in (('--simulate', '--sysfs', '/sys'),
                          ('--sysfs', '/nonexistent')):
            self.assertRaises(settings.UsageError, self.parse, *arguments)

    def test_simulated_host_never_offers_disk_or_network(self):
        drivers, rules, path = self.parse('--simulate')
        self.assertEqual((['pci_driver'], '/state/host/sys'),
                         (drivers, path))
        tree = self.temp_dir()
        simulate.build(tree + '/sys')
        verdicts = selection.select(
            sysfs.scan(tree + '/sys').devices,
            device_spec.load(rules).rules, (), False)
        offered = {v.device.class_name for v in verdicts if v.offered}
        self.assertEqual({'Processing accelerators', '3D controller'},
                         offered)
        self.assertEqual([], [v for v in verdicts if v.offered
                              and v.device.kind == 'PF'])

    def test_simulated_rules_are_what_an_operator_would_write(self):
        for rule in settings.SIMULATED_RULES:
            self.assertEqual(1, len(device_spec.load(
                [json.dumps(rule)]).rules))

    def test_state_directory(self):
        for value, expected in (('/x', '/x/cyborg-standalone'),
                                (None, '/h/.local/state/cyborg-standalone')):
            with (fixtures.EnvironmentVariable('XDG_STATE_HOME', value),
                  fixtures.EnvironmentVariable('HOME', '/h')):
                self.assertEqual(pathlib.Path(expected),
                                 settings.default_state_directory())

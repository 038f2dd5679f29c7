# SPDX-License-Identifier: Apache-2.0
"""``device_spec`` and its deprecated name ``passthrough_whitelist`` (CFG-1).

oslo.config alone knows about the old name; what it does with both together is
recorded here, since operators will meet it.
"""

import itertools
import os
import subprocess
import sys
from unittest import mock

from cyborg.accelerator.drivers.pci.pci import driver
from cyborg.accelerator.drivers.pci.pci import survey
from cyborg.common import exception
from cyborg.conf import CONF
from cyborg.rpcapi import conductor as conductor_rpcapi
from cyborg.tests import base

OLD, NEW = 'passthrough_whitelist', 'device_spec'


class OptionNameTest(base.TestCase):

    def write(self, *lines):
        path = os.path.join(self.temp_dir(), 'cyborg.conf')
        with open(path, 'w') as stream:
            stream.write('\n'.join(('[pci]', *lines)) + '\n')
        return path

    def rules(self, *lines):
        self.conf.load_files(self.write(*lines))
        return [rule.text for rule in survey.configuration(CONF).spec.rules]

    def test_each_name_alone(self):
        for name in (OLD, NEW):
            self.assertEqual(
                ['{"vendor_id": "10de"}', '{"vendor_id": "8086"}'],
                self.rules('%s = {"vendor_id": "10de"}' % name,
                           '%s = {"vendor_id": "8086"}' % name))

    def test_both_together(self):
        """All entries count, those under the old name first."""
        lines = ('%s = {"vendor_id": "10de"}' % OLD,
                 '%s = {"vendor_id": "8086"}' % NEW)
        for order in (lines, lines[::-1]):
            self.assertEqual(
                ['{"vendor_id": "10de"}', '{"vendor_id": "8086"}'],
                self.rules(*order))

    def test_an_entry_over_several_lines(self):
        for name in (OLD, NEW):
            self.assertEqual(
                ['{"vendor_id": "10de", "managed": false}'],
                self.rules('%s = {"vendor_id": "10de",' % name,
                           '   "managed": false}'))

    def test_both_names_are_checked_alike(self):
        for name in (OLD, NEW):
            self.conf.load_files(self.write('%s = {"vendor": "1"}' % name))
            error = self.assertRaises(
                exception.PciConfigInvalidDeviceSpec, survey.configuration,
                CONF)
            self.assertIn('did you mean "vendor_id"?', error.message)

    def test_rpc_cap_applies_to_both(self):
        """RPC-1"""
        for name in (OLD, NEW):
            self.rules('%s = {"managed": true}' % name)
            self.conf.set(group='upgrade_levels', conductor='1.0')
            self.assertRaises(
                exception.ManagedModeUnsupported, survey.check_rpc_cap, CONF,
                survey.configuration(CONF).spec)

    def test_every_cap_through_init_host(self):
        """RPC-1: each value, each name, and the helper is what decides."""
        real = conductor_rpcapi.ConductorAPI.supports_object_indirection
        for name, value, (cap, permitted) in itertools.product(
                (OLD, NEW), ('true', 'false'), (
                    ('1.0', False), ('2026.2', False), ('1.1', True),
                    ('2027.1', True), (None, True))):
            self.conf.load_files(self.write(
                '%s = {"vendor_id": "10de"}' % name,
                '%s = {"managed": %s}' % (name, value),
                *(['[upgrade_levels]', 'conductor = ' + cap] if cap else ())))
            with mock.patch.object(
                    conductor_rpcapi.ConductorAPI,
                    'supports_object_indirection', autospec=True,
                    side_effect=real) as helper, (
                    mock.patch.object(survey.sysfs, 'scan')) as scan:
                if permitted:
                    driver.PCIDriver().init_host()
                else:
                    error = self.assertRaises(
                        exception.ManagedModeUnsupported,
                        driver.PCIDriver().init_host)
                    for part in ('managed-mode support', '1.1', cap,
                                 '[upgrade_levels] conductor'):
                        self.assertIn(part, error.message)
            self.assertEqual(1, helper.call_count, (name, value, cap))
            scan.assert_not_called()

    def test_no_helper_where_no_rule_sets_managed(self):
        """RPC-1"""
        for name in (OLD, NEW):
            self.rules('%s = {"vendor_id": "10de"}' % name)
            self.conf.set(group='upgrade_levels', conductor='1.0')
            with mock.patch.object(
                    conductor_rpcapi.ConductorAPI,
                    'supports_object_indirection') as helper:
                driver.PCIDriver().init_host()
            helper.assert_not_called()

    def test_exclude_list_counts_once(self):
        """In one file or several; the driver tells what it leaves out."""
        first, second = '0000:3b:00.0', '0000:3c:00.0'
        one = self.write('exclude_list = %s' % first,
                         'exclude_list = %s' % second)
        files = [self.write('exclude_list = %s' % first),
                 self.write('exclude_list = %s' % second)]
        for paths in ([one], files):
            self.conf.load_files(*paths)
            self.assertEqual(
                {second}, {str(address) for address in
                           survey.configuration(CONF).exclude})
            self.assertEqual([first], survey.overridden_exclusions(CONF))
            driver.PCIDriver().init_host()
            self.assertLogged(
                'WARNING', 'exclude_list of host compute-1 is given more '
                'than once, and only the last one counts: %s is not excluded'
                % first)
            self.logs.clear()
        for lines in (['exclude_list = %s,%s' % (first, second)], [],
                      ['exclude_list = %s' % first] * 2):
            self.conf.load_files(self.write(*lines))
            self.assertEqual([], survey.overridden_exclusions(CONF))

    def validate(self, *lines, arguments=()):
        """oslo-config-validator's exit status and what it printed.

        In a process of its own, since oslo.config says only once in a
        process that a name is deprecated.
        """
        done = subprocess.run(
            [sys.executable, '-W', 'ignore', '-m', 'oslo_config.validator',
             '--namespace', 'cyborg', '--input-file', self.write(*lines),
             *arguments], capture_output=True, text=True, timeout=300)
        return done.returncode, done.stdout + done.stderr

    def test_config_validator(self):
        self.assertEqual(0, self.validate(
            '%s = {"vendor_id": "10de"}' % NEW,
            'exclude_list = 0000:3b:00.0', arguments=['--fatal-warnings'])[0])
        status, text = self.validate('device_spek = {}')
        self.assertEqual(1, status)
        self.assertIn('pci/device_spek is not part of the sample config', text)

    def test_config_validator_and_the_old_name(self):
        """Deprecated, and still good."""
        line = '%s = {"vendor_id": "10de"}' % OLD
        status, text = self.validate(line)
        self.assertEqual(0, status, text)
        self.assertIn('Deprecated opt pci/%s found' % OLD, text)
        self.assertEqual(1, self.validate(
            line, arguments=['--fatal-warnings'])[0])

    def test_config_validator_and_both_names(self):
        """CFG-1: as with the old name alone, in either order."""
        lines = ('%s = {"vendor_id": "10de"}' % OLD,
                 '%s = {"vendor_id": "8086"}' % NEW)
        for order in (lines, lines[::-1]):
            status, text = self.validate(*order)
            self.assertEqual(0, status, text)
            self.assertIn('Deprecated opt pci/%s found' % OLD, text)
            self.assertNotIn('Deprecated opt pci/%s' % NEW, text)
            self.assertNotIn('not part of the sample config', text)
            self.assertEqual(1, self.validate(
                *order, arguments=['--fatal-warnings'])[0])

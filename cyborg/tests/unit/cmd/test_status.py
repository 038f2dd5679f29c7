# SPDX-License-Identifier: Apache-2.0

import os
import pathlib
from unittest import mock

from oslo_policy import opts
from oslo_upgradecheck import common_checks
from oslo_upgradecheck import upgradecheck
import testtools

from cyborg.cmd import status
from cyborg.conf import default
from cyborg.tests import base
from cyborg.tests.fixtures import sysfs as sysfs_fixture

Code = upgradecheck.Code
POLICY = pathlib.Path(default.PACKAGE_PARENT) / 'etc/cyborg/policy.yaml'


class PciChecksTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.host = self.useFixture(sysfs_fixture.SysfsTree())
        self.host.tree.add('0000:5e:00.0', 0x144d, 0xa808, 0x010802)
        self.conf.set(group='agent', enabled_drivers=['pci_driver'])

    def load(self, *lines):
        path = os.path.join(self.temp_dir(), 'cyborg.conf')
        with open(path, 'w') as stream:
            stream.write('\n'.join((
                '[pci]', 'sysfs_path = ' + self.host.path, *lines)))
        self.conf.load_files(path)

    def assertCheck(self, code, text, check):
        result = check()
        self.assertEqual((code, True), (
            result.code, text in (result.details or '')), result.details)

    def test_old_option_name(self):
        """CFG-1"""
        self.load('passthrough_whitelist = {}', 'device_spec = {}',
                  'passthrough_whitelist = {"vendor_id": "10de"}')
        self.assertCheck(
            Code.WARNING, '2 entries stand under the name [pci] '
            'passthrough_whitelist, which 2027.2 no longer knows. Rename the '
            'option to device_spec.', status.check_option_name)

    def test_new_option_name(self):
        self.load('device_spec = {}')
        self.assertCheck(Code.SUCCESS, '', status.check_option_name)

    def test_old_name_in_a_directory(self):
        self.load()
        folder = self.temp_dir()
        with open(os.path.join(folder, '1.conf'), 'w') as stream:
            stream.write('[pci]\npassthrough_whitelist = {}\n')
        status.CONF(['--config-dir', folder], project='cyborg',
                    default_config_files=[])
        self.assertCheck(Code.WARNING, '1 entries', status.check_option_name)

    def test_entries_that_no_longer_validate(self):
        """CFG-2, CFG-4, RPC-1: all of them"""
        self.load('passthrough_whitelist = {"vendor_id": "10de", '
                  '"physical_network": "net1"}', 'exclude_list = *')
        self.assertCheck(Code.FAILURE, 'key of Nova\'s option, without '
                         'meaning here, "physical_network"',
                         status.check_pci_options)
        self.assertCheck(Code.FAILURE, 'exclude_list of host compute-1 is '
                         'not valid', status.check_pci_options)
        self.load('device_spec = {"managed": true}', '[upgrade_levels]',
                  'conductor = 1.0')
        self.assertCheck(Code.FAILURE, 'managed-mode support needs',
                         status.check_pci_options)

    def test_valid_entries(self):
        self.load('device_spec = {"managed": true}')
        self.assertCheck(Code.SUCCESS, '', status.check_pci_options)

    def test_ssd_driver(self):
        """DSC-6"""
        self.load()
        self.assertCheck(Code.SUCCESS, '', status.check_ssd_driver)
        self.conf.set(group='agent',
                      enabled_drivers=['inspur_nvme_ssd_driver'])
        self.assertCheck(Code.FAILURE, 'allow_unsafe_devices = true',
                         status.check_ssd_driver)
        self.conf.set(group='workarounds', allow_unsafe_devices=True)
        self.assertCheck(Code.WARNING, 'deprecated', status.check_ssd_driver)

    def test_selected_nvme_devices(self):
        """DSC-4"""
        self.load('device_spec = {}')
        self.assertCheck(Code.FAILURE, 'Device 0000:5e:00.0 of host '
                         'compute-1 is selected', status.check_pci_devices)
        self.conf.set(group='workarounds', allow_unsafe_devices=True)
        self.assertCheck(Code.SUCCESS, '', status.check_pci_devices)

    def test_devices_that_are_not_selected(self):
        for lines in ((), ('device_spec = {}', 'exclude_list = 0000:5e:00.0'),
                      ('device_spec = {"vendor_id": "10de"}',)):
            self.load(*lines)
            self.assertCheck(Code.SUCCESS, '', status.check_pci_devices)

    def test_only_where_the_driver_is_enabled(self):
        self.load('device_spec = {}')
        self.conf.set(group='agent', enabled_drivers=['fake_driver'])
        self.assertCheck(Code.SUCCESS, 'not enabled',
                         status.check_pci_devices)

    def test_a_directory_that_may_not_be_looked_into(self):
        """oslo.config takes it for an empty one."""
        self.load()
        self.assertCheck(Code.SUCCESS, '', status.check_files)
        folder = self.temp_dir()
        status.CONF(['--config-dir', folder], project='cyborg',
                    default_config_files=[])
        with mock.patch.object(os, 'access', return_value=False):
            self.assertCheck(
                Code.FAILURE, 'Failed to open some config files: %s. Run '
                'this as the user of the services.' % folder,
                status.check_files)

    def test_wrong_options_are_told_once(self):
        self.load('device_spec = oops')
        self.assertCheck(Code.SUCCESS, 'Not looked at',
                         status.check_pci_devices)

    def test_no_sysfs(self):
        self.load('device_spec = {}', 'sysfs_path = /nowhere')
        self.assertCheck(Code.FAILURE, 'cannot be listed in /nowhere',
                         status.check_pci_devices)

    def test_a_compute_host_has_no_database(self):
        """BASE-4"""
        self.load()
        self.assertCheck(Code.SUCCESS, 'No [database] connection',
                         status.check_device_state)


class PolicyFileTest(base.TestCase):

    @testtools.skipUnless(POLICY.is_file(), 'only in a clone')
    def test_the_shipped_file_is_yaml(self):
        """BASE-1: an upgrade is not held up by what we install"""
        opts.set_defaults(status.CONF)
        self.conf.set(group='oslo_policy', policy_file=str(POLICY))
        result = common_checks.check_policy_json(None, status.CONF)
        self.assertEqual(Code.SUCCESS, result.code, result.details)

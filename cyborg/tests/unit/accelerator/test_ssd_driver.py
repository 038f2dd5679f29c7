# SPDX-License-Identifier: Apache-2.0

import json
import shutil

import fixtures

from cyborg.accelerator import exceptions
from cyborg.accelerator.drivers.pci.pci import driver as pci_driver
from cyborg.accelerator.drivers.ssd import base as ssd_base
from cyborg.accelerator.drivers.ssd.inspur import driver
from cyborg.common import exception
from cyborg.tests import base
from cyborg.tests.fixtures import sysfs as sysfs_fixture

NVME = 0x010802


class SSDDriverTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.host = self.useFixture(sysfs_fixture.SysfsTree())
        self.conf.set(group='pci', sysfs_path=self.host.path)
        self.useFixture(fixtures.MonkeyPatch('cyborg.pci.ids.PATHS', ()))

    def allow(self, value=True):
        self.conf.set(group='workarounds', allow_unsafe_devices=value)

    def test_refused_without_the_workaround(self):
        """DSC-6: even with no device present"""
        error = self.assertRaises(
            exception.UnsafeDriverRefused, driver.InspurNVMeSSDDriver)
        self.assertEqual(
            'The driver inspur_nvme_ssd_driver of host compute-1 is '
            'deprecated and does not clean devices between users, so it is '
            'refused. Remove it from [agent] enabled_drivers or, when all '
            'users of the devices trust each other, set [workarounds] '
            'allow_unsafe_devices = true.', error.message)
        self.assertIsInstance(error, exception.ConfigInvalid)

    def test_loading_logs_its_deprecation(self):
        """DSC-9"""
        self.allow()
        driver.InspurNVMeSSDDriver()
        self.assertEqual(
            ['The driver inspur_nvme_ssd_driver is deprecated since 2027.1: '
             'it does not clean devices between users. A driver for NVMe '
             'devices that cleans them will replace it.'],
            self.logs.messages('WARNING'))

    def test_every_device_is_stateful_and_warned_about_once(self):
        """DSC-6, DSC-7: with the very warning of the PCI driver"""
        self.allow()
        self.host.tree.add('0000:5f:00.0', 0x1bd4, 0x1003, NVME, numa_node=0)
        self.host.tree.add('0000:60:00.0', 0x144d, 0xa808, NVME)
        found = driver.InspurNVMeSSDDriver()
        for _cycle in range(2):
            device, = found.discover()
        handle = device.deployable_list[0].attach_handle_list[0]
        self.assertEqual(
            {'bus': '5f', 'device': '00', 'domain': '0000', 'function': '0',
             'numa_node': 0, 'stateful': True},
            json.loads(handle.attach_info))
        self.assertEqual('Device', device.model)
        unsafe = [m for m in self.logs.messages('WARNING') if 'UNSAFE' in m]
        self.assertEqual(1, len(unsafe))

        self.conf.set(group='pci',
                      device_spec=['{"vendor_id": "1bd4"}'])
        pci_driver.PCIDriver().discover()
        other = [m for m in self.logs.messages('WARNING') if 'UNSAFE' in m][1]
        self.assertEqual(unsafe[0], other.replace(
            'pci_driver', 'inspur_nvme_ssd_driver'))

    def test_exclude_list_is_the_pci_drivers(self):
        self.allow()
        self.conf.set(group='pci', exclude_list=['0000:5f:00.0'])
        self.host.tree.add('0000:5f:00.0', 0x1bd4, 0x1003, NVME)
        self.assertEqual(1, len(driver.InspurNVMeSSDDriver().discover()))

    def test_vmd_and_bad_devices(self):
        """DSC-8, DSC-10"""
        self.allow()
        for where in ('10000:e1:00.0', '0000:5f:00.0', '0000:60:00.0'):
            self.host.tree.add(where, 0x1bd4, 0x1003, NVME)
        self.host.tree.write('0000:5f:00.0', 'class', b'')
        found = driver.InspurNVMeSSDDriver()
        for _cycle in range(2):
            self.assertEqual(
                ['compute-1_0000:60:00.0'],
                [d.deployable_list[0].name for d in found.discover()])
        for level, text in (('INFO', '10000:e1:00.0 of host compute-1 is not '
                             'offered'), ('WARNING', "class holds ''")):
            self.assertEqual(1, len([m for m in self.logs.messages(level)
                                     if text in m]))

    def test_no_sysfs(self):
        self.allow()
        found = driver.InspurNVMeSSDDriver()
        shutil.rmtree(self.host.path)
        self.assertRaises(exceptions.HostDevicesUnreadable, found.discover)

    def test_the_class_decides(self):
        """drv-26"""
        self.allow()
        self.host.tree.add('0000:5f:00.0', 0x1bd4, 0x1003, 0x010400)
        self.assertEqual([], driver.InspurNVMeSSDDriver().discover())

    def test_create(self):
        self.allow()
        for vendor in ('1bd4', 'inspur'):
            self.assertIsInstance(ssd_base.SSDDriver.create(vendor),
                                  driver.InspurNVMeSSDDriver)
        self.assertIs(ssd_base.SSDDriver, type(ssd_base.SSDDriver.create()))
        self.assertRaises(LookupError, ssd_base.SSDDriver.create, '8086')

    def test_discover_vendors(self):
        self.host.tree.add('0000:5f:00.0', 0x1bd4, 0x1003, NVME)
        self.host.tree.add('0000:60:00.0', 0x8086, 0x1533, 0x020000)
        self.assertEqual({'1bd4'}, ssd_base.SSDDriver.discover_vendors())

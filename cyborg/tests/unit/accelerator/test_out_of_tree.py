# SPDX-License-Identifier: Apache-2.0
"""What a driver written for 2026.2 imports and gets (BASE-1)."""

import os

from cyborg.accelerator.common import exception as accelerator_exception
from cyborg.accelerator.common import utils
from cyborg.accelerator.drivers import driver
from cyborg.accelerator.drivers import fake
from cyborg.accelerator.drivers.pci import base as pci_base
from cyborg.common import exception
from cyborg.tests import base
from cyborg.tests.fixtures import sysfs as sysfs_fixture


class OldDriver(driver.GenericDriver):

    def discover(self):
        return []

    def update(self, control_path, image_path):
        return True

    def get_stats(self):
        return {}


class BaseClassTest(base.TestCase):

    def test_an_old_driver_has_all_methods(self):
        old = OldDriver()
        self.assertIsNone(old.init_host())
        self.assertIsNone(old.cleanup(object()))
        self.assertEqual([], old.discover())
        self.assertRaises(NotImplementedError, old.program, None, '/image')

    def test_discover_is_required(self):
        self.assertRaises(TypeError, driver.GenericDriver)
        self.assertRaises(TypeError, pci_base.PciDriver)

    def test_fake_driver(self):
        self.assertTrue(fake.FakeDriver().update('path', 'image'))
        self.assertEqual({}, fake.FakeDriver().get_stats())

    def test_fake_driver_under_a_dotted_host_name(self):
        self.conf.set(host='compute-1.example.org')
        device, = fake.FakeDriver().discover()
        self.assertEqual('compute-1_example_org_FakeDevice',
                         device.deployable_list[0].name)

    def test_exceptions(self):
        self.assertTrue(issubclass(accelerator_exception.InvalidAccelerator,
                                   exception.CyborgException))


class UtilsTest(base.TestCase):

    def test_addresses(self):
        self.assertEqual(('0000', '3B', '00', '0'),
                         utils.parse_address('0000:3B:00.0'))
        self.assertEqual('{"bus": "3b", "device": "00", "domain": "0000", '
                         '"function": "0"}',
                         utils.pci_str_to_json('0000:3b:00.0'))
        self.assertEqual('{"bus": "3b", "device": "00", "domain": "0000", '
                         '"function": "0", "physical_network": "physnet1"}',
                         utils.pci_str_to_json('0000:3b:00.0', 'physnet1'))
        self.assertEqual('{"asked_type": "nvidia-35", "bus": "3b", "device": '
                         '"00", "domain": "0000", "function": "0", '
                         '"vgpu_mark": "m1"}', utils.mdev_str_to_json(
                             '0000:3b:00.0', 'nvidia-35', 'm1'))

    def test_what_is_no_address(self):
        for text in ('3b:00.0', 'garbage', '', '0000:3b:00.g'):
            error = self.assertRaises(
                exception.PciDeviceWrongAddressFormat,
                utils.pci_str_to_json, text)
            self.assertEqual(
                '%s is not a PCI address: write domain:bus:slot.function in '
                'hexadecimal, for example 0000:3b:00.0.' % text,
                error.message)

    def test_mappings(self):
        self.assertEqual({'a': {'b'}, 'c': {'d', 'e'}, 'f': set()},
                         utils.parse_mappings(['a:b|', ' c : d|e', 'f:']))
        for bad in (['a'], [''], [':b'], ['a:b', 'a:c']):
            self.assertRaises(ValueError, utils.parse_mappings, bad)

    def test_vendor_map_is_a_copy(self):
        utils.get_vendor_maps().clear()
        self.assertEqual('intel', utils.get_vendor_maps()['8086'])

    def test_devices_of_the_host(self):
        host = self.useFixture(sysfs_fixture.SysfsTree())
        host.tree.add('0000:5f:00.0', 0x1bd4, 0x1003, 0x010802)
        self.conf.set(group='pci', sysfs_path=host.path)
        found, = utils.get_pci_devices()
        self.assertEqual(
            ('0000:5f:00.0', 'Non-Volatile memory controller', '0108',
             '1bd4', '1003'),
            tuple(found[key] for key in (
                'address', 'class_name', 'class_id', 'vendor_id',
                'device_id')))

    def test_interface_of_a_function(self):
        host = self.useFixture(sysfs_fixture.SysfsTree())
        host.tree.add('0000:3b:00.0', 0x8086, 0x1572, 0x020000, totalvfs=2)
        host.tree.add('0000:3b:00.1', 0x8086, 0x154c, 0x020000,
                      physfn='0000:3b:00.0')
        host.tree.net('0000:3b:00.0', 'ens1f0')
        self.conf.set(group='pci', sysfs_path=host.path)
        self.assertEqual('ens1f0',
                         utils.get_ifname_by_pci_address('0000:3b:00.0'))
        self.assertEqual('ens1f0', utils.get_ifname_by_pci_address(
            '0000:3b:00.1', vf_interface=True))
        self.assertRaises(exception.PciDeviceNotFoundById,
                          utils.get_ifname_by_pci_address, '0000:3b:00.1')
        self.assertTrue(os.path.isdir(host.path))

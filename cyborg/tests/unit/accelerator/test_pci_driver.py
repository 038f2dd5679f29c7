# SPDX-License-Identifier: Apache-2.0

import json
import os
import random
import shutil

from cyborg.accelerator import exceptions
from cyborg.accelerator.drivers.pci.pci import driver
from cyborg.agent import discovery
from cyborg.agent import loading
from cyborg.common import exception
from cyborg.tests import base
from cyborg.tests.fixtures import sysfs as sysfs_fixture


def handles(devices):
    """Attach info by address."""
    found = {}
    for device in devices:
        handle = device.deployable_list[0].attach_handle_list[0]
        name = device.deployable_list[0].name.partition('_')[2]
        found[name] = json.loads(handle.attach_info)
    return found


class DriverTestCase(base.TestCase):

    def setUp(self):
        super().setUp()
        self.host = self.useFixture(sysfs_fixture.SysfsTree())
        self.tree = self.host.tree
        self.conf.set(group='pci', sysfs_path=self.host.path)

    def configure(self, *specs, exclude=(), unsafe=False):
        self.conf.set(group='pci', device_spec=list(specs),
                      exclude_list=list(exclude))
        self.conf.set(group='workarounds', allow_unsafe_devices=unsafe)

    def start(self):
        found = driver.PCIDriver()
        found.init_host()
        return found

    def add(self, where='0000:3b:00.0', code=0x030200, **facts):
        """Each in an IOMMU group of its own, if not told otherwise."""
        facts.setdefault('iommu_group', int(where.translate(
            str.maketrans('', '', ':.')), 16))
        self.tree.add(where, 0x10de, 0x1eb8, code, **facts)

    def warnings(self):
        return self.logs.messages('WARNING')


class AttachInfoTest(DriverTestCase):
    """DSC-7"""

    def info(self):
        return self.start().discover()[0].deployable_list[
            0].attach_handle_list[0].attach_info

    def test_the_text_of_2026_2_when_nothing_applies(self):
        self.add()
        self.configure('{}')
        self.assertEqual('{"bus": "3b", "device": "00", "domain": "0000", '
                         '"function": "0"}', self.info())

    def test_everything(self):
        self.add(code=0x010802, numa_node=0)
        self.configure('{"managed": "false"}', unsafe=True)
        text = self.info()
        self.assertEqual(
            '{"bus": "3b", "device": "00", "domain": "0000", "function": '
            '"0", "managed": false, "numa_node": 0, "stateful": true}', text)
        self.assertLessEqual(len(text), 255)

    def test_explicit_true_is_written(self):
        self.add(numa_node=1)
        self.configure('{"managed": true}')
        self.assertEqual(
            '{"bus": "3b", "device": "00", "domain": "0000", "function": '
            '"0", "managed": true, "numa_node": 1}', self.info())

    def test_the_control_path_never_has_settings(self):
        self.add(numa_node=1)
        self.configure('{"managed": false}')
        device, = self.start().discover()
        self.assertEqual('{"bus": "3b", "device": "00", "domain": "0000", '
                         '"function": "0"}', device.controlpath_id.cpid_info)

    def test_specification_example(self):
        self.tree.add('0000:25:00.4', 0x10de, 0x25b6, 0x030200)
        self.configure('{"vendor_id": "10de", "product_id": "25b6",\n'
                       '"address": "0000:25:00.4", "managed": false}')
        self.assertEqual(
            {'0000:25:00.4': {'domain': '0000', 'bus': '25', 'device': '00',
                              'function': '4', 'managed': False}},
            handles(self.start().discover()))


class StartTest(DriverTestCase):

    def test_all_entries_are_checked_before_init_host_returns(self):
        """CFG-2"""
        self.configure('{"vendor": "10de"}', '{"address": "0000:3b:00.9"}')
        error = self.assertRaises(
            exception.PciConfigInvalidDeviceSpec, self.start)
        self.assertEqual(
            '[pci] device_spec of host compute-1 is not valid:\n'
            'entry 1, {"vendor": "10de"}: at $.vendor: unknown key "vendor" '
            '(valid: vendor_id, product_id, address, devname, managed), did '
            'you mean "vendor_id"?\n'
            'entry 2, {"address": "0000:3b:00.9"}: at $.address: function '
            "'9' is larger than 7", error.message)
        self.assertIsInstance(error, exception.ConfigInvalid)

    def test_a_driver_without_init_host_checks_too(self):
        """The 2026.2 agent calls nothing but discover()."""
        self.configure('oops')
        self.assertRaises(exception.PciConfigInvalidDeviceSpec,
                          driver.PCIDriver().discover)

    def test_exclude_list(self):
        """CFG-4"""
        self.configure(exclude=['0000:3b:00.0', '3b:00.0'])
        error = self.assertRaises(
            exception.PciConfigInvalidExcludeList, self.start)
        self.assertEqual(
            '[pci] exclude_list of host compute-1 is not valid: entry 2, '
            '"3b:00.0": write all four parts, domain:bus:slot.function, for '
            'example 0000:3b:00.0. Each entry is one complete address, '
            'domain:bus:slot.function, for example 0000:3b:00.0.',
            error.message)

    def test_every_bad_exclusion_is_told(self):
        self.configure(exclude=['*', '0000:3b:00.0', '0000:3b:00.8'])
        error = self.assertRaises(
            exception.PciConfigInvalidExcludeList, self.start)
        self.assertIn('entry 1, "*": patterns are', error.message)
        self.assertIn('\n', error.message)
        self.assertIn('entry 3, "0000:3b:00.8": function 8', error.message)

    def test_capped_rpc_and_managed(self):
        """RPC-1: either value, before any device is looked at."""
        shutil.rmtree(self.host.path)
        for cap in ('1.0', '2026.2'):
            self.conf.set(group='upgrade_levels', conductor=cap)
            for value in ('true', 'false', '"False"'):
                self.configure('{}', '[{"managed": %s}]' % value)
                error = self.assertRaises(
                    exception.ManagedModeUnsupported, self.start)
                self.assertEqual(
                    '[pci] device_spec of host compute-1 sets "managed", and '
                    'managed-mode support needs conductor RPC version 1.1, '
                    'but [upgrade_levels] conductor caps it at %s. Upgrade '
                    'every conductor, then remove the cap.' % cap,
                    error.message)

    def test_caps_that_permit(self):
        self.configure('{"managed": false}')
        for cap in (None, '1.1', '2027.1'):
            self.conf.set(group='upgrade_levels', conductor=cap)
            self.start()

    def test_a_cap_matters_only_for_managed(self):
        self.conf.set(group='upgrade_levels', conductor='1.0')
        self.configure('{}')
        self.start()

    def test_an_unusable_cap(self):
        """CFG-6"""
        self.conf.set(group='upgrade_levels', conductor='newest')
        self.configure('{"managed": true}')
        self.assertRaises(exception.UpgradeLevelInvalid, self.start)

    def test_nothing_is_reloaded(self):
        """CFG-7"""
        self.add()
        self.configure('{}')
        started = self.start()
        self.configure(unsafe=True)
        self.assertEqual(1, len(started.discover()))

    def test_no_rule_at_all_is_told_once(self):
        """B01: a mistyped name of the option looks like this."""
        self.add()
        self.configure()
        started = self.start()
        for _cycle in range(2):
            self.assertEqual([], started.discover())
        self.assertEqual(
            ['[pci] device_spec of host compute-1 is empty: pci_driver '
             'offers no device'], self.warnings())

    def test_a_repeated_key_is_told(self):
        self.configure('{"vendor_id": "10de", "vendor_id": "8086"}')
        self.start()
        self.assertLogged('WARNING', '[pci] device_spec of host compute-1: '
                          'entry 1, {"vendor_id": "10de", "vendor_id": '
                          '"8086"}: the key "vendor_id" is given twice')


class DiscoverTest(DriverTestCase):

    def test_class_of_a_selected_device(self):
        """DSC-4"""
        self.add('0000:5e:00.0', 0x010802)
        self.add('0000:3b:00.0')
        self.configure('{}')
        started = self.start()
        error = self.assertRaises(
            exception.UnsafeDeviceRefused, started.discover)
        self.assertEqual(
            'Device 0000:5e:00.0 of host compute-1 is selected for the driver '
            'pci_driver but has the PCI class 0108 (Non-Volatile memory '
            'controller), which that driver cannot clean. Exclude it with '
            '[pci] exclude_list = 0000:5e:00.0, narrow [pci] device_spec or, '
            'when all users of the device trust each other, set '
            '[workarounds] allow_unsafe_devices = true.', error.message)
        self.assertIsInstance(error, exception.ConfigInvalid)

    def test_several_of_them(self):
        for where in ('0000:5e:00.0', '0000:5f:00.0'):
            self.add(where, 0x010802)
        self.configure('{}')
        error = self.assertRaises(
            exceptions.UnsafeDevicesRefused, self.start().discover)
        self.assertEqual(
            '2 devices of host compute-1 are selected for the driver '
            'pci_driver but have a PCI class which that driver cannot clean: '
            '0000:5e:00.0 (class 0108, Non-Volatile memory controller), '
            '0000:5f:00.0 (class 0108, Non-Volatile memory controller). Add '
            'them to [pci] exclude_list (0000:5e:00.0,0000:5f:00.0), narrow '
            '[pci] device_spec or, when all users of the devices trust each '
            'other, set [workarounds] allow_unsafe_devices = true.',
            error.message)

    def test_not_selected_or_excluded_raises_nothing(self):
        """DSC-2"""
        self.add('0000:5e:00.0', 0x010802)
        self.configure('{"vendor_id": "8086"}')
        self.assertEqual([], self.start().discover())
        self.configure('{}', exclude=['0000:5e:00.0'])
        self.assertEqual([], self.start().discover())

    def test_admitted_with_a_warning_once(self):
        """DSC-5"""
        self.add('0000:5e:00.0', 0x010802)
        self.configure('{}', unsafe=True)
        started = self.start()
        for _cycle in range(3):
            self.assertTrue(handles(
                started.discover())['0000:5e:00.0']['stateful'])
        self.assertEqual(
            ['UNSAFE DEVICE: 0000:5e:00.0 of host compute-1 is handed out by '
             'pci_driver, which cannot clean it between users: a guest can '
             'read what earlier guests left on it. [workarounds] '
             'allow_unsafe_devices admits it, and the operator answers for '
             'every multi-tenancy issue that follows.'], self.warnings())
        self.start().discover()
        self.assertEqual(2, len(self.warnings()))

    def test_workaround_is_not_announced_without_such_a_device(self):
        self.add()
        self.configure('{}', unsafe=True)
        self.start().discover()
        self.assertEqual([], self.warnings())

    def test_bad_device_is_told_once_and_when_it_is_back(self):
        """DSC-10"""
        self.add()
        self.add('0000:3c:00.0')
        self.configure('{}')
        started = self.start()
        self.tree.write('0000:3b:00.0', 'vendor', b'\xff')
        for _cycle in range(3):
            self.assertEqual(['0000:3c:00.0'],
                             list(handles(started.discover())))
        self.assertEqual(
            [r"PCI device 0000:3b:00.0 of host compute-1 cannot be read and "
             r"counts as missing: vendor holds '\\xff'"], self.warnings())
        self.tree.write('0000:3b:00.0', 'vendor', b'0x10de')
        self.assertEqual(2, len(started.discover()))
        self.assertLogged('INFO', 'PCI device 0000:3b:00.0 of host compute-1 '
                          'is readable again')

    def test_no_sysfs_is_no_empty_report(self):
        """MIS-7"""
        self.configure('{}')
        shutil.rmtree(os.path.join(self.host.path, 'bus'))
        error = self.assertRaises(
            exceptions.HostDevicesUnreadable, self.start().discover)
        self.assertEqual(
            'The PCI devices of host compute-1 cannot be listed in '
            '%s/bus/pci/devices: No such file or directory. Check [pci] '
            'sysfs_path.' % self.host.path, error.message)
        # Not a fault of the configuration: the mount may come back.
        self.assertNotIsInstance(error, exception.ConfigInvalid)

    def test_vmd_domain(self):
        """DSC-8, B04: one line, and the others are reported."""
        self.add('10000:e1:00.0', 0x010802)
        self.add()
        self.configure('{}')
        started = self.start()
        for _cycle in range(2):
            self.assertEqual(['0000:3b:00.0'],
                             list(handles(started.discover())))
        self.assertEqual(
            ['PCI device 10000:e1:00.0 of host compute-1 is not offered: '
             'neither libvirt nor Nova can address a PCI domain above ffff'],
            self.logs.messages('INFO'))

    def test_exclusion_of_nothing_is_told_once(self):
        self.add()
        self.configure('{}', exclude=['0000:07:00.0', '0000:3b:00.0'])
        started = self.start()
        for _cycle in range(2):
            started.discover()
        self.assertEqual(
            ['[pci] exclude_list of host compute-1 names 0000:07:00.0, and '
             'the host has no such device'], self.logs.messages('INFO'))

    def test_advice_is_given_once_for_each_device(self):
        self.add()
        self.tree.net('0000:3b:00.0', 'eth0', default_route=True)
        self.add('0000:3c:00.0')
        self.configure('{"managed": false}')
        started = self.start()
        for _cycle in range(2):
            self.assertEqual(2, len(started.discover()))
        self.assertEqual(
            ['PCI device 0000:3b:00.0 of host compute-1 is offered, but: '
             'managed=false leaves its binding as it is, but it is bound to '
             'no driver: a guest cannot start with it',
             'PCI device 0000:3b:00.0 of host compute-1 is offered, but: it '
             'carries the default route of the host (eth0)',
             'PCI device 0000:3c:00.0 of host compute-1 is offered, but: '
             'managed=false leaves its binding as it is, but it is bound to '
             'no driver: a guest cannot start with it'], self.warnings())

    def test_advice_comes_again_when_its_reason_does(self):
        """As for devices that cannot be read."""
        self.add(driver='vfio-pci', module='vfio_pci')
        self.tree.depend('vfio_pci_core', 'vfio_pci')
        self.configure('{"managed": false}')
        started = self.start()
        for name in ('vfio-pci', 'nouveau', 'nouveau', 'vfio-pci',
                     'nouveau'):
            self.tree.bind('0000:3b:00.0', name)
            started.discover()
        self.assertEqual(2, len([text for text in self.warnings()
                                 if 'nouveau does not provide' in text]))

    def test_what_hangs_below_is_checked(self):
        """DSC-4, f08: it goes to the guest as well."""
        self.tree.add('0000:3a:00.0', 0x8086, 0x201d, 0x010400)
        self.tree.add('10001:01:00.0', 0x8086, 0x0a54, 0x010802,
                      parent='0000:3a:00.0')
        self.configure('{"product_id": "201d"}')
        error = self.assertRaises(exception.UnsafeDeviceRefused,
                                  self.start().discover)
        self.assertEqual(
            'Device 0000:3a:00.0 of host compute-1 is selected for the '
            'driver pci_driver, and 10001:01:00.0, which hangs below it and '
            'goes to the guest with it, has the PCI class 0108 (Non-Volatile '
            'memory controller), which that driver cannot clean. Exclude it '
            'with [pci] exclude_list = 0000:3a:00.0, narrow [pci] '
            'device_spec or, when all users of the device trust each other, '
            'set [workarounds] allow_unsafe_devices = true.', error.message)

    def test_advice_in_other_words_is_not_given_again(self):
        """Each further VF changes the words."""
        self.add(totalvfs=4)
        self.configure('{"product_id": "1eb8"}')
        started = self.start()
        for function in (1, 2, 3):
            self.tree.add('0000:3b:00.%d' % function, 0x10de, 0x1eb9,
                          0x030200, physfn='0000:3b:00.0')
            self.assertEqual(1, len(started.discover()))
        warned, = [text for text in self.warnings()
                   if 'physical function' in text]
        self.assertIn('with 1 virtual functions enabled', warned)

    def test_a_host_without_iommu_is_told_of_once(self):
        """DSC-11, f06"""
        for where in ('0000:3b:00.0', '0000:3c:00.0'):
            self.add(where, iommu_group=None)
        self.configure('{"vendor_id": "8086"}')
        self.start().discover()
        self.assertEqual([], self.warnings())  # nothing is offered
        self.configure('{}')
        started = self.start()
        for _report in range(2):
            self.assertEqual(2, len(started.discover()))
        self.assertEqual(
            ['pci_driver of host compute-1 offers 2 devices, but: no PCI '
             'device of the host is in an IOMMU group, so no guest can start '
             'with any of them: switch the IOMMU on in the firmware (VT-d, '
             'AMD-Vi, SMMU) and in the kernel (such as intel_iommu=on)'],
            self.warnings())

    def test_bridges_and_idle_rules_are_told_of_once(self):
        """DSC-11, f05, f12: neither is a trouble of itself."""
        self.add('0000:3b:00.0', code=0x060400)
        self.add('0000:3c:00.0')
        self.configure('{"vendor_id": "10de"}', '{"devname": "eth9"}')
        started = self.start()
        for _report in range(2):
            self.assertEqual(['0000:3c:00.0'],
                             list(handles(started.discover())))
        self.assertEqual([], self.warnings())
        self.assertEqual(
            ['device_spec entry 2 of host compute-1 matches no device of the '
             'host: {"devname": "eth9"} (or a guest has the device, and the '
             'interface with it)',
             'PCI device 0000:3b:00.0 of host compute-1 is not offered: it is '
             'a bridge, which VFIO takes for no guest'],
            self.logs.messages('INFO'))

    def test_devices_come_and_go(self):
        """B14, B22, B30"""
        self.add(totalvfs=4)
        self.add('0000:41:00.0')
        self.configure('{}')
        started = self.start()
        self.assertEqual(2, len(started.discover()))
        self.add('0000:3b:00.1', physfn='0000:3b:00.0')
        self.assertEqual(['0000:3b:00.1', '0000:41:00.0'],
                         list(handles(started.discover())))
        self.tree.remove('0000:41:00.0')
        self.assertEqual(['0000:3b:00.1'],
                         list(handles(started.discover())))

    def test_a_replaced_device_is_reported_as_it_is(self):
        """DSC-7: what stays is taken over from the report before."""
        self.add(numa_node=0)
        self.add('0000:41:00.0')
        self.configure('{}')
        started = self.start()
        first, kept = started.rediscover()
        again, kept_again = started.rediscover()
        self.assertIs(first, again)
        self.tree.remove('0000:3b:00.0')
        self.tree.add('0000:3b:00.0', 0x8086, 0x154c, 0x020000, numa_node=1)
        replaced, kept_again = started.rediscover()
        self.assertIs(kept, kept_again)
        self.assertEqual(('8086', '154c', 'INTEL', 1), (
            replaced.vendor, replaced.model,
            replaced.deployable_list[0].driver_name,
            handles([replaced])['0000:3b:00.0']['numa_node']))
        self.assertEqual('10de', first.vendor)
        self.tree.remove('0000:3b:00.0')
        self.assertEqual([kept], started.rediscover())
        self.add(numa_node=0)
        self.assertEqual(first.obj_to_primitive(),
                         started.rediscover()[0].obj_to_primitive())

    def test_a_rule_that_decides_anew_for_an_unchanged_device(self):
        """DSC-7: the interface, which a rule names, gets a new name."""
        self.tree.add('0000:3b:02.0', 0x8086, 0x154c, 0x020000)
        self.tree.net('0000:3b:02.0', 'eth0')
        self.configure('{"devname": "eth1", "managed": false}',
                       '{"product_id": "154c"}')
        started = self.start()
        self.assertNotIn('managed', handles(started.rediscover())[
            '0000:3b:02.0'])
        os.unlink(os.path.join(self.host.path, 'class/net/eth0'))
        self.tree.net('0000:3b:02.0', 'eth1')
        self.assertIs(False, handles(started.rediscover())[
            '0000:3b:02.0']['managed'])

    def test_what_a_caller_changes_is_not_reported_again(self):
        """BASE-1: a driver made of this one may edit what it gets."""
        self.add()
        self.add('0000:41:00.0')
        self.configure('{}')

        class Renaming(driver.PCIDriver):

            def discover(self):
                found = super().discover()
                for device in found:
                    device.model += '-special'
                    device.deployable_list[0].attribute_list[1].value += '_X'
                return found

        drivers = [loading.LoadedDriver('pci_driver', Renaming())]
        for _report in range(3):
            for device in discovery.discover(drivers).devices:
                self.assertEqual(
                    ('1eb8-special', 'OWNER_CYBORG_X'), (
                        device.model,
                        device.deployable_list[0].attribute_list[1].value))
        plain = [loading.LoadedDriver('pci_driver', self.start())]
        self.assertEqual(['1eb8', '1eb8'], [
            device.model for device in discovery.discover(plain).devices])
        self.assertIs(*(discovery.discover(plain).devices[0]
                        for _report in 'ab'))
        self.assertIsNot(*(plain[0].driver.discover()[0]
                           for _report in 'ab'))

    def test_a_long_running_driver_reports_as_a_new_one(self):
        """DSC-7: whatever a host goes through."""
        draw = random.Random(20)
        where = ['0000:3b:00.%d' % number for number in range(4)]
        self.configure('{"vendor_id": "8086", "managed": false}',
                       '{"vendor_id": "10de"}', unsafe=True)
        started, present = self.start(), set()
        for _change in range(60):
            address = draw.choice(where)
            if address in present:
                self.tree.remove(address)
            # A present one goes, or another one takes its place at once.
            if address not in present or draw.random() < 0.7:
                present.add(address)
                self.tree.add(
                    address, draw.choice((0x10de, 0x8086, 0x1af4)),
                    draw.choice((0x154c, 0x1eb8)),
                    draw.choice((0x010802, 0x020000)),
                    numa_node=draw.choice((-1, 0, 1)),
                    driver=draw.choice((None, 'vfio-pci')))
            else:
                present.remove(address)
            self.assertEqual(
                [device.obj_to_primitive()
                 for device in self.start().discover()],
                [device.obj_to_primitive()
                 for device in started.rediscover()])

    def test_captured_host(self):
        """A real host: igb VFs by their addresses, NVMe VFs by their ids."""
        host = self.useFixture(sysfs_fixture.SysfsTree('sriov-on'))
        self.conf.set(group='pci', sysfs_path=host.path)
        self.configure('{"address": "0000:21:10.*", "managed": false}',
                       '{"vendor_id": "1af4", "product_id": "1041"}')
        found = handles(self.start().discover())
        self.assertEqual(
            {'0000:21:10.0': False, '0000:21:10.2': False,
             '0000:41:00.1': None,
             '0000:41:00.2': None, '0000:41:00.3': None},
            {where: info.get('managed') for where, info in found.items()})
        self.assertEqual({0, 1}, {i['numa_node'] for i in found.values()})

# SPDX-License-Identifier: Apache-2.0
"""What the vendor drivers take from the database, since a guest hides it.

And what a host can hold: nothing of it ends a report.
"""

import dataclasses
import json
import os
import random
import shutil

import hypothesis
from hypothesis import strategies
from oslo_utils import importutils

from cyborg.agent import holdings
from cyborg.inventory import plan as planner
from cyborg.inventory import values
from cyborg.objects import inventory_values
from cyborg.tests import base
from cyborg.tests.fixtures import recorded
from cyborg.tests.unit.accelerator import test_stored_rows
from cyborg.tests.unit.accelerator import test_vendor_cases
from cyborg.tests.unit.inventory import builders

BASE = 'cyborg.accelerator.drivers.'


def made(name: str):
    return importutils.import_object(BASE + test_vendor_cases.DRIVERS[name])


class MemoryTestCase(base.TestCase):

    def start(self, case_id: str):
        """The host and the driver of a case."""
        case = recorded.cases()[case_id]
        self.host = self.useFixture(recorded.RecordedHost(self.conf, case))
        self.driver = made(case['driver'])
        self.driver.init_host()

    def discover(self, stored=None):
        if stored is not None:
            self.driver.hold(holdings.of(stored))
            self.driver.recall(stored)
        return inventory_values.discovered_devices(self.driver.discover())

    def stored(self, found, **options):
        """What a report of ``found`` leaves in the database."""
        return values.PersistedHost('compute-1', tuple(
            builders.stored(device, number, **options)
            for number, device in enumerate(found, 1)))

    def path(self, *parts):
        return os.path.join(self.host.sysfs, *parts)

    def expect_no_change(self, stored):
        self.assertEqual({}, test_stored_rows.changes(
            planner.plan(self.discover(stored), stored)))


class NICTest(MemoryTestCase):

    def test_mapping_of_a_card_without_interface(self):
        """nic-20: with VFs or without, the network stays."""
        for case in ('nic-04', 'nic-19'):
            for in_use in (False, True):
                self.start(case)
                stored = self.stored(self.discover(), in_use=in_use)
                self.assertIn('physical_network', json.dumps([
                    h.attach_info for d in stored.devices
                    for each in d.deployables for h in each.handles]))
                for name in os.listdir(self.path('class/net')):
                    os.unlink(self.path('class/net', name))
                self.expect_no_change(stored)

    def test_name_that_is_no_trait(self):
        self.start('nic-04')
        self.conf.set('x710_static', physical_device_mappings=[
            'phys-net.1:ens1f0'])
        self.driver = made('intel_nic_driver')
        deployable = next(each for device in self.discover()
                          for each in device.deployables
                          if '0000:05:02.0' in each.name)
        self.assertIn('CUSTOM_PHYS_NET_1',
                      [value for _key, value in deployable.attributes])
        self.assertEqual('phys-net.1', json.loads(
            deployable.handles[0].attach_info)['physical_network'])

    def test_other_groups_have_no_effect(self):
        self.start('nic-04')
        self.conf.set('nic_devices', enabled_nic_types=['x710', 'e810'])
        driver = made('intel_nic_driver')
        driver.init_host()
        self.assertLogged('WARNING', 'enabled_nic_types of host compute-1 '
                          'has e810, which has no effect')
        self.assertLogged('WARNING', '[x710_static] of host compute-1 has no '
                          'effect')


class FPGATest(MemoryTestCase):

    def test_function_of_a_vf_that_a_guest_has(self):
        self.start('fpg-10')
        stored = self.stored(self.discover(), in_use=True)
        os.rename(self.path('bus/pci/devices/0000:5e:00.3/fpga'),
                  self.path('hidden'))
        self.expect_no_change(stored)

    def test_function_of_a_free_vf_goes(self):
        self.start('fpg-10')
        stored = self.stored(self.discover())
        os.rename(self.path('bus/pci/devices/0000:5e:00.3/fpga'),
                  self.path('hidden'))
        change, = planner.plan(self.discover(stored),
                               stored).attribute_changes
        self.assertEqual(['CUSTOM_FPGA_FUNCTION_ID_INTEL_D8424DC4A4A3C413F89'
                          'E433683F9040B'],
                         [row.value for row in change.removed])

    def test_name_of_a_row_is_kept(self):
        """Whatever virtual function it is after."""
        self.start('fpg-10')
        found = self.discover()
        device = self.stored(found).devices[0]
        for number in (1, 3):
            name = 'compute-1_0000:5e:00.%d' % number
            stored = values.PersistedHost('compute-1', (
                dataclasses.replace(
                    device, deployables=(dataclasses.replace(
                        device.deployables[0], name=name),)),))
            self.expect_no_change(stored)

    def test_report_for_2026_2(self):
        """ID-7: its keys under a cap, ours otherwise."""
        recorded_keys = [attribute['key'] for attribute in recorded.cases()[
            'fpg-10']['expect']['devices'][0]['deployable_list'][0][
                'attribute_list']]
        self.start('fpg-10')
        self.conf.set('upgrade_levels', conductor='1.0')
        device, = self.discover()
        self.assertEqual(recorded_keys, [
            key for key, _value in device.deployables[0].attributes])


class GPUTest(MemoryTestCase):

    def test_virtual_functions_without_mediated_devices(self):
        """From Linux 6.8 on; the warning says what to do."""
        self.start('gpu-25')
        shutil.rmtree(self.path(
            'bus/pci/devices/0000:41:00.4/mdev_supported_types'))
        names = {each.name for device in self.discover()
                 for each in device.deployables}
        self.assertNotIn('compute-1_0000:41:00.4', names)
        self.assertIn('compute-1_0000:41:00.5', names)
        self.assertLogged('WARNING', 'select those with [pci] device_spec, '
                          '"managed": false, for pci_driver')

    def test_physical_function_beside_its_virtual_ones(self):
        """ID-3, gpu-23: not where it is known what is allocated."""
        for used, offered in ((None, False), ('0', True), ('4', False)):
            self.start('gpu-23')
            found = self.discover()
            self.assertIn('compute-1_0000:41:00.0', self.names(found))
            rows = self.stored([
                device for device in found if used and
                json.loads(device.cpid_info)['function'] == used],
                in_use=True)
            names = self.names(self.discover(rows))
            self.assertEqual(offered, 'compute-1_0000:41:00.0' in names)
            self.assertEqual(offered, len(names) == 1)

    def test_virtual_function_that_is_being_removed(self):
        """ID-4: its link goes first, and the guest still has it."""
        self.start('gpu-23')
        rows = self.stored([
            device for device in self.discover()
            if json.loads(device.cpid_info)['function'] == '4'], in_use=True)
        before = self.names(self.discover(rows))
        for name in os.listdir(self.path('bus/pci/devices')):
            link = self.path('bus/pci/devices', name, 'physfn')
            if os.path.islink(link):
                os.unlink(link)
        self.assertNotIn('compute-1_0000:41:00.0', before)
        self.assertEqual(before, self.names(self.discover(rows)))

    @staticmethod
    def names(found):
        return {each.name for device in found for each in device.deployables}


class NumaTest(MemoryTestCase):

    def test_node_of_functions_and_none_of_parts(self):
        """DSC-7"""
        for case, told in (('qat-05', True), ('nic-04', True),
                           ('xil-04', True), ('fpg-10', True),
                           ('ifp-02', True), ('gpu-02', True),
                           ('gpu-07', False)):
            self.start(case)
            for name in os.listdir(self.path('bus/pci/devices')):
                with open(self.path('bus/pci/devices', name, 'numa_node'),
                          'w') as stream:
                    stream.write('1\n')
            nodes = {json.loads(handle.attach_info).get('numa_node')
                     for device in self.discover()
                     for each in device.deployables
                     for handle in each.handles}
            self.assertEqual({1 if told else None}, nodes, case)


class XilinxTest(MemoryTestCase):

    def test_part_that_2026_2_took_for_a_card(self):
        """xil-05: a guest has function 1, the rest waits."""
        self.start('xil-04')
        card = self.discover()[0]
        second, = [h for h in card.deployables[0].handles
                   if json.loads(h.attach_info)['function'] == '1']
        part = dataclasses.replace(
            card, cpid_info=second.attach_info,
            std_board_info=card.std_board_info.replace('5000', '5001'),
            deployables=(dataclasses.replace(
                card.deployables[0], handles=(second,),
                name=card.deployables[0].name[:-1] + '1'),))
        for in_use in (True, False):
            stored = self.stored([part], in_use=in_use)
            plan = planner.plan(self.discover(stored), stored)
            addresses = {(json.loads(device.cpid_info)['bus'],
                          json.loads(device.cpid_info)['function'])
                         for device in plan.new_devices}
            bus = json.loads(card.cpid_info)['bus']
            self.assertEqual(not in_use, (bus, '0') in addresses)
            self.assertEqual(not in_use, bool(plan.removed_devices))
            self.assertEqual((), plan.retained)


class InspurTest(MemoryTestCase):

    def test_disk_that_was_an_fpga(self):
        """ifp-05: retained while a guest has it."""
        self.start('ifp-02')
        disk = self.discover()[0]
        self.start('ifp-05')
        for in_use in (True, False):
            stored = self.stored([disk], in_use=in_use)
            plan = planner.plan(self.discover(stored), stored)
            self.assertEqual(in_use, bool(plan.retained))
            self.assertEqual(not in_use, bool(plan.removed_devices))


class OddHostTest(base.TestCase):
    """DSC-10"""

    def test_number_of_instances_beyond_reason(self):
        case = json.loads(json.dumps(recorded.cases()['gpu-07']))
        for name in case['sysfs']['files']:
            if name.endswith('nvidia-222/available_instances'):
                case['sysfs']['files'][name] = '9' * 40
        with recorded.RecordedHost(self.conf, case):
            driver = made('nvidia_gpu_driver')
            self.assertEqual([], driver.discover())
        self.assertLogged('WARNING', "of type nvidia-222 holds '999")

    @hypothesis.settings(max_examples=20, deadline=None,
                         suppress_health_check=list(hypothesis.HealthCheck))
    @hypothesis.given(strategies.integers(0, 2 ** 32))
    def test_nothing_of_a_host_ends_a_report(self, seed):
        """Files that are gone or hold anything, of any recorded host."""
        dice = random.Random(seed)
        case = dice.choice([
            case for case in recorded.cases().values()
            if 'call' not in case and case['id'] not in
            test_vendor_cases.REFUSED])
        tree = json.loads(json.dumps(case['sysfs']))
        for name in dice.sample(sorted(tree['files']),
                                min(3, len(tree['files']))):
            if dice.random() < .4:
                del tree['files'][name]
            else:
                tree['files'][name] = dice.choice(
                    ('', '\x00', 'x y', '-1', '0xffffff', '9' * 40, '\n\n'))
        for name in dice.sample(sorted(tree['links']),
                                min(2, len(tree['links']))):
            if dice.random() < .5:
                del tree['links'][name]
            else:
                tree['links'][name] = 'nowhere'
        with recorded.RecordedHost(self.conf, dict(case, sysfs=tree), seed):
            driver = made(case['driver'])
            driver.init_host()
            inventory_values.discovered_devices(driver.discover())

# SPDX-License-Identifier: Apache-2.0
"""Recorded reports of the vendor drivers of 2026.2 (BASE-1).

Equal to the byte, but for the order of devices, deployables and handles, and
for what was a fault.
"""

import copy
import json

from oslo_utils import importutils

from cyborg.common import exception
from cyborg.tests import base
from cyborg.tests.fixtures import recorded

DRIVERS = {
    'inspur_fpga_driver': 'fpga.inspur.driver.InspurFPGADriver',
    'intel_fpga_driver': 'fpga.intel.driver.IntelFPGADriver',
    'intel_nic_driver': 'nic.intel.driver.IntelNICDriver',
    'intel_qat_driver': 'qat.intel.driver.IntelQATDriver',
    'nvidia_gpu_driver': 'gpu.nvidia.driver.NVIDIAGPUDriver',
    'xilinx_fpga_driver': 'fpga.xilinx.driver.XilinxFPGADriver',
}
#: Configurations that stop the start now; the release found out later.
REFUSED = {
    'gpu-10': exception.InvalidvGPUConfig,
    'gpu-11': exception.InvalidvGPUConfig,
    'gpu-13': exception.InvalidvGPUConfig,
    'nic-11': exception.PciDeviceWrongAddressFormat,
    'nic-14': exception.ConfigInvalid,
    'nic-16': exception.ConfigInvalid,
}
#: Faults of the release, and which devices are reported in their place, by
#: the address of their control path.
NOW = {
    'fpg-08': set(), 'gpu-14': set(), 'gpu-16': set(), 'gpu-17': set(),
    'gpu-19': set(), 'ifp-05': set(), 'nic-20': set(), 'xil-10': set(),
    'nic-10': {'af:00.0'}, 'nic-25': {'05:00.0'}, 'nic-26': {'05:00.0'},
    'qat-10': {'3d:00.0'}, 'qat-11': {'3d:00.0'}, 'gpu-29': {'af:00.0'},
}
#: As recorded, but for the traits.
TRAITS = {'gpu-20'}


def plain(value):
    """A driver object as the recordings show it: fields that are set."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if not hasattr(value, 'fields'):
        return value
    return {name: plain(getattr(value, name)) for name in value.fields
            if value.obj_attr_is_set(name)
            and name not in ('created_at', 'updated_at', 'device_state')}


def unordered(devices):
    """Devices, deployables and handles in an order of their own."""
    devices = copy.deepcopy(devices)
    for device in devices:
        for deployable in device['deployable_list']:
            deployable['attach_handle_list'].sort(
                key=lambda handle: handle['attach_info'])
        device['deployable_list'].sort(key=lambda each: each['name'])
    return sorted(devices,
                  key=lambda device: device['controlpath_id']['cpid_info'])


def without_keys(devices):
    """Values alone where the keys of attributes repeat."""
    for device in devices:
        for deployable in device['deployable_list']:
            deployable['attribute_list'] = sorted(
                attribute['value']
                for attribute in deployable['attribute_list'])
    return devices


def keys(devices):
    return [[attribute['key'] for attribute in deployable['attribute_list']]
            for device in devices for deployable in device['deployable_list']]


class VendorCaseTest(base.TestCase):

    def discover(self, case, seed=0):
        with recorded.RecordedHost(self.conf, case, seed):
            driver = importutils.import_object(
                'cyborg.accelerator.drivers.' + DRIVERS[case['driver']])
            driver.init_host()
            return unordered(plain(driver.discover()))

    def cases(self, *, faulty: bool):
        for case in recorded.cases().values():
            if 'call' not in case and faulty == (
                    'upstream_bug' in case or 'want' in case):
                yield case

    def test_recorded_cases(self):
        """With the directories listed in three orders."""
        checked = 0
        for case in self.cases(faulty=False):
            if case['id'] in REFUSED:
                continue
            for seed in range(3):
                with self.subTest(case=case['id'], seed=seed):
                    self.assertEqual(unordered(case['expect']['devices']),
                                     self.discover(case, seed))
            checked += 1
        self.assertGreaterEqual(checked, 40)

    def test_refused_configurations(self):
        for name, kind in REFUSED.items():
            with self.subTest(case=name):
                error = self.assertRaises(
                    kind, self.discover, recorded.cases()[name])
                self.assertIsInstance(error, exception.ConfigInvalid)

    def test_faults(self):
        cases = recorded.cases()
        for name, wanted in NOW.items():
            with self.subTest(case=name):
                found = self.discover(cases[name])
                self.assertEqual(wanted, {
                    '%(bus)s:%(device)s.%(function)s' % json.loads(
                        device['controlpath_id']['cpid_info'])
                    for device in found})

    def test_reason_of_what_is_left_out_is_said(self):
        cases = recorded.cases()
        for name, text in (
                ('fpg-08', 'the driver knows no FPGA card 8086:0b2b'),
                ('gpu-14', 'no mediated devices of type nvidia-999, but: '
                 'nvidia-222'),
                ('gpu-16', 'available_instances of type nvidia-222: No such'),
                ('gpu-17', "of type nvidia-222 holds 'many'"),
                ('gpu-19', "the type has the name 'T4-1B'"),
                ('nic-20', 'it has no network interface (bound to i40e)'),
                ('qat-11', 'left out: virtfn1 leads to nothing')):
            self.discover(cases[name])
            self.assertLogged('WARNING', text)

    def test_names_of_more_than_two_words(self):
        """gpu-20: the recorded trait, and one that tells the type."""
        device, = self.discover(recorded.cases()['gpu-20'])
        self.assertEqual(
            ['VGPU', 'OWNER_CYBORG', 'CUSTOM_NVIDIA_26B2_RTX',
             'CUSTOM_NVIDIA_26B2_RTX_5000_ADA_4Q'],
            [each['value'] for each in
             device['deployable_list'][0]['attribute_list']])

    def test_xilinx_by_its_ids(self):
        """xil-05, xil-08: whatever the list of names says, and however many
        functions."""
        for name, functions in (('xil-05', '01'), ('xil-08', '012')):
            device = self.discover(recorded.cases()[name])[0]
            deployable, = device['deployable_list']
            self.assertEqual(1, deployable['num_accelerators'])
            self.assertEqual(list(functions), [
                json.loads(handle['attach_info'])['function']
                for handle in deployable['attach_handle_list']])

    def test_faults_that_stored_rows_depend_on(self):
        """fpg-04, fpg-10: the same values and names; gpu-23, ifp-13: the
        same devices."""
        cases = recorded.cases()
        for name in ('fpg-04', 'fpg-10', 'fpg-11', 'gpu-23', 'gpu-26',
                     'ifp-13', 'nic-28', 'xil-05', 'xil-08'):
            for seed in range(3):
                with self.subTest(case=name, seed=seed):
                    found = self.discover(cases[name], seed)
                    for each in keys(found):
                        self.assertEqual(len(each), len(set(each)))
                    if name in ('xil-05', 'xil-08', 'fpg-11'):
                        continue
                    self.assertEqual(
                        without_keys(unordered(
                            cases[name]['expect']['devices'])),
                        without_keys(found))

    def test_every_fault_is_looked_at(self):
        looked_at = {*NOW, *REFUSED, *TRAITS, 'fpg-04', 'fpg-10', 'fpg-11',
                     'gpu-23', 'gpu-26', 'ifp-13', 'nic-28', 'xil-05',
                     'xil-08'}
        self.assertEqual(set(), {case['id'] for case in self.cases(
            faulty=True)} - looked_at)

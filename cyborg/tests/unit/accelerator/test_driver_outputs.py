# SPDX-License-Identifier: Apache-2.0
"""Recorded reports of the 2026.2 drivers, from lspci text to objects.

The text becomes a sysfs tree here. What differs on purpose: the device type
of generic PCI is PCI, an NVMe controller is ``stateful``, and an SSD of an
unknown vendor has no bare vendor trait.
"""

import json
import os
import re

import fixtures
from oslo_utils import importutils

from cyborg.common import exception
from cyborg.tests import base
from cyborg.tests.fixtures import sysfs as sysfs_fixture

CASES = os.path.join(os.path.dirname(__file__), 'driver-output-cases.json')
DRIVERS = {
    'fake_driver': 'cyborg.accelerator.drivers.fake.FakeDriver',
    'pci_driver': 'cyborg.accelerator.drivers.pci.pci.driver.PCIDriver',
    'inspur_nvme_ssd_driver':
        'cyborg.accelerator.drivers.ssd.inspur.driver.InspurNVMeSSDDriver',
    'generic_ssd_base': 'cyborg.accelerator.drivers.ssd.base.SSDDriver',
}
#: About the form of lspci's text, which nobody reads any more.
TEXT_ONLY = {'drv-12', 'drv-15', 'drv-17', 'drv-18', 'drv-20', 'drv-27',
             'drv-28'}
#: Cases with another outcome, and why.
OTHERWISE = {
    'drv-10': 'sysfs has lower case; an odd tree is normalised',
    'drv-11': 'likewise, so the rule matches',
    'drv-13': 'read, but never offered',
    'drv-14': 'the bad device is left out, the discovery goes on',
    'drv-25': 'the address is normalised',
}
LINE = re.compile(
    r'(?P<address>[0-9a-fA-F]+:..:..\..)\s+(?P<class>[^\[\]:]*?)'
    r'(?: \[(?P<code>[0-9a-f]{4})\])?: (?P<name>.*) '
    r'\[(?P<vendor>\w{4}):(?P<product>\w{4})\]')


def load():
    with open(CASES) as stream:
        return json.load(stream)['cases']


def plain(value):
    """A driver object as the recordings show it: fields that are set."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if not hasattr(value, 'fields'):
        return value
    return {name: plain(getattr(value, name)) for name in value.fields
            if value.obj_attr_is_set(name)
            and name not in ('created_at', 'updated_at', 'device_state')}


def with_settings(text, **settings):
    return json.dumps(dict(json.loads(text), **settings), sort_keys=True)


def expected(case):
    devices = case['expect']['devices']
    for device in devices:
        deployable = device['deployable_list'][0]
        handle = deployable['attach_handle_list'][0]
        if case['driver'] == 'pci_driver':
            device['type'] = 'PCI'
        if 'Non-Volatile' in case['lspci']:
            handle['attach_info'] = with_settings(
                handle['attach_info'], stateful=True)
        attributes = deployable['attribute_list']
        if attributes[1]['value'] == 'CUSTOM_SSD_':
            attributes[1:] = [dict(attributes[2], key='trait0')]
    # sysfs has an order of its own: that of the addresses, as lspci prints.
    return sorted(devices, key=lambda d: d['deployable_list'][0]['name'])


class RecordedReportTest(base.TestCase):

    def prepare(self, case):
        host = self.useFixture(sysfs_fixture.SysfsTree())
        names = []
        for line in case['lspci'].splitlines():
            found = LINE.match(line)
            self.assertIsNotNone(found, line)
            vendor, product = (int(found[part], 16)
                               for part in ('vendor', 'product'))
            host.tree.add(found['address'], vendor, product,
                          int(found['code'] or '0302', 16) << 8)
            names.append('%04x  %s\n\t%04x  \n' % (
                vendor, found['name'], product))
        ids = os.path.join(host.path, 'pci.ids')
        with open(ids, 'w') as stream:
            stream.write(''.join(names))
        self.useFixture(fixtures.MonkeyPatch('cyborg.pci.ids.PATHS', (ids,)))
        self.conf.set(host=case['host'])
        # drv-04 shows that a tag changed nothing; tags are errors now.
        rules = [rule.replace(',"physical_network":"physnet1"', '')
                 for rule in case.get('passthrough_whitelist') or []]
        self.conf.set(group='pci', sysfs_path=host.path, device_spec=rules)
        self.conf.set(group='workarounds', allow_unsafe_devices=True)

    def discover(self, case):
        driver = importutils.import_object(DRIVERS[case['driver']])
        driver.init_host()
        return plain(driver.discover())

    def test_recorded_cases(self):
        """BASE-1: texts are equal to the byte."""
        checked = 0
        for case in load():
            if case['id'] in TEXT_ONLY or case['id'] in OTHERWISE or (
                    'error' in case['expect']):
                continue
            self.prepare(case)
            with self.subTest(case=case['id']):
                self.assertEqual(expected(case), self.discover(case))
            checked += 1
        self.assertGreaterEqual(checked, 14)

    def case(self, name):
        case = next(c for c in load() if c['id'] == name)
        self.prepare(case)
        return case

    def test_upper_case_input(self):
        """drv-10, drv-11, drv-25: one form whatever is read (B08)."""
        for name, count in (('drv-10', 1), ('drv-11', 1), ('drv-25', 1)):
            found = self.discover(self.case(name))
            self.assertEqual(count, len(found))
            self.assertEqual(found[0]['vendor'], found[0]['vendor'].lower())
            self.assertRegex(found[0]['deployable_list'][0]['name'],
                             'compute-1_0000:[35][bf]:00.0')

    def test_five_digit_domain(self):
        """drv-13, DSC-8"""
        self.assertEqual([], self.discover(self.case('drv-13')))
        self.assertLogged('INFO', 'PCI device 10000:3b:00.0 of host '
                          'compute-1 is not offered')

    def test_impossible_function(self):
        """drv-14: one bad device does not fail the others (DSC-10)."""
        self.assertEqual([], self.discover(self.case('drv-14')))
        self.assertLogged('WARNING', 'function 9 is larger than 7')

    def test_bad_rule(self):
        """drv-21"""
        self.assertRaises(exception.PciConfigInvalidWhitelist,
                          self.discover, self.case('drv-21'))

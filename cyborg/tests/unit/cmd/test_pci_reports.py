# SPDX-License-Identifier: Apache-2.0
"""Hosts of the field on which a preview said nothing of what is wrong.

Each was accepted without a word, and no guest could ever start there.
"""

import io
import json
import os

from cyborg.cmd import pci
from cyborg.pci import classes
from cyborg.pci import ids
from cyborg.tests import base
from cyborg.tests.fixtures import sysfs as sysfs_fixture

NO_IOMMU = (
    'warning host compute-1 no PCI device of the host is in an IOMMU group, '
    'so no guest can start with any of them: switch the IOMMU on in the '
    'firmware (VT-d, AMD-Vi, SMMU) and in the kernel (such as '
    'intel_iommu=on)')


class FieldTestCase(base.TestCase):

    def host(self, capture, *rules):
        """Look at a captured host with these rules."""
        tree = self.useFixture(sysfs_fixture.SysfsTree(capture))
        self.path = os.path.join(self.temp_dir(), 'cyborg.conf')
        with open(self.path, 'w', encoding='utf-8') as stream:
            stream.write('\n'.join([
                '[DEFAULT]', 'host = compute-1', '[agent]',
                'enabled_drivers = pci_driver', '[pci]',
                'sysfs_path = ' + tree.path,
                *('device_spec = ' + rule for rule in rules)]) + '\n')
        return tree.tree

    def run_command(self, *arguments):
        out, err = io.StringIO(), io.StringIO()
        status = pci.main(['cyborg-pci', *arguments, '--config-file',
                           self.path], stdout=out, stderr=err)
        return status, out.getvalue()

    def check(self):
        """Warnings of a configuration that is accepted."""
        status, out = self.run_command('check')
        self.assertEqual(0, status)
        return out.splitlines()

    def verdicts(self):
        """Verdict and rule of each device that is more than not selected."""
        _status, out = self.run_command('list', '-f', 'json')
        return {row['address']: (row['verdict'], row['rule'])
                for row in json.loads(out)
                if row['verdict'] != 'not-selected'}


class BridgesOffered(FieldTestCase):
    """f05, DSC-11"""

    BRIDGES = ('0000:00:0c.0', '0000:03:00.0', '0000:04:00.0',
               '0000:04:01.0')

    def test_a_rule_for_a_vendor(self):
        self.host('bridges', '{"vendor_id":"19e5"}')
        found = self.verdicts()
        for address in self.BRIDGES:
            self.assertEqual(('bridge', 'PCI bridge: PCI bridge'),
                             found.pop(address))
        self.assertEqual(
            {'0000:05:00.0', '0000:06:00.0', '0000:74:02.0'}, set(found))
        self.assertEqual(
            ['warning %s selected by device_spec entry 1, and never offered: '
             'it is a bridge (class 0604), which VFIO takes for no guest'
             % address for address in self.BRIDGES], self.check())

    def test_every_kind_of_bridge_header(self):
        """CardBus and semi-transparent bridges have no device's header."""
        tree = self.host('bridges', '{"vendor_id":"19e5"}')
        for code in (0x060400, 0x060401, 0x060700, 0x060900, 0x060940):
            tree.write('0000:05:00.0', 'class', b'0x%06x\n' % code)
            self.assertEqual('bridge', self.verdicts()['0000:05:00.0'][0])
        for code in (0x060000, 0x060100, 0x068000):
            tree.write('0000:05:00.0', 'class', b'0x%06x\n' % code)
            self.assertEqual('offered', self.verdicts()['0000:05:00.0'][0])

    def test_no_option_and_no_address_lets_one_through(self):
        self.host('bridges', '{"address":"0000:00:0c.0", "managed": true}')
        with open(self.path, 'a') as stream:
            stream.write('[workarounds]\nallow_unsafe_devices = true\n')
        self.assertEqual({'0000:00:0c.0'}, set(self.verdicts()))
        self.assertEqual('bridge', self.verdicts()['0000:00:0c.0'][0])

    def test_tree(self):
        self.host('bridges', '{"vendor_id":"19e5"}')
        out = self.run_command('tree')[1]
        self.assertIn('  = 0000:00:0c.0  19e5:a120  PCI bridge  (root port)  '
                      '[pcieport]  bridge', out)
        self.assertIn('+ 3 offered  = 4 bridge', out)


class NoIommu(FieldTestCase):
    """f06, DSC-11"""

    def test_once_a_host(self):
        self.host('no-iommu-arm', '{"vendor_id":"10de"}')
        self.assertEqual([NO_IOMMU], self.check())

    def test_once_for_eight_devices(self):
        self.host('no-iommu-accelerators',
                  '{"vendor_id":"1002","product_id":"74a5"}')
        self.assertEqual(8, len(self.verdicts()))
        self.assertEqual([NO_IOMMU], self.check())

    def test_nothing_is_offered(self):
        self.host('no-iommu-arm', '{"vendor_id":"14e4"}')
        self.assertEqual(['bridge', 'bridge'],
                         [verdict for verdict, _rule
                          in self.verdicts().values()])
        self.assertNotIn(NO_IOMMU, self.check())

    def test_one_device_without_a_group(self):
        """Then the host has an IOMMU, and the device is the odd one."""
        tree = self.host('no-iommu-arm', '{"vendor_id":"10de"}')
        tree.group('0002:01:00.0', '0')
        self.assertEqual(
            ['warning 0001:01:00.0 offered, but: it is in no IOMMU group, '
             'unlike other devices of the host: no guest can start with it'],
            self.check())
        tree.group('0001:01:00.0', '1')
        self.assertEqual([], self.check())


class RuleMatchesNothing(FieldTestCase):
    """f12, DSC-11"""

    def test_every_such_rule(self):
        self.host('infiniband-vfs', '{"devname":"ens9f9np0"}',
                  '{"vendor_id":"10de","product_id":"20b5"}')
        self.assertEqual(
            ['warning [pci] device_spec device_spec entry 1 matches no '
             'device of the host: {"devname": "ens9f9np0"} (or a guest has '
             'the device, and the interface with it)',
             'warning [pci] device_spec device_spec entry 2 matches no '
             'device of the host: {"vendor_id": "10de", "product_id": '
             '"20b5"}'], self.check())

    def test_a_rule_that_decides_nothing_is_not_one(self):
        """An earlier one is there for the same device."""
        self.host('infiniband-vfs', '[{"vendor_id":"15b3"}, '
                  '{"product_id":"1013"}, {"product_id":"1015"}]')
        unused = [line for line in self.check() if 'matches no' in line]
        self.assertEqual(
            ['warning [pci] device_spec device_spec entry 1[2] matches no '
             'device of the host: {"product_id": "1015"}'], unused)


class ClassNames(base.TestCase):
    """f13"""

    EXPECTED = {0x0b4000: 'Co-processor', 0x110100: 'Performance counters',
                0x0c0400: 'Fibre Channel'}

    def test_without_a_list(self):
        for code, name in self.EXPECTED.items():
            self.assertEqual(name, ids.class_name(code, ()))
            self.assertEqual(name, classes.name(code))

    def test_the_hosts_own_list_counts(self):
        path = os.path.join(self.temp_dir(), 'pci.ids')
        with open(path, 'w') as stream:
            stream.write('8086  Intel Corporation\n'
                         '\t0b40  A device, no class\n'
                         '\n# List of known device classes\n'
                         'C 0b  Processor of the list\n'
                         '\t40  Co-processor of the list\n'
                         '\t\t01  With an interface\n'
                         'C fe  New class\n\t01  New sub class\n')
        for code, name in ((0x0b4001, 'Co-processor of the list'),
                           (0x0b7000, 'Processor of the list'),
                           (0xfe0100, 'New sub class'),
                           (0xfe0200, 'New class'),
                           (0x0c0400, 'Fibre Channel'),
                           (0xfd0000, 'Class fd00')):
            self.assertEqual(name, ids.class_name(code, (path,)))

# SPDX-License-Identifier: Apache-2.0

from cyborg.pci import address
from cyborg.pci import sysfs
from cyborg.standalone import proposal
from cyborg.tests import base
from cyborg.tests.fixtures import sysfs as sysfs_fixture

A = address.PciAddress.parse
ETHERNET, NVME, ISA, ROOT_PORT = 0x020000, 0x010802, 0x060100, 0x060400


class ProposalTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.host = self.useFixture(sysfs_fixture.SysfsTree())

    def add(self, where, class_code, **facts):
        self.host.tree.add(where, 0x8086, 0x154c, class_code, **facts)

    def propose(self, exclude=(), in_use=()):
        found = proposal.device(
            sysfs.scan(self.host.path).devices,
            [A(text) for text in exclude], [A(text) for text in in_use])
        return found and str(found)

    def test_a_device_of_a_refused_class_is_never_proposed(self):
        """DSC-4: the next start would end with it."""
        self.add('0000:3b:00.0', NVME)
        self.assertIsNone(self.propose())
        self.add('0000:3a:00.0', ETHERNET)
        self.assertEqual('0000:3a:00.0', self.propose())

    def test_nor_one_whose_virtual_functions_would_be_refused(self):
        self.add('0000:3a:00.0', ETHERNET)
        self.add('0000:3b:00.0', ETHERNET)
        self.add('0000:3b:00.1', NVME, physfn='0000:3b:00.0')
        self.assertEqual('0000:3a:00.0', self.propose())

    def test_nor_a_bridge(self):
        self.add('0000:3a:00.0', ISA)
        self.add('0000:3b:00.0', ROOT_PORT)
        self.assertIsNone(self.propose())

    def test_nor_what_the_host_uses_or_the_operator_excludes(self):
        for where in ('0000:3a:00.0', '0000:3b:00.0', '0000:3c:00.0'):
            self.add(where, ETHERNET)
        self.assertEqual('0000:3a:00.0', self.propose(
            ['0000:3b:00.0'], ['0000:3c:00.0']))

    def test_nor_what_no_guest_can_be_told_of(self):
        self.add('10000:e1:00.0', ETHERNET)
        self.assertIsNone(self.propose())

    def test_a_virtual_function_first(self):
        self.add('0000:3a:00.0', ETHERNET, totalvfs=2)
        for number in '12':
            self.add('0000:3a:00.' + number, ETHERNET, physfn='0000:3a:00.0')
        self.add('0000:3b:00.0', ETHERNET)
        self.assertEqual('0000:3a:00.2', self.propose())

    def test_host_without_devices(self):
        self.assertIsNone(self.propose())

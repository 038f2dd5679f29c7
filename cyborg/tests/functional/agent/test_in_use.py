# SPDX-License-Identifier: Apache-2.0
"""What a guest changes of a device that it uses (ID-3, ID-4)."""

from cyborg.tests import base
from cyborg.tests.fixtures import services

PF = '0000:0e:00.0'
VFS = tuple('0000:0e:00.%d' % number for number in range(1, 5))
IB, ETHERNET, GPU = 0x020700, 0x020000, 0x030200


class InUseCase(base.TestCase):

    def setUp(self):
        super().setUp()
        self.cloud = self.useFixture(
            services.InOneProcess(self.conf, self.logs))
        self.tree = self.cloud.tree
        self.tree.add(PF, 0x15b3, 0x1013, IB, totalvfs=8, driver='mlx5_core')
        self.tree.net(PF, 'ib0')

    def enable(self, *addresses, product=0x1014):
        for address in addresses:
            self.tree.add(address, 0x15b3, product, IB, physfn=PF,
                          driver='mlx5_core')

    def offered(self):
        return set(self.cloud.handles())

    def assertUntouched(self, before, address):
        """Reports and restarts change nothing of an allocated device."""
        for again in (self.cloud.report, self.cloud.restart_agent):
            again()
            self.assertEqual(before, self.cloud.stored())
            self.assertEqual((1, 0), self.cloud.amounts(address))
        self.assertFalse(self.cloud.said('ERROR'))
        self.assertEqual([], [text for text in self.logs.messages('WARNING')
                              if 'missing' in text])


class InterfaceTest(InUseCase):

    def test_a_device_whose_interface_a_guest_took(self):
        """It counted as missing under the running guest."""
        self.cloud.rules({'devname': 'ib0'})
        self.cloud.start_agent()
        arq = self.cloud.bind(PF)
        self.tree.take_net('ib0')
        self.assertUntouched(self.cloud.stored(), PF)
        self.cloud.delete(arq)
        self.cloud.report()
        self.assertEqual(set(), self.offered())

    def test_no_other_rule_decides_its_mode_meanwhile(self):
        """Each report was rejected, and a restart refused."""
        self.cloud.rules({'devname': 'ib0', 'managed': True},
                         {'vendor_id': '15b3', 'managed': False})
        self.cloud.start_agent()
        self.cloud.bind(PF)
        self.tree.take_net('ib0')
        self.assertUntouched(self.cloud.stored(), PF)

    def test_a_rule_that_is_taken_away(self):
        """MIS-1: that is the operator's doing."""
        self.cloud.rules({'devname': 'ib0'})
        self.cloud.start_agent()
        self.cloud.bind(PF)
        self.tree.take_net('ib0')
        self.cloud.rules()
        self.cloud.restart_agent()
        self.assertEqual((1, 1), self.cloud.amounts(PF))

    def test_a_mode_that_is_changed(self):
        """REC-3"""
        self.cloud.rules({'devname': 'ib0'})
        self.cloud.start_agent()
        self.cloud.bind(PF)
        self.tree.take_net('ib0')
        self.cloud.stop_agent()
        self.cloud.rules({'devname': 'ib0', 'managed': False})
        error = self.assertRaises(services.StartRefused,
                                  self.cloud.start_agent)
        self.assertIn(PF, str(error))


class FunctionsTest(InUseCase):

    def test_a_pf_and_its_vfs_are_not_both_offered(self):
        """f02: all were, and the PF went to a guest under the VFs of others.
        """
        self.enable(*VFS)
        self.cloud.rules({'vendor_id': '15b3'})
        self.cloud.start_agent()
        self.assertEqual(set(VFS), self.offered())
        self.assertTrue(self.cloud.said(
            'WARNING', PF, 'is selected and not offered',
            'its virtual functions', '[pci] exclude_list'))
        self.logs.clear()
        self.cloud.report()
        self.assertFalse(self.cloud.said('WARNING', 'not offered'))
        self.cloud.rules({'vendor_id': '15b3'}, exclude=[PF])
        self.cloud.restart_agent()
        self.assertFalse(self.cloud.said('WARNING', 'not offered'))

    def test_vfs_enabled_after_the_pf_was_bound(self):
        self.cloud.rules({'vendor_id': '15b3'})
        self.cloud.start_agent()
        arq = self.cloud.bind(PF)
        self.enable(*VFS)
        self.assertUntouched(self.cloud.stored(), PF)
        self.assertTrue(self.cloud.said(
            'WARNING', PF, 'is allocated', VFS[0], 'not offered'))
        self.cloud.delete(arq)
        self.cloud.report()
        self.assertEqual(set(VFS), self.offered())

    def test_a_rule_that_changes_to_the_pf(self):
        self.enable(*VFS)
        self.cloud.rules({'product_id': '1014'})
        self.cloud.start_agent()
        arq = self.cloud.bind(VFS[0])
        self.cloud.rules({'product_id': '1013'})
        self.cloud.restart_agent()
        self.assertEqual({VFS[0]}, self.offered())
        self.cloud.delete(arq)
        self.cloud.report()
        self.assertEqual({PF}, self.offered())

    def test_a_vf_whose_removal_waits_for_its_guest(self):
        """The kernel has cut it off from its PF by then."""
        self.enable(VFS[0])
        self.cloud.rules({'product_id': '1014', 'managed': True},
                         {'vendor_id': '15b3', 'managed': False})
        self.cloud.start_agent()
        self.cloud.bind(VFS[0])
        before = self.cloud.stored()
        self.tree.detach(VFS[0])
        self.assertUntouched(before, VFS[0])
        self.assertEqual({VFS[0]}, self.offered())

# SPDX-License-Identifier: Apache-2.0
"""What makes two control paths the same (ID-1)."""

from cyborg.inventory import identity
from cyborg.pci import address as pci_address
from cyborg.tests import base
from cyborg.tests.unit.inventory.builders import info

ADDRESS = '0000:3b:00.0'


class ControlPathTest(base.TestCase):

    def test_pci_by_its_address(self):
        self.assertEqual(
            ('PCI', pci_address.PciAddress.parse(ADDRESS)),
            identity.controlpath_key('PCI', info(ADDRESS, x=1)))

    def test_another_type_by_all_that_is_said(self):
        """In whatever order; a name sorts before or behind PCI."""
        for cpid_type in ('CCIX', 'USB'):
            self.assertEqual(
                (cpid_type, '{"a": 1, "b": 2}'),
                identity.controlpath_key(cpid_type, '{"b": 2, "a": 1}'))
            self.assertNotEqual(
                identity.controlpath_key(cpid_type, '{"a": 1}'),
                identity.controlpath_key(cpid_type, '{"a": 2}'))

    def test_no_clear_meaning(self):
        for cpid_type, text, reason in (
                ('PCI', 'x', 'not JSON'), ('PCI', None, 'not JSON'),
                ('USB', '[1]', 'not a JSON object'),
                ('PCI', '{"bus": "3b"}', 'no text under "domain"')):
            error = self.assertRaises(identity.InvalidInfo,
                                      identity.controlpath_key, cpid_type,
                                      text)
            self.assertEqual((text, reason), (error.text, error.reason))
            self.assertEqual('%s: %s' % (reason, text), str(error))

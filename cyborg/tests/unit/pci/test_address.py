# SPDX-License-Identifier: Apache-2.0

from hypothesis import given
from hypothesis import strategies as st

from cyborg.pci import address
from cyborg.tests import base

PciAddress = address.PciAddress

ADDRESSES = st.builds(PciAddress, st.integers(0, 0xffffffff),
                      st.integers(0, 0xff), st.integers(0, 0x1f),
                      st.integers(0, 7))

INVALID = {
    '': 'write all four parts',
    '3b:00.0': 'write all four parts',
    '0000:3b:00': 'write all four parts',
    '0000:82.0.0': 'write all four parts',
    '0000:3b:00:0': 'write all four parts',
    '0000:3b:00.*': 'patterns are not allowed',
    '0000:3b:00.[0-3]': 'patterns are not allowed',
    '0000:3b:00.8': 'function 8 is larger than 7',
    '0000:3b:20.0': 'device 20 is larger than 1f',
    '0000:3b:00.g': "function 'g' is not a hexadecimal number",
    '0:3b:0.0': 'have 4 to 8, 2, 2 and 1 digits',
    '100000000:3b:00.0': 'have 4 to 8, 2, 2 and 1 digits',
    '0000:13b:00.0': 'have 4 to 8, 2, 2 and 1 digits',
    '0000:3b:00.0 ': "function '0 ' is not a hexadecimal number",
    '0000:\u0663b:00.0': 'is not a hexadecimal number',
}


class PciAddressTest(base.TestCase):

    def test_both_cases_are_one_address(self):
        """B08, B10"""
        self.assertEqual(PciAddress.parse('0000:3b:1f.7'),
                         PciAddress.parse('0000:3B:1F.7'))
        self.assertEqual('0000:3b:1f.7',
                         str(PciAddress.parse('0000:3B:1F.7')))

    def test_fields_have_the_stored_form(self):
        self.assertEqual(
            {'bus': '3b', 'device': '00', 'domain': '0000', 'function': '1'},
            PciAddress.parse('0000:3b:00.1').fields())

    def test_domains_behind_vmd(self):
        """DSC-8, B04: 32 bits are an address, but not one for a guest."""
        found = PciAddress.parse('10000:e1:00.0')
        self.assertEqual((0x10000, 0xe1), (found.domain, found.bus))
        self.assertEqual('10000:e1:00.0', str(found))
        self.assertFalse(found.addressable)
        self.assertTrue(PciAddress.parse('ffff:e1:00.0').addressable)

    def test_reasons(self):
        """CFG-4, B13"""
        for text, reason in INVALID.items():
            error = self.assertRaises(
                address.InvalidPciAddress, PciAddress.parse, text)
            self.assertIn(reason, error.reason, text)
            self.assertIn(repr(text), str(error))

    def test_parts_out_of_range(self):
        error = self.assertRaises(
            address.InvalidPciAddress, PciAddress, 0, 0x100, 0, 0)
        self.assertEqual('bus 100 is larger than ff', error.reason)

    def test_order_is_numeric(self):
        texts = ['10000:00:00.0', '0000:3b:00.0', '0000:02:1f.7',
                 '0001:00:00.0', '0000:3b:00.1']
        self.assertEqual(
            ['0000:02:1f.7', '0000:3b:00.0', '0000:3b:00.1', '0001:00:00.0',
             '10000:00:00.0'],
            [str(a) for a in sorted(PciAddress.parse(t) for t in texts)])

    @given(ADDRESSES)
    def test_round_trip(self, value):
        self.assertEqual(value, PciAddress.parse(str(value)))
        self.assertEqual(value, PciAddress.parse(str(value).upper()))

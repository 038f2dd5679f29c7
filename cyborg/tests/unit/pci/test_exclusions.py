# SPDX-License-Identifier: Apache-2.0

from cyborg.pci import address
from cyborg.pci import exclusions
from cyborg.tests import base

A = address.PciAddress.parse


class ExcludeListTest(base.TestCase):
    """CFG-4"""

    def test_empty(self):
        self.assertEqual(frozenset(), exclusions.load([]))

    def test_addresses(self):
        self.assertEqual(
            {A('0000:3b:00.0'), A('0000:5e:1f.7'), A('10000:e1:00.0')},
            exclusions.load(['0000:3B:00.0', ' 0000:5e:1f.7 ',
                             '10000:e1:00.0', '0000:3b:00.0']))

    def test_every_bad_entry_is_named(self):
        error = self.assertRaises(
            exclusions.InvalidExcludeList, exclusions.load,
            ['0000:3b:00.*', '0000:3b:00.0', '3b:00.0', '0000:3b:00.8', '',
             '{"address": "0000:3b:00.0"}', '100000000:00:00.0',
             '0:3b:00.0', '0000:3b:0.0'])
        self.assertEqual(
            ['entry 1, "0000:3b:00.*": patterns are not allowed here, write '
             'one complete address',
             'entry 3, "3b:00.0": write all four parts, '
             'domain:bus:slot.function, for example 0000:3b:00.0',
             'entry 4, "0000:3b:00.8": function 8 is larger than 7',
             'entry 5, "": write all four parts, domain:bus:slot.function, '
             'for example 0000:3b:00.0',
             'entry 6, "{"address": "0000:3b:00.0"}": write all four parts, '
             'domain:bus:slot.function, for example 0000:3b:00.0',
             'entry 7, "100000000:00:00.0": the parts have 4 to 8, 2, 2 and '
             '1 digits, for example 0000:3b:00.0',
             'entry 8, "0:3b:00.0": the parts have 4 to 8, 2, 2 and 1 '
             'digits, for example 0000:3b:00.0',
             'entry 9, "0000:3b:0.0": the parts have 4 to 8, 2, 2 and 1 '
             'digits, for example 0000:3b:00.0'],
            str(error).split('\n'))

    def test_an_entry_cannot_pass_for_another_message(self):
        error = self.assertRaises(
            exclusions.InvalidExcludeList, exclusions.load,
            ['0000:3b:00.0\n0000:3c:00.0', '\x1b[2J.', 'x' * 10**6])
        first, second, third = str(error).split('\n')
        self.assertIn('"0000:3b:00.0 0000:3c:00.0"', first)
        self.assertIn(r'"\x1b[2J."', second)
        self.assertLess(len(third), 400)

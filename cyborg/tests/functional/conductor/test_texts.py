# SPDX-License-Identifier: Apache-2.0
"""Texts of a driver that a database cannot keep (MIS-7).

The device is named and left out, and the rest of the report goes on; one that
is allocated is not taken for missing.
"""

import json

from cyborg.tests.functional.conductor import base

NAME, OTHER = 'compute-1_0000:01:00.0', 'compute-1_0000:02:00.0'


class _Texts:

    def odd(self, **fields):
        device = base.device(2)
        for name, value in fields.items():
            setattr(device, name, value)
        return device

    def assert_left_out(self, device, reason):
        self.logs.clear()
        for _cycle in range(2):
            self.report(base.device(1), device, base.device(3))
        self.assertEqual({'0000:01:00.0', '0000:03:00.0'}, {
            deployable.name.partition('_')[2] for found in self.host().devices
            for deployable in found.deployables})
        warning, = self.logs.messages('WARNING')
        self.assertIn('Device 0000:02:00.0 of host compute-1 is not taken '
                      'over: ' + reason, warning)
        warning.encode()
        self.assertEqual([], self.logs.messages('ERROR'))

    def test_left_out_and_named(self):
        self.assert_left_out(
            self.odd(model='A\udce9B'),
            "model holds the character U+DCE9, which cannot be stored: "
            "'A\\udce9B'.")
        self.assert_left_out(
            self.odd(vendor_board_info='a\0b'),
            'vendor_board_info holds the character U+0000')
        self.assert_left_out(
            self.odd(vendor='v' * 256), 'vendor is longer than the 255')
        self.assert_left_out(
            self.odd(std_board_info=json.dumps({'a': 'ä' * 40000},
                                               ensure_ascii=False)),
            'std_board_info is longer than the 65535 bytes')
        odd = self.odd()
        odd.deployable_list[0].attribute_list[1].value = '\ud800'
        self.assert_left_out(odd, 'attribute trait0 holds the character')

    def test_allocated_is_not_missing(self):
        self.report(base.device(1), base.device(2))
        self.bind(self.arq(), name=OTHER)
        before = self.deployable(OTHER)
        self.logs.clear()
        self.report(base.device(1), self.odd(model='\udce9'), base.device(3))
        self.assertEqual(before, self.deployable(OTHER))
        self.assertAmounts({'CUSTOM_PCI': (1, 0)}, OTHER)
        warning, = self.logs.messages('WARNING')
        self.assertIn('0000:02:00.0', warning)
        self.assertNotIn('missing', warning)
        self.report(base.device(1), base.device(2))
        self.assertEqual(before, self.deployable(OTHER))


class TestOnSqlite(_Texts, base.ConductorTestCase):
    pass


class TestOnMariaDB(_Texts, base.ConductorTestCase):

    database = 'mariadb'

    def test_beyond_the_character_set(self):
        """What this database alone refuses, when it is written."""
        self.report(base.device(1), self.odd(model='\U0001f600'))
        self.assertEqual([NAME], [
            deployable.name for found in self.host().devices
            for deployable in found.deployables])
        error, = self.logs.messages('ERROR')
        self.assertIn('was not stored, the database refused it', error)


class TestOnPostgreSQL(_Texts, base.ConductorTestCase):

    database = 'postgresql'

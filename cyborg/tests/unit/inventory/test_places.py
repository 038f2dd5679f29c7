# SPDX-License-Identifier: Apache-2.0
"""Which stored devices stand where the same hardware was found (ID-1)."""

import dataclasses

from cyborg.inventory import places
from cyborg.tests import base
from cyborg.tests.unit.inventory import builders

ONE, TWO = '0000:3b:00.0', '0000:3c:00.0'


class SharedTest(base.TestCase):

    def shared(self, found, *stored):
        return [device.id for device in places.shared(
            found, builders.host(*stored))]

    def test_by_place_and_ids(self):
        one, two = builders.found(ONE), builders.found(TWO)
        rows = (builders.stored(one, 1), builders.stored(two, 2))
        for found, expected in (
                ([one], [1]), ([one, two], [1, 2]), ([], []),
                ([builders.found(TWO, product='1eb9')], []),
                ([builders.found(TWO, vendor='8086')], []),
                ([builders.found('0000:3d:00.0')], []),
                # Another spelling of the same ids, by another driver.
                ([builders.found(ONE, vendor='0x10DE')], [1])):
            self.assertEqual(expected, self.shared(found, *rows), found)

    def test_what_every_machine_has_is_no_sign(self):
        fake = builders.found(ONE, attach_type='TEST_PCI')
        self.assertEqual([], self.shared([fake], builders.stored(fake)))
        real = builders.found(TWO)
        self.assertEqual([2], self.shared(
            [fake, real], builders.stored(fake), builders.stored(real, 2)))

    def test_a_row_without_a_control_path(self):
        one, two = builders.found(ONE), builders.found(TWO)
        bare = dataclasses.replace(builders.stored(one), controlpath=None)
        self.assertEqual([2], self.shared(
            [one, two], bare, builders.stored(two, 2)))

    def test_a_found_place_that_means_nothing(self):
        """One device that cannot be read hides no other."""
        one, two = builders.found(ONE), builders.found(TWO)
        odd = dataclasses.replace(one, cpid_info='{"bus": "x"}')
        self.assertEqual([2], self.shared(
            [odd, two], builders.stored(one), builders.stored(two, 2)))

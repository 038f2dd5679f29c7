# SPDX-License-Identifier: Apache-2.0
"""CLEAN-10: one number of reserved units, and whose they are."""

import testtools

from cyborg.common import constants
from cyborg.placement import client
from cyborg.placement import reservations

PREFIX, MISSING = constants.DISABLED_TRAIT_PREFIX, constants.MISSING_TRAIT


def inventories(**amounts: tuple[int, int]) -> dict[str, client.Inventory]:
    """:param amounts: (total, reserved) by class."""
    return {name: client.Inventory(total=total, reserved=reserved)
            for name, (total, reserved) in amounts.items()}


class OwnersTest(testtools.TestCase):

    #: (traits, others, missing, disabled)
    CASES = [
        ((), None, False, False),
        (('CUSTOM_A',), None, False, False),
        ((MISSING,), None, True, False),
        ((PREFIX + '0',), 0, False, True),
        ((PREFIX + '12', MISSING), 12, True, True),
        # Two reports raced: the one that gives out less counts.
        ((PREFIX + '2', PREFIX + '10'), 10, False, True),
        # Not ours: no number, more than one, or too long a one.
        ((PREFIX + 'X', PREFIX, 'X' + PREFIX + '1', PREFIX + '1_1',
          PREFIX + '1' * 10), None, False, False),
    ]

    def test_table(self):
        for traits, others, missing, disabled in self.CASES:
            with self.subTest(traits=traits):
                found = reservations.owners(traits)
                self.assertEqual(
                    (others, missing, disabled),
                    (found.others, found.missing, found.disabled))

    def test_nothing_is_known_of_a_provider_without_marks(self):
        self.assertEqual(reservations.Owners(), reservations.owners(()))

    def test_mark(self):
        """What is written is what is read."""
        mark = reservations.disabled_mark(7)
        self.assertEqual(PREFIX + '7', mark)
        self.assertEqual(7, reservations.owners([mark]).others)

    def test_without_mark(self):
        self.assertEqual({'CUSTOM_A', MISSING},
                         reservations.without_disabled_mark(
                             [PREFIX + '7', 'CUSTOM_A', MISSING]))


class AmountsTest(testtools.TestCase):

    FOUND = inventories(A=(4, 3), B=(2, 1))

    def test_of_others(self):
        for found, expected in (
                (reservations.Owners(), 3),
                (reservations.Owners(missing=True), 0),
                (reservations.Owners(others=2), 2),
                (reservations.Owners(others=0), 0),
                (reservations.Owners(others=2, missing=True), 2)):
            with self.subTest(found=found):
                self.assertEqual(expected, reservations.of_others(
                    self.FOUND, found))
        self.assertEqual(0, reservations.of_others(
            {}, reservations.Owners()))

    def test_everything(self):
        self.assertEqual(inventories(A=(4, 4), B=(2, 2)),
                         reservations.everything(self.FOUND))

    def test_lifted(self):
        """No more than the disable had reserved, and nothing of a missing
        device."""
        full = inventories(A=(4, 4), B=(2, 1))
        for found, expected in (
                (reservations.Owners(others=0), inventories(
                    A=(4, 0), B=(2, 0))),
                (reservations.Owners(others=2), inventories(
                    A=(4, 2), B=(2, 1))),
                (reservations.Owners(), full),
                (reservations.Owners(missing=True), full),
                (reservations.Owners(others=2, missing=True), full)):
            with self.subTest(found=found):
                self.assertEqual(expected, reservations.lifted(full, found))

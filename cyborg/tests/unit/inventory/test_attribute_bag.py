# SPDX-License-Identifier: Apache-2.0
"""Attributes are a bag of pairs: keys repeat, numbers of traits mean nothing.
"""

import collections
import unittest

import hypothesis
from hypothesis import strategies

from cyborg.inventory import attribute_bag

#: The FPGA driver of 2026.2, a card with a virtual function.
FPGA = (('trait0', 'CUSTOM_FPGA_INTEL'), ('trait1', 'CUSTOM_A'),
        ('trait2', 'CUSTOM_REGION'), ('rc', 'FPGA'),
        ('trait2', 'CUSTOM_AFU'))
PAIRS = strategies.lists(strategies.tuples(
    strategies.sampled_from(('rc', 'trait0', 'trait1', 'note')),
    strategies.sampled_from('ABC')), max_size=6)


def applied(stored, change):
    """What the rows are after a change."""
    rows = {place: pair for place, pair in enumerate(stored)
            if place not in change.removed}
    for place, value in change.changed:
        rows[place] = (rows[place][0], value)
    return collections.Counter([*rows.values(), *change.added])


def meaning(pairs):
    return collections.Counter(
        ('trait' if key.startswith('trait') else key, value)
        for key, value in pairs)


class DifferenceTest(unittest.TestCase):

    def test_repeated_keys_are_no_difference(self):
        self.assertIsNone(attribute_bag.difference(FPGA, FPGA))
        self.assertIsNone(attribute_bag.difference(FPGA, FPGA[::-1]))

    def test_numbers_that_run_on_are_no_difference(self):
        self.assertIsNone(attribute_bag.difference(
            FPGA, FPGA[:4] + (('trait3', 'CUSTOM_AFU'),)))

    def test_number_of_another_attribute_counts(self):
        self.assertIsNotNone(attribute_bag.difference(
            [('note0', 'A')], [('note1', 'A')]))

    def test_repeated_pair_counts(self):
        change = attribute_bag.difference([('rc', 'A')], [('rc', 'A')] * 2)
        self.assertEqual((('rc', 'A'),), change.added)

    def test_one_of_two_with_a_key_changes(self):
        change = attribute_bag.difference(
            FPGA, FPGA[:4] + (('trait2', 'CUSTOM_OTHER'),))
        self.assertEqual(attribute_bag.Difference(
            (), ((4, 'CUSTOM_OTHER'),), ()), change)

    def test_one_of_two_with_a_key_goes(self):
        self.assertEqual(attribute_bag.Difference((), (), (4,)),
                         attribute_bag.difference(FPGA, FPGA[:4]))
        self.assertEqual(attribute_bag.Difference((), (), (2,)),
                         attribute_bag.difference(FPGA, FPGA[:2] + FPGA[3:]))

    @hypothesis.settings(deadline=None, suppress_health_check=[
        hypothesis.HealthCheck.too_slow])
    @hypothesis.given(PAIRS, PAIRS)
    def test_applied_it_gives_what_was_reported(self, stored, wanted):
        change = attribute_bag.difference(stored, wanted)
        if change is None:
            self.assertEqual(meaning(stored), meaning(wanted))
        else:
            self.assertEqual(collections.Counter(wanted),
                             applied(stored, change))
            self.assertEqual(
                len({*change.removed, *(p for p, _ in change.changed)}),
                len(change.removed) + len(change.changed))

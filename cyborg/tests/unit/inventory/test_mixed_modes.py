# SPDX-License-Identifier: Apache-2.0
"""Which rules keep a host with allocated devices of both modes (REC-5)."""

from cyborg.inventory import mixed_modes
from cyborg.inventory import plan
from cyborg.tests import base
from cyborg.tests.unit.inventory import builders

ONE, TWO, THREE = '0000:3b:00.0', '0000:3c:00.0', '0000:3d:00.0'


class MixedTest(base.TestCase):

    def mixed(self, found, *stored):
        return [(kept.address, kept.managed) for kept in mixed_modes.mixed(
            plan.plan(found, builders.host(*stored)))]

    def rows(self, *modes, **second):
        """Rows of ONE, TWO, THREE with these modes, all allocated."""
        return [builders.stored(
            builders.found(address, managed=managed,
                           **(second if address == TWO else {})),
            number, in_use=True) for number, (address, managed) in enumerate(
                zip((ONE, TWO, THREE), modes), 1)]

    def found(self, managed, **second):
        return [builders.found(address, managed=managed,
                               **(second if address == TWO else {}))
                for address in (ONE, TWO, THREE)]

    def test_both_modes(self):
        """Neither value is accepted; all allocated ones are named, sorted."""
        rows = self.rows(True, False, True)
        expected = [(ONE, True), (TWO, False), (THREE, True)]
        for managed in (True, False):
            self.assertEqual(expected,
                             self.mixed(self.found(managed), *rows[::-1]))

    def test_one_mode(self):
        """The other one is accepted for all, so that no more is said."""
        self.assertEqual([], self.mixed(self.found(False),
                                        *self.rows(True, True, True)))

    def test_nothing_refused(self):
        found = [builders.found(ONE, managed=True),
                 builders.found(TWO, managed=False)]
        self.assertEqual([], self.mixed(found, *self.rows(True, False)))

    def test_free_ones_may_be_changed(self):
        rows = self.rows(True, False)
        free = builders.stored(builders.found(TWO, managed=False), 2)
        self.assertEqual([], self.mixed(self.found(False), rows[0], free))

    def test_another_product_has_its_own_rule(self):
        self.assertEqual([], self.mixed(
            self.found(False, product='1eb9'),
            *self.rows(True, False, product='1eb9')))

    def test_damaged_text(self):
        """A refusal of its own, and no mode."""
        rows = self.rows(True, False)
        rows.append(builders.stored(builders.found(THREE), 3, in_use=True,
                                    text='{"bus"'))
        self.assertEqual([(ONE, True), (TWO, False)],
                         self.mixed(self.found(False), *rows))

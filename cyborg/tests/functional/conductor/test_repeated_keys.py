# SPDX-License-Identifier: Apache-2.0
"""Attributes of one deployable with the same key.

The FPGA driver of 2026.2 numbers the traits of virtual functions from the
last number of the physical one again. Profiles ask for each of the traits.
"""

import testscenarios

from cyborg import objects
from cyborg.tests.fixtures import database
from cyborg.tests.fixtures import rows
from cyborg.tests.functional.conductor import base

NAME = 'compute-1_0000:01:00.0'
REPORTED = (('trait0', 'CUSTOM_FPGA_INTEL'), ('trait2', 'CUSTOM_REGION'),
            ('rc', 'FPGA'), ('trait2', 'CUSTOM_AFU'))


class RepeatedKeysTest(testscenarios.WithScenarios, base.ConductorTestCase):

    scenarios = database.SCENARIOS

    def card(self, *attributes):
        card = base.device(1, driver='intel')
        card.deployable_list[0].attribute_list = [
            objects.DriverAttribute(key=key, value=value)
            for key, value in attributes]
        return card

    def shown(self):
        return [(a.key, a.value) for a in self.deployable(NAME).attributes]

    def traits(self):
        return self.placement.traits(self.provider(NAME)) - {'OWNER_CYBORG'}

    def test_all_are_kept(self):
        for _cycle in range(2):
            self.report(self.card(*REPORTED))
            self.assertEqual(list(REPORTED), self.shown())
            self.assertEqual({'CUSTOM_FPGA_INTEL', 'CUSTOM_REGION',
                              'CUSTOM_AFU'}, self.traits())
        self.assertEqual(1, len([m for m in self.logs.messages('INFO')
                                 if '1 new' in m]))

    def test_one_changes_after_a_restart_of_the_conductor(self):
        self.report(self.card(*REPORTED))
        again = self.start_conductor('conductor-2')
        for value in ('CUSTOM_OTHER', 'CUSTOM_AFU', 'CUSTOM_OTHER'):
            self.report(self.card(*REPORTED[:3], ('trait2', value)),
                        by=again)
            self.assertEqual({'CUSTOM_FPGA_INTEL', 'CUSTOM_REGION', value},
                             self.traits())

    def test_they_come_and_go(self):
        """Each row has a UUID of its own, whatever was there before."""
        for attributes in (REPORTED[:3], REPORTED, REPORTED[2:],
                           REPORTED[1:], REPORTED[::-1],
                           REPORTED[:3] + (('trait2', 'CUSTOM_X'),),
                           REPORTED + (('trait2', 'CUSTOM_X'),)):
            self.report(self.card(*attributes))
            self.assertEqual(sorted(attributes), sorted(self.shown()))
            self.assertEqual({value for key, value in attributes
                              if key != 'rc'}, self.traits())

    def test_rows_of_2026_2_with_the_numbers_run_on(self):
        """A driver whose keys differ leaves the rows as they are."""
        kept = rows.device(bus=1, attributes=REPORTED)
        rows.change(kept.device, model='1eb8', vendor='10de')
        uuids = [attribute.uuid for attribute in kept.attributes]
        self.report(self.card(*REPORTED[:3], ('trait3', 'CUSTOM_AFU')))
        self.assertEqual(uuids, [
            a.uuid for a in self.deployable(NAME).attributes])
        self.assertEqual({'CUSTOM_FPGA_INTEL', 'CUSTOM_REGION',
                          'CUSTOM_AFU'}, self.traits())

    def test_first_of_two_resource_classes_counts(self):
        """As in 2026.2."""
        self.report(self.card(('rc', 'FPGA'), ('rc', 'PGPU')))
        self.assertAmounts({'FPGA': (1, 0)}, NAME)

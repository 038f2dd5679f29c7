# SPDX-License-Identifier: Apache-2.0
"""Missing handles of a device that still has others (MIS-2)."""

from cyborg.common import constants
from cyborg.tests.functional.conductor import base

NAME = 'compute-1_0000:01:00.0'


class PartlyMissingTest(base.ConductorTestCase):
    """Four functions; three are bound, and then they are not there."""

    def setUp(self):
        super().setUp()
        self.functions = base.handles(4)
        self.report(self.device(4))
        self.instances = []
        for _count in range(3):
            instance = self.bind(self.arq(), name=NAME)
            self.placement.allocate(self.provider(NAME), 'CUSTOM_PCI',
                                    consumer=instance)
            self.instances.append(instance)

    def device(self, count, first=0):
        return base.device(1, handles=self.functions[first:first + count])

    def free(self):
        """Units that Placement gives away; it agrees when there are none."""
        (total, reserved), = self.placement.amounts(
            self.provider(NAME)).values()
        used = self.placement.usages(self.provider(NAME))['CUSTOM_PCI']
        free = max(0, total - reserved - used)
        self.assertEqual(min(free, 1),
                         self.placement.candidates('CUSTOM_PCI:1'))
        return free

    def marked(self):
        return constants.MISSING_TRAIT in self.placement.traits(
            self.provider(NAME))

    def test_the_one_that_is_there_can_be_had(self):
        """MIS-2: what is missing is not reserved and used at once."""
        for _cycle in range(2):
            self.report(self.device(1, first=3))
            self.assertAmounts({'CUSTOM_PCI': (4, 0)}, NAME)
            self.assertEqual(1, self.free())
            self.assertTrue(self.marked())
        fourth = self.bind(self.arq(), name=NAME)
        self.placement.allocate(self.provider(NAME), 'CUSTOM_PCI',
                                consumer=fourth)
        self.report(self.device(1, first=3))
        self.assertEqual(0, self.free())
        self.report(self.device(4))
        self.assertAmounts({'CUSTOM_PCI': (4, 0)}, NAME)
        self.assertFalse(self.marked())

    def test_allocation_goes_before_the_request(self):
        """A missing unit that Placement does not count is reserved."""
        self.report(self.device(1, first=3))
        self.placement.deallocate(self.instances[0])
        self.assertEqual(2, self.free())
        self.report(self.device(1, first=3))
        self.assertAmounts({'CUSTOM_PCI': (4, 1)}, NAME)
        self.assertEqual(1, self.free())
        self.conductor.arq_delete_by_instance_uuid(self.context,
                                                   self.instances[0])
        self.report(self.device(1, first=3))
        self.assertAmounts({'CUSTOM_PCI': (3, 0)}, NAME)
        self.assertEqual(1, self.free())

    def test_request_goes_before_the_allocation(self):
        """As Nova does it."""
        self.report(self.device(1, first=3))
        for instance in self.instances:
            self.conductor.arq_delete_by_instance_uuid(self.context, instance)
        self.report(self.device(1, first=3))
        self.assertEqual(0, self.free())
        for instance in self.instances:
            self.placement.deallocate(instance)
        self.report(self.device(1, first=3))
        self.assertAmounts({'CUSTOM_PCI': (1, 0)}, NAME)
        self.assertEqual(1, self.free())
        self.assertFalse(self.marked())

    def test_nothing_is_written_while_nothing_changes(self):
        self.report(self.device(1, first=3))
        self.placement.forget_calls()
        self.report(self.device(1, first=3))
        self.assertEqual({'GET'}, {call.method
                                   for call in self.placement.calls})

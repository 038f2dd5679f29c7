# SPDX-License-Identifier: Apache-2.0
"""Placement fails at every single call of a report; the next one repairs."""

import testscenarios

from cyborg.common import exception
from cyborg.db.sqlalchemy import models
from cyborg.tests import amount
from cyborg.tests.functional.conductor import base

NAME = 'compute-1_0000:01:00.0'

FAULTS = [
    ('conflict', {'fault': {'status': 409,
                            'code': 'placement.concurrent_update'}}),
    ('error', {'fault': {'status': 500}}),
    ('no-answer', {'fault': {'status': None}}),
    ('answer-lost', {'fault': {'status': None, 'delivered': True}}),
]
#: How many of them each call meets, one after another.
KINDS = amount.amount('CYBORG_TEST_FAULTS', 1, len(FAULTS))


class FaultTest(base.ConductorTestCase):
    """One fault at the nth call, for every n; then two good reports.

    In the gate the kinds of faults take turns, from call to call.
    """

    timeout = 900
    scenarios = [('kind-%d' % number, {'turn': number})
                 for number in range(KINDS)]

    def setUp(self):
        super().setUp()
        self.conf.set(group='placement', connect_retries=0)

    def settle(self):
        """The state each round starts from: 1 allocated, 2 and 3 free."""
        self.placement.heal()
        self.report(*self.before(), by=self.manager)
        arq = self.arq()
        self.consumer = self.bind(arq, name=NAME, by=self.manager)
        self.placement.allocate(self.provider(NAME), 'CUSTOM_PCI',
                                consumer=self.consumer)

    def unsettle(self):
        self.placement.heal()
        self.manager.arq_delete_by_instance_uuid(self.context, self.consumer)
        self.placement.deallocate(self.consumer)
        self.report(by=self.manager)
        self.assertEqual(0, self.count(models.Device))

    def before(self):
        return [base.device(1), base.device(2), base.device(3),
                base.device(6, handles=base.handles(2, 6))]

    def after(self):
        """1 is missing, 2 gone, 3 changed, 4 and 5 new, 6 has more."""
        return [base.device(3, traits=('B',)), base.device(4),
                base.device(5, traits=('N',)),
                base.device(6, handles=base.handles(3, 6))]

    def disturbed(self, position):
        """A report with a fault; whether there was such a call."""
        _name, kind = FAULTS[(self.turn + position) % len(FAULTS)]
        self.placement.fail('.*', skip=position, **kind['fault'])
        try:
            self.report(*self.after(), by=self.manager)
        except base.EXPECTED as error:
            kind = error.exc_info[0]
            self.assertTrue(issubclass(kind, exception.CyborgException), kind)
        hit = bool(self.placement.recorder.faults[-1].hits)
        self.placement.heal()
        return hit

    def assertConverged(self):
        self.assertEqual(
            sorted([NAME] + ['compute-1_0000:0%d:00.0' % bus
                             for bus in (3, 4, 5, 6)]),
            sorted(device.deployables[0].name
                   for device in self.host().devices))
        for device in self.host().devices:
            deployable, = device.deployables
            self.assertEqual(self.provider(deployable.name),
                             deployable.rp_uuid)
        self.assertEqual(set(self.placement.providers()), {base.HOST} | {
            device.deployables[0].name for device in self.host().devices})
        self.assertAmounts({'CUSTOM_PCI': (1, 1)}, NAME)
        self.assertIn('CUSTOM_CYBORG_MISSING',
                      self.placement.traits(self.provider(NAME)))
        for bus, trait, total in ((3, 'B', 1), (4, 'A', 1), (5, 'N', 1),
                                  (6, 'A', 3)):
            name = 'compute-1_0000:0%d:00.0' % bus
            self.assertAmounts({'CUSTOM_PCI': (total, 0)}, name)
            self.assertEqual({'OWNER_CYBORG', 'CUSTOM_' + trait},
                             self.placement.traits(self.provider(name)))

    def test_fault_at_every_call(self):
        """B38, B60: Placement 409, 500, timeout at every call."""
        position, hit = 0, True
        while hit:
            self.manager = self.start_conductor('c%d' % position)
            self.settle()
            hit = self.disturbed(position)
            self.report(*self.after(), by=self.manager)
            self.assertConverged()
            self.placement.forget_calls()
            self.report(*self.after(), by=self.manager)
            self.assertEqual(['GET'],
                             [call.method for call in self.placement.calls])
            self.unsettle()
            position += 1
        self.assertGreater(position, 15)


load_tests = testscenarios.load_tests_apply_scenarios

# SPDX-License-Identifier: Apache-2.0
"""A bind comes of an allocation, and the device went since (ID-5, MIS-2)."""

import threading

import fixtures
import sqlalchemy as sa
import testscenarios

from cyborg.common import context
from cyborg.common import exception
from cyborg.db import absences
from cyborg.db import api
from cyborg.db import binding
from cyborg.db.sqlalchemy import models
from cyborg.tests.functional.conductor import base
from cyborg.tests.functional.conductor import test_races

NAME = 'compute-1_0000:01:00.0'
OTHER = 'compute-1_0000:02:00.0'


class GoneCase(base.ConductorTestCase):

    def allocate(self, name=NAME):
        """What Nova does before it binds."""
        return self.placement.allocate(self.provider(name), 'CUSTOM_PCI')

    def refused(self, error, name=NAME, arq=None):
        """Not bound, nothing held, and Nova knows; the error's text."""
        arq = arq or self.arq()
        raised = self.assertRaises(error, self.bind, arq, name=name)
        self.assertEqual(409, raised.code)
        row = self.arq_row(arq)
        self.assertEqual(('BindFailed', None),
                         (row.state, row.attach_handle_id))
        self.assertEqual('failed', self.nova.statuses()[arq])
        return raised.message.replace(arq, 'ARQ').replace(
            self.provider(name), 'PROVIDER')

    def noted(self):
        return {(each.handle_uuid, each.replaced_by)
                for each in absences.load(self.context, base.HOST)}

    def assertBindable(self, name=NAME):
        arq = self.arq()
        self.bind(arq, name=name)
        self.assertEqual('Bound', self.arq_row(arq).state)


class MissingTest(GoneCase):

    def setUp(self):
        super().setUp()
        self.report(base.device(1), base.device(2))

    def test_allocated_in_placement_alone(self):
        """Placement keeps it for Nova, whose bind comes too late."""
        self.allocate()
        handle = self.handle(NAME)
        self.report(base.device(2))
        self.assertEqual({(handle.uuid, '')}, self.noted())
        self.assertEqual(
            'Accelerator request ARQ was not bound: by the latest report of '
            'host compute-1 device 0000:01:00.0 of resource provider PROVIDER '
            'is missing. Bind to another device.',
            self.refused(exception.BindDeviceMissing))
        self.assertFalse(self.handle(NAME).allocated)
        self.assertBindable(OTHER)

    def test_it_is_back(self):
        self.allocate()
        self.report(base.device(2))
        other = self.start_conductor('conductor-2')
        self.report(base.device(1), base.device(2), by=other)
        self.assertEqual(set(), self.noted())
        self.assertBindable()
        with self.db.count_statements() as sql:
            self.report(base.device(1), base.device(2), by=other)
        self.assertEqual([], [s for s in sql.statements
                              if 'resource LIKE' in s])

    def test_it_is_back_before_it_is_offered(self):
        """What Placement offers can be bound."""
        self.allocate()
        self.report(base.device(2))
        seen = []
        self.placement.before(
            'PUT', lambda: seen.append(self.noted()))
        self.report(base.device(1), base.device(2))
        self.assertEqual([set()], seen[:1])

    def test_a_report_that_takes_long(self):
        """It knows before it makes providers for what is new."""
        self.allocate()
        handle, seen = self.handle(NAME), []
        self.placement.before('POST', lambda: seen.append(self.noted()))
        self.report(base.device(2), base.device(3))
        self.assertEqual([{(handle.uuid, '')}], seen[:1])

    def test_row_of_somebody_else(self):
        """It hides no handle, is not taken away, and ends no report."""
        handle = self.handle(NAME)
        with api.writer(self.context) as session:
            session.add(models.QuotaUsage(
                id=handle.id, project_id='p', user_id='u', resource='ports',
                in_use=1, reserved=0))
        self.assertBindable()
        self.report(base.device(2))
        self.assertLogged(
            'WARNING', 'Rows %d of quota_usages are none of this service, so '
            'the attach handles of these ids on host compute-1 cannot be '
            'noted as missing.' % handle.id)
        with api.reader(self.context) as session:
            self.assertEqual('ports', session.get(
                models.QuotaUsage, handle.id).resource)

    def test_note_of_another_host(self):
        """Of the host's former name, or of a handle that had the id."""
        self.allocate()
        self.report(base.device(2))
        with api.writer(self.context) as session:
            session.execute(sa.update(models.QuotaUsage).where(
                models.QuotaUsage.resource.startswith(absences.RESOURCE))
                .values(user_id='compute-7'))
        self.assertBindable()

    def test_it_is_gone_for_good(self):
        """The note goes with the row."""
        consumer = self.allocate()
        self.report(base.device(2))
        self.placement.deallocate(consumer)
        self.report(base.device(2))
        self.assertEqual(set(), self.noted())
        self.assertEqual(1, self.count(models.QuotaUsage))
        self.assertEqual(1, self.count(models.Device))

    def test_released_while_it_is_missing(self):
        """Until the next report its row is free, and nobody gets it."""
        arq = self.arq()
        self.bind(arq, name=NAME)
        self.report(base.device(2))
        self.unbind(arq)
        self.assertIn('is missing', self.refused(
            exception.BindDeviceMissing))

    def test_placement_does_not_answer(self):
        self.allocate()
        self.placement.fail('DELETE', status=500)
        self.report(base.device(2))
        self.placement.heal()
        self.refused(exception.BindDeviceMissing)

    def test_another_handle_of_the_provider(self):
        """What is there of it can be had; free or not, what is not cannot."""
        self.report(base.device(1), base.device(2), base.device(
            3, handles=base.handles(3, 3)))
        name = 'compute-1_0000:03:00.0'
        first, second, third = self.deployable(name).handles
        arq = self.arq()
        self.bind(arq, name=name)
        self.report(base.device(1), base.device(2), base.device(
            3, handles=base.handles(3, 3)[1:]))
        self.unbind(arq)
        self.assertEqual({(first.uuid, '')}, self.noted())
        for handle in (second, third):
            arq = self.arq()
            self.bind(arq, name=name)
            self.assertEqual(handle.id, self.arq_row(arq).attach_handle_id)
        self.assertIn('0000:03:01.0 of', self.refused(
            exception.BindDeviceMissing, name))

    def test_free_handles_of_a_missing_device(self):
        """One of three is allocated; the others are as little there."""
        name = 'compute-1_0000:03:00.0'
        devices = base.device(1), base.device(2)
        self.report(*devices, base.device(3, handles=base.handles(3, 3)))
        self.bind(self.arq(), name=name)
        self.report(*devices)
        self.assertEqual(3, len(self.noted()))
        self.refused(exception.BindDeviceMissing, name)

    def test_none_costs_nothing(self):
        """A report and a bind of a host that misses nothing."""
        with self.db.count_statements() as sql:
            self.report(base.device(1), base.device(2))
        self.assertLessEqual(len(sql), 7)


class ReplacedTest(GoneCase):

    def setUp(self):
        super().setUp()
        self.report(base.device(1, traits=('PCI_PRODUCT_ID_1EB8',)))

    def wanting(self, *traits):
        return self.arq(self.profile([{
            'resources:CUSTOM_PCI': '1',
            **{'trait:CUSTOM_' + trait: 'required' for trait in traits}}]))

    def replace(self):
        self.report(base.device(1, product='1eb9',
                                traits=('PCI_PRODUCT_ID_1EB9',)))

    def test_another_product_after_placement_was_asked(self):
        """The row and its provider go on, and are something else."""
        self.allocate()
        self.replace()
        device, = self.host().devices
        self.assertEqual(
            'Accelerator request ARQ was not bound: its device profile asks '
            'for trait CUSTOM_PCI_PRODUCT_ID_1EB8, and device %s of host '
            'compute-1 (resource provider PROVIDER) has '
            'CUSTOM_PCI_PRODUCT_ID_1EB9 by now. It was replaced after it had '
            'been chosen. Bind to another device.' % device.uuid,
            self.refused(exception.BindDeviceReplaced,
                         arq=self.wanting('PCI_PRODUCT_ID_1EB8')))
        self.assertFalse(self.handle(NAME).allocated)

    def test_while_its_rows_say_what_it_was(self):
        """Until they are changed nobody gets it."""
        handle, seen = self.handle(NAME), []
        self.placement.before('PUT', lambda: seen.append(self.noted()))
        self.replace()
        self.assertEqual([{(handle.uuid, '')}], seen[:1])
        self.assertEqual(set(), self.noted())

    def test_product_in_any_letters(self):
        """What it was replaced by is a text of a driver."""
        self.bind(self.arq(), name=NAME)
        for product in ('\U0001f600 ' + 'x' * 80, ' 1eb9 '):
            for _ in range(2):
                self.report(base.device(1, product=product))
                (_, by), = self.noted()
                self.assertTrue(by.isascii())
                self.assertLessEqual(len(by), 200)

    def test_who_asks_for_what_it_is(self):
        self.replace()
        for traits in ((), ('PCI_PRODUCT_ID_1EB9',), ('GOLD',),
                       ('RACK_PRODUCT_ID_7',)):
            arq = self.wanting(*traits)
            self.bind(arq, name=NAME)
            self.unbind(arq)

    def test_replaced_while_it_was_allocated(self):
        """MIS-6: the old one's row is no handle of the new one."""
        arq = self.arq()
        self.bind(arq, name=NAME)
        self.replace()
        self.assertEqual({'10de:1eb9'}, {by for _, by in self.noted()})
        self.unbind(arq)
        self.assertIn('PROVIDER was replaced by 10de:1eb9.', self.refused(
            exception.BindDeviceMissing))
        self.replace()
        self.assertEqual(set(), self.noted())
        self.assertBindable()


class MeanwhileTest(test_races.RaceCase, GoneCase):
    """A report comes while a bind stands still, having read the rows."""

    scenarios = test_races.SERVERS

    def bind_slowly(self, arq, meanwhile):
        """Conductor 1 works while conductor 0 has looked at the handles."""
        original, others = binding._candidates, []

        def looked(*args):
            found = original(*args)
            if not others:
                other = threading.Thread(target=run, daemon=True)
                others.append(other)
                other.start()
                other.join(1)
            return found

        def run():
            self.facades.chosen.index = 1
            meanwhile(self.conductors[1], context.get_admin_context())

        with fixtures.MonkeyPatch('cyborg.db.binding._candidates', looked):
            self.together((0, self.binder(arq)))
        others[0].join(60)

    def test_the_device_goes(self):
        """Its row stays with who got it before the report wrote anything."""
        self.report(base.device(1), base.device(2))
        arq = self.arq()
        self.allocate()
        self.bind_slowly(arq, self.reporter(base.device(2)))
        self.report(base.device(2))
        self.assertEqual((arq,), self.handle(NAME).arq_uuids)
        self.assertAmounts({'CUSTOM_PCI': (1, 1)}, NAME)
        self.assertInvariants()

    def test_marks_lock_nobody_else(self):
        """Binds of other hosts do not wait for a report of this one."""
        self.report(base.device(1))
        self.placement.add_provider('compute-2')
        other = base.device(7, host='compute-2')
        self.report(other, host='compute-2')
        with api.writer(self.context) as session:
            binding.hold(session, [binding.Request('a', base.HOST, 'r', 'i')])
            arq = self.arq()
            self.together((1, lambda c, asker: self.bind(
                arq, name='compute-2_0000:07:00.0', host='compute-2', by=c)))
            self.assertEqual('Bound', self.arq_row(arq).state)
        with api.reader(self.context) as session:
            self.assertEqual(2, session.scalar(sa.select(
                sa.func.count(models.QuotaUsage.id))))


load_tests = testscenarios.load_tests_apply_scenarios

# SPDX-License-Identifier: Apache-2.0
"""A report that is known to change nothing is told in two digests (PERF-5)."""

from cyborg.common import context
from cyborg.conductor import manager
from cyborg.db import host_inventory
from cyborg.db.sqlalchemy import models
from cyborg.inventory import digest
from cyborg.objects import inventory_values
from cyborg.tests.functional.conductor import base

NAME = 'compute-1_0000:01:00.0'


class DigestCase(base.ConductorTestCase):
    """``self.send`` is a whole report as an agent makes it."""

    machine: str | None = 'compute-1/boot-1'

    def setUp(self):
        super().setUp()
        self.numbers = iter(range(1, 100000))
        self.devices = [base.device(1), base.device(2)]

    def asker(self, machine=None):
        asker = context.get_admin_context()
        asker.report = context.Report(base.HOST, next(self.numbers))
        asker.machine = machine or self.machine
        return asker

    def send(self, by=None, machine=None):
        """Read, then report; returns what was read."""
        asker = self.asker(machine)
        stored = self.stored()
        (by or self.manager).report_data(asker, base.HOST, self.devices)
        return stored

    def stored(self):
        return host_inventory.load(context.get_admin_context(), base.HOST)

    def is_known(self, stored=None, by=None, machine=None, devices=None):
        return (by or self.manager).report_digest(
            self.asker(machine), base.HOST,
            digest.of_found(inventory_values.discovered_devices(
                self.devices if devices is None else devices)),
            digest.of_stored(stored or self.stored()))

    def settle(self, by=None):
        self.send(by)
        return self.send(by)


class KnownTest(DigestCase):

    def test_cost(self):
        """PERF-5: two statements, one call, whatever the number."""
        self.settle()
        self.placement.forget_calls()
        with self.db.count_statements() as sql:
            self.assertIs(True, self.is_known(stored=(stored := self.stored(
            ))))
        # The test's own look at the rows takes four of them.
        self.assertEqual(2, len(sql) - 4, sql.statements)
        self.assertEqual(['GET'], [
            call.method for call in self.placement.calls])
        with self.db.count_statements() as sql:
            self.assertIs(True, self.is_known(stored))
        self.assertEqual(2, len(sql))

    def test_over_rpc(self):
        stored = self.settle()
        self.assertIs(True, self.conductor.report_digest(
            self.asker(), base.HOST,
            digest.of_found(inventory_values.discovered_devices(
                self.devices)), digest.of_stored(stored)))

    def test_not_before_all_is_in_order(self):
        self.assertFalse(self.is_known())
        self.send()
        self.assertFalse(self.is_known())
        self.send()
        self.assertTrue(self.is_known())

    def test_other_conductors_and_restarts(self):
        self.settle()
        other = manager.ConductorManager()
        self.addCleanup(other._stop)
        self.placement.forget_calls()
        self.assertTrue(self.is_known(by=other))
        self.assertEqual(1, len(self.placement.calls))

    def test_a_host_without_devices(self):
        self.devices = []
        self.settle()
        self.assertTrue(self.is_known())

    def test_what_is_asked_counts(self):
        before = self.stored()
        self.settle()
        self.assertFalse(self.is_known(before))
        self.assertFalse(self.is_known(devices=self.devices[:1]))
        self.assertFalse(self.is_known(devices=[
            base.device(1, managed=False), self.devices[1]]))
        self.assertFalse(self.is_known(machine='compute-1/boot-2'))
        self.assertTrue(self.is_known())

    def test_another_report_that_begins(self):
        """Whatever comes of it, until one has found all in order again."""
        stored = self.settle()
        context_ = self.asker(machine='other/boot')
        self.devices.pop()
        self.placement.fail('GET', status=500)
        self.assertRaises(base.EXPECTED, self.manager.report_data, context_,
                          base.HOST, self.devices)
        self.placement.heal()
        self.devices.append(base.device(2))
        self.assertFalse(self.is_known(stored))
        self.settle()
        self.assertTrue(self.is_known())

    def test_who_sends_no_numbers_notes_nothing(self):
        self.report(*self.devices, by=self.manager)
        with self.db.count_statements() as sql:
            self.report(*self.devices, by=self.manager)
        self.assertEqual(1, sum('UPDATE' in text for text in sql.statements))
        self.assertFalse(self.is_known())

    def test_one_report_of_many_is_quiet(self):
        self.settle()
        self.assertTrue(self.is_known())
        self.assertEqual({base.HOST},
                         self.manager._reporter._tally._hosts)


class ChangedTest(DigestCase):
    """Everything else asks for the whole, and the whole brings it in line."""

    def setUp(self):
        super().setUp()
        self.settle()
        self.assertTrue(self.is_known())

    def assertAsksOnce(self, by=None):
        """As an agent: whole, and then it is known again."""
        self.assertFalse(self.is_known(by=by))
        self.settle(by)
        self.assertTrue(self.is_known(by=by))

    def test_claim_release_and_disable(self):
        arq = self.arq()
        self.assertTrue(self.is_known())
        self.bind(arq, name=NAME)
        self.assertAsksOnce()
        self.unbind(arq)
        self.assertAsksOnce()
        device = self.stored().devices[0]
        self.change(models.Device, device.id, status='maintaining')
        self.assertAsksOnce()
        self.assertAmounts({'CUSTOM_PCI': (1, 1)}, device.deployables[0].name)

    def test_rows_changed_by_hand(self):
        device = self.stored().devices[0]
        deployable = device.deployables[0]
        for model, row, values in (
                (models.Device, device, {'vendor': 'x'}),
                (models.Deployable, deployable, {'rp_uuid': None}),
                (models.Deployable, deployable, {'num_accelerators': 9}),
                (models.Attribute, deployable.attributes[1],
                 {'value': 'CUSTOM_X'}),
                (models.AttachHandle, deployable.handles[0],
                 {'in_use': True})):
            self.change(model, row.id, **values)
            self.assertAsksOnce()

    def test_drift_in_placement(self):
        provider = self.provider(NAME)
        for change in (
                lambda: self.placement.set_traits(provider, 'OWNER_CYBORG'),
                lambda: self.placement.set_inventory(
                    provider, CUSTOM_PCI={'total': 8}),
                lambda: self.placement.delete_provider(provider),
                lambda: self.placement.add_provider(
                    'compute-1_0000:07:00.0', self.root,
                    self.provider('compute-1_0000:07:00.0'))):
            change()
            self.assertAsksOnce()
        self.assertAmounts({'CUSTOM_PCI': (1, 0)}, NAME)

    def test_guests_without_devices_do_not_count(self):
        """The generation of the host's own provider changes with each."""
        self.placement.set_inventory(self.root, VCPU={'total': 8})
        self.placement.allocate(self.root, 'VCPU')
        self.assertTrue(self.is_known())

    def test_missing_and_returned(self):
        self.bind(self.arq(), name=NAME)
        gone = self.devices.pop(0)
        self.assertAsksOnce()
        self.assertAmounts({'CUSTOM_PCI': (1, 1)}, NAME)
        self.devices.insert(0, gone)
        self.assertAsksOnce()
        self.assertAmounts({'CUSTOM_PCI': (1, 0)}, NAME)

    def test_what_waits_for_a_release_is_never_known(self):
        """Placement tells of it by no generation."""
        consumer = self.placement.allocate(self.provider(NAME), 'CUSTOM_PCI')
        gone = self.devices.pop(0)
        self.settle()
        self.assertFalse(self.is_known())
        self.placement.deallocate(consumer)
        self.settle()
        self.assertTrue(self.is_known())
        self.devices.insert(0, gone)
        self.assertAsksOnce()

    def test_away_placement_is_told(self):
        self.placement.fail('GET', status=503)
        error = self.assertRaises(base.EXPECTED, self.is_known)
        self.assertIn('503', str(error.exc_info[1]))

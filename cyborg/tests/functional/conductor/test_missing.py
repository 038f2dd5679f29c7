# SPDX-License-Identifier: Apache-2.0
"""Allocated devices that disappear, and come back (bug 2017513)."""

import uuid

from cyborg.common import exception
from cyborg.db.sqlalchemy import models
from cyborg.tests.functional.conductor import base

NAME = 'compute-1_0000:01:00.0'
OTHER = 'compute-1_0000:02:00.0'
MARK = 'CUSTOM_CYBORG_MISSING'


class MissingCase(base.ConductorTestCase):

    def setUp(self):
        super().setUp()
        self.report(base.device(1), base.device(2))
        self.arq_uuid = self.arq()
        self.instance = self.bind(self.arq_uuid, name=NAME)
        # As Nova does before it binds.
        self.placement.allocate(self.provider(NAME), 'CUSTOM_PCI',
                                consumer=self.instance)
        self.before = self.host()
        self.logs.clear()

    def free(self):
        """Nova deletes the instance: the ARQ first, then the allocation."""
        self.conductor.arq_delete_by_instance_uuid(self.context,
                                                   self.instance)
        self.placement.deallocate(self.instance)

    def row(self, name=NAME, host=None):
        return [device for device in (host or self.host()).devices
                if device.deployables[0].name == name]

    def marked(self, name=NAME):
        return MARK in self.placement.traits(self.provider(name))

    def assertKept(self, name=NAME):
        """Rows, UUIDs and the allocation are what they were."""
        self.assertEqual(self.row(name, self.before), self.row(name))
        self.assertEqual(
            {'CUSTOM_PCI': 1}, self.placement.usages(self.provider(name)))

    def assertGone(self, name=NAME):
        self.assertEqual([], self.row(name))
        self.assertIsNone(self.placement.provider(self.provider(name)))

    def candidates(self):
        return self.placement.candidates('CUSTOM_PCI:1')


class MissingTest(MissingCase):

    def test_allocated_missing_device_is_kept_and_reserved(self):
        """MIS-1, MIS-2, B02"""
        self.report(base.device(2))
        self.assertKept()
        self.assertAmounts({'CUSTOM_PCI': (1, 1)}, NAME)
        self.assertTrue(self.marked())
        warning, = self.logs.messages('WARNING')
        handle = self.before.devices[0].deployables[0].handles[0]
        for word in (base.HOST, '0000:01:00.0', handle.uuid, self.arq_uuid):
            self.assertIn(word, warning)
        # The root is not ours to touch.
        self.assertEqual(set(), self.placement.traits(self.root))

    def test_warned_once_counted_each_time(self):
        for _cycle in range(3):
            self.report(base.device(2))
        self.assertEqual(1, len(self.logs.messages('WARNING')))
        lines = [self.logs.messages(level, 'cyborg.conductor.report')
                 for level in ('INFO', 'DEBUG')]
        self.assertEqual([1, 2], [len(found) for found in lines])
        for line in (*lines[0], *lines[1]):
            self.assertIn('1 devices discovered, 0 new, 0 changed, '
                          '0 removed, 1 missing but retained, 0 returned, '
                          '0 changes refused', line)

    def test_unchanged_report_with_missing_device_costs_no_write(self):
        """PERF-1 holds with a missing device, too."""
        self.report(base.device(2))
        self.placement.forget_calls()
        with self.db.count_statements() as sql:
            self.report(base.device(2))
        self.assertLessEqual(len(sql), 8)
        self.assertEqual(['GET'], [c.method for c in self.placement.calls])

    def test_return(self):
        """MIS-3: the reservation goes and nothing else changes."""
        self.report(base.device(2))
        self.report(base.device(1), base.device(2))
        self.assertKept()
        self.assertAmounts({'CUSTOM_PCI': (1, 0)}, NAME)
        self.assertFalse(self.marked())
        self.assertLogged('INFO', 'is back')
        self.assertLogged('INFO', '0 missing but retained, 1 returned')
        self.logs.clear()
        self.report(base.device(1), base.device(2))
        # A report that changed nothing is told at DEBUG.
        self.assertIn('0 returned', self.logs.messages(
            name='cyborg.conductor.report')[-1])
        self.assertEqual([], self.logs.messages('INFO'))

    def test_return_to_another_conductor(self):
        """A conductor that did not see it go lifts the reservation."""
        self.report(base.device(2))
        other = self.start_conductor('conductor-2')
        self.report(base.device(1), base.device(2), by=other)
        self.assertAmounts({'CUSTOM_PCI': (1, 0)}, NAME)
        self.assertFalse(self.marked())
        self.report(base.device(2))
        self.assertAmounts({'CUSTOM_PCI': (1, 1)}, NAME)

    def told(self):
        """What was said of the device since the last look, by level."""
        found = [(level, message) for level in ('WARNING', 'INFO')
                 for message in self.logs.messages(level)
                 if NAME in message]
        self.logs.clear()
        return [(level, 'back' if 'is back' in message else 'missing')
                for level, message in found]

    def test_each_absence_is_told_once_by_two_conductors(self):
        """One WARNING for each change of state, whoever sees it."""
        one, two = self.manager, self.start_conductor('conductor-2')
        both = [base.device(1), base.device(2)]
        self.report(*both, by=two)
        self.logs.clear()
        for first, second in ((one, two), (two, one)):
            for _absence in range(2):
                self.report(base.device(2), by=first)
                self.assertEqual([('WARNING', 'missing')], self.told())
                # One that did not see it go says what it finds.
                self.report(base.device(2), by=second)
                self.assertNotIn(('WARNING', 'missing'), self.told())
                self.report(*both, by=second)
                self.assertEqual([('INFO', 'back')], self.told())
                self.report(*both, by=first)
                self.assertEqual([], self.told())

    def test_gone_and_back_between_two_reports_of_a_conductor(self):
        one, two = self.manager, self.start_conductor('conductor-2')
        both = [base.device(1), base.device(2)]
        for _absence in range(2):
            self.logs.clear()
            self.report(base.device(2), by=one)
            self.assertEqual([('WARNING', 'missing')], self.told())
            self.report(*both, by=two)
            self.assertLogged('INFO', '1 returned')
            self.assertEqual([('INFO', 'back')], self.told())

    def test_return_after_a_restart_of_the_conductor(self):
        self.report(base.device(2))
        restarted = self.start_conductor('conductor-2')
        self.logs.clear()
        self.report(base.device(1), base.device(2), by=restarted)
        self.assertLogged('INFO', '1 returned')
        self.assertEqual([('INFO', 'back')], self.told())

    def test_released_between_plan_and_look_of_another_conductor(self):
        """A provider that is gone with its rows is not made for good."""
        other = self.start_conductor('conductor-2')
        self.report(base.device(2))

        def release_and_report():
            self.free()
            self.report(base.device(2), by=self.manager)
            self.assertGone()

        self.placement.before('GET /resource_providers', release_and_report)
        # It was overtaken, and does nothing more.
        self.assertRaises(base.EXPECTED, self.report, base.device(2),
                          by=other)
        self.assertGone()
        for by in (self.manager, other):
            self.report(base.device(2), by=by)
            self.assertEqual({base.HOST, OTHER},
                             set(self.placement.providers()))

    def test_released_while_missing(self):
        """MIS-3: the next report removes it."""
        self.report(base.device(2))
        self.free()
        self.report(base.device(2))
        self.assertGone()
        self.report(base.device(2))
        self.assertAmounts({'CUSTOM_PCI': (1, 0)}, OTHER)

    def test_unbound_while_allocation_remains(self):
        """MIS-4: a refusal of Placement counts as allocated."""
        self.report(base.device(2))
        self.conductor.arq_delete_by_instance_uuid(self.context,
                                                   self.instance)
        for _cycle in range(2):
            self.report(base.device(2))
            self.assertEqual(1, len(self.row()))
            self.assertAmounts({'CUSTOM_PCI': (1, 1)}, NAME)
        _missing, warning = self.logs.messages('WARNING')
        for word in (NAME, base.HOST, '0000:01:00.0', self.handle(NAME).uuid,
                     self.provider(NAME)):
            self.assertIn(word, warning)
        self.placement.deallocate(self.instance)
        self.report(base.device(2))
        self.assertGone()

    def test_conflict_does_not_stop_the_others(self):
        """FAULT-25: the others are changed, removed and added."""
        self.conductor.arq_delete_by_instance_uuid(self.context,
                                                   self.instance)
        self.report(base.device(3))
        self.assertEqual(1, len(self.row()))
        self.assertGone(OTHER)
        self.assertEqual(1, len(self.row('compute-1_0000:03:00.0')))

    def test_free_missing_device_is_removed(self):
        """MIS-4"""
        self.report(base.device(1))
        self.assertGone(OTHER)
        self.assertKept()
        self.assertLogged('INFO', 'is gone and was removed')

    def test_empty_selection_removes_what_is_free(self):
        """B01"""
        self.report()
        self.assertGone(OTHER)
        self.assertKept()
        self.assertAmounts({'CUSTOM_PCI': (1, 1)}, NAME)
        warning, = self.logs.messages('WARNING')
        self.assertIn(NAME, warning)

    def test_whitelist_story(self):
        """MIS-5: allocate, drop the rule, restore it, allocate again."""
        handle = self.handle(NAME).uuid
        self.report()
        self.report()
        self.report(base.device(1), base.device(2))
        self.assertKept()
        self.assertEqual(handle, self.handle(NAME).uuid)
        self.assertEqual(1, self.candidates())
        newcomer = self.arq()
        self.assertRaises(exception.ResourceNotFound, self.bind, newcomer,
                          name=NAME)
        self.unbind(newcomer)
        self.bind(newcomer, name=OTHER)
        self.assertEqual(self.handle(OTHER).arq_uuids, (newcomer,))
        self.assertEqual(self.handle(NAME).arq_uuids, (self.arq_uuid,))
        self.assertEqual(2, self.count(models.AttachHandle))

    def test_disabled_device_that_returns_stays_reserved(self):
        """MIS-6 of the issue: ``device disable`` survives any report."""
        device = self.row()[0]
        self.report(base.device(2))
        self.change(models.Device, device.id, status='maintaining')
        self.placement.set_reserved(self.provider(NAME), 'CUSTOM_PCI', 1)
        self.report(base.device(1), base.device(2))
        self.assertAmounts({'CUSTOM_PCI': (1, 1)}, NAME)
        self.assertFalse(self.marked())

    def test_operators_reservation_survives(self):
        """FAULT-24"""
        self.placement.set_reserved(self.provider(OTHER), 'CUSTOM_PCI', 1)
        self.report(base.device(1), base.device(2, traits=('A', 'B')))
        self.report(base.device(1), base.device(2))
        self.assertAmounts({'CUSTOM_PCI': (1, 1)}, OTHER)

    def test_provider_deleted_behind_our_back(self):
        self.placement.deallocate(self.instance)
        self.placement.delete_provider(self.provider(NAME))
        self.report(base.device(1), base.device(2))
        self.assertAmounts({'CUSTOM_PCI': (1, 0)}, NAME)
        self.assertEqual(self.row(host=self.before), self.row())

    def test_in_use_without_request_counts(self):
        """Either mark of an allocation keeps a missing device."""
        self.change(models.AttachHandle, self.handle(OTHER).id, in_use=True)
        self.report(base.device(1))
        self.assertAmounts({'CUSTOM_PCI': (1, 1)}, OTHER)
        self.assertEqual(1, len(self.row(OTHER)))

    def test_request_without_mark_counts(self):
        stray = self.arq()
        self.change(models.ExtARQ, self.arq_row(stray).id,
                    attach_handle_id=self.handle(OTHER).id)
        self.report(base.device(1))
        self.assertEqual(1, len(self.row(OTHER)))
        self.assertLogged('WARNING', stray)

    def test_stub_keeps_a_device_as_it_is(self):
        """state-machine.md: neither added, nor removed, nor updated."""
        self.report(base.device(1, stub=True, vendor='ffff'),
                    base.device(2, stub=True), base.device(3, stub=True))
        self.assertEqual(self.before, self.host())
        self.assertAmounts({'CUSTOM_PCI': (1, 0)}, NAME)
        self.assertEqual([], self.logs.messages('WARNING'))


class ReplacedTest(MissingCase):
    """MIS-6, B23: another device at the address of an allocated one."""

    def test_replaced(self):
        for _cycle in range(2):
            self.report(base.device(1, vendor='8086', product='0b60'),
                        base.device(2))
        self.assertKept()
        self.assertAmounts({'CUSTOM_PCI': (1, 1)}, NAME)
        self.assertEqual(2, self.count(models.Device))
        warning, = self.logs.messages('WARNING')
        for word in ('8086:0b60', NAME, self.arq_uuid):
            self.assertIn(word, warning)

    def test_offered_after_release(self):
        new = base.device(1, vendor='8086', product='0b60')
        self.report(new, base.device(2))
        self.free()
        self.report(new, base.device(2))
        device, = self.row()
        self.assertEqual(('8086', '0b60'), (device.vendor, device.model))
        self.assertAmounts({'CUSTOM_PCI': (1, 0)}, NAME)
        self.assertFalse(self.marked())

    def test_old_one_returns(self):
        self.report(base.device(1, vendor='8086'), base.device(2))
        self.report(base.device(1), base.device(2))
        self.assertKept()
        self.assertAmounts({'CUSTOM_PCI': (1, 0)}, NAME)

    def test_free_device_is_replaced_at_once(self):
        self.report(base.device(1), base.device(2, vendor='8086'))
        device, = self.row(OTHER)
        self.assertEqual('8086', device.vendor)
        self.assertAmounts({'CUSTOM_PCI': (1, 0)}, OTHER)


class PartTest(base.ConductorTestCase):
    """One of several handles of a device disappears."""

    def setUp(self):
        super().setUp()
        self.parts = base.handles(4)
        self.report(base.device(1, handles=self.parts))
        self.arq_uuid = self.arq()
        self.instance = self.bind(self.arq_uuid, name=NAME)
        self.placement.allocate(self.provider(NAME), 'CUSTOM_PCI',
                                consumer=self.instance)

    def report_parts(self, parts):
        self.report(base.device(1, handles=parts))

    def test_allocated_part_is_reserved(self):
        self.report_parts(self.parts[1:])
        self.assertEqual(4, len(self.deployable(NAME).handles))
        # The missing one counts as used, and not as reserved as well.
        self.assertAmounts({'CUSTOM_PCI': (4, 0)}, NAME)
        self.assertLogged('WARNING', 'does not show all of it')
        # What is still there can be given away, and no more.
        for _count in range(3):
            self.bind(self.arq(), name=NAME)
        self.assertRaises(exception.ResourceNotFound, self.bind, self.arq(),
                          name=NAME)

    def test_return_of_part(self):
        self.report_parts(self.parts[1:])
        self.report_parts(self.parts)
        self.assertAmounts({'CUSTOM_PCI': (4, 0)}, NAME)
        self.assertNotIn(MARK, self.placement.traits(self.provider(NAME)))
        self.assertTrue(self.deployable(NAME).handles[0].allocated)

    def test_part_is_lost_and_then_all_of_it(self):
        """MIS-1: what was lost before counts, too; nothing waits for it."""
        second = self.arq()
        self.placement.allocate(
            self.provider(NAME), 'CUSTOM_PCI',
            consumer=self.bind(second, name=NAME))
        self.report_parts(self.parts[2:3])
        self.assertAmounts({'CUSTOM_PCI': (3, 0)}, NAME)
        self.logs.clear()
        self.report()
        self.assertAmounts({'CUSTOM_PCI': (2, 2)}, NAME)
        self.assertNotLogged('WARNING', 'deferred')
        self.placement.forget_calls()
        self.report()
        self.assertEqual(['GET'], [c.method for c in self.placement.calls])

    def test_released_part_goes(self):
        self.report_parts(self.parts[1:])
        self.unbind(self.arq_uuid)
        self.placement.deallocate(self.instance)
        self.report_parts(self.parts[1:])
        self.assertEqual(3, len(self.deployable(NAME).handles))
        self.assertAmounts({'CUSTOM_PCI': (3, 0)}, NAME)

    def test_free_part_goes_and_comes_back(self):
        self.report_parts(self.parts[:3])
        self.assertEqual(3, len(self.deployable(NAME).handles))
        self.assertAmounts({'CUSTOM_PCI': (3, 0)}, NAME)
        self.report_parts(self.parts)
        self.assertEqual(4, len(self.deployable(NAME).handles))
        self.assertAmounts({'CUSTOM_PCI': (4, 0)}, NAME)

    def test_all_parts_gone_but_allocation(self):
        """Total never below what is allocated (B02)."""
        for _count in range(2):
            consumer = str(uuid.uuid4())
            self.placement.allocate(self.provider(NAME), 'CUSTOM_PCI',
                                    consumer=consumer)
        self.report_parts([])
        (total, reserved), = self.placement.amounts(
            self.provider(NAME)).values()
        self.assertGreaterEqual(total, 3)
        self.assertEqual(0, self.placement.candidates('CUSTOM_PCI:1'))
        self.assertEqual(total, reserved)

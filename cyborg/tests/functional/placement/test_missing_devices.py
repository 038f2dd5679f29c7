# SPDX-License-Identifier: Apache-2.0
"""Reservations: missing devices, disabled devices, an operator's own."""

import dataclasses

from cyborg.common import exception
from cyborg.conductor.providers.outcomes import Kind
from cyborg.conf import CONF
from cyborg.placement import updates
from cyborg.tests.functional.placement import base
from cyborg.tests.functional.placement.base import MARK
from cyborg.tests.functional.placement.base import wanted

PCI = 'CUSTOM_PCI'


class MissingTestCase(base.PlacementTestCase):

    def test_missing_then_back(self):
        """MIS-2, MIS-3: nothing new lands on it; then all is as before."""
        one = wanted()
        self.report(one)
        self.placement.allocate(one.uuid, PCI)
        before = self.placement.inventory(one.uuid)
        gone = dataclasses.replace(one, missing=1)
        result, calls = self.report(gone)
        self.assertEqual([Kind.UPDATED], self.kinds(result))
        self.assertProvider(one.uuid, {PCI: (1, 1)}, 'CUSTOM_A', MARK)
        writes = [c.split('/')[-1] for c in calls if c.startswith('PUT /res')]
        self.assertEqual(['traits', 'inventories'], writes)
        self.assertEqual({PCI: 1}, self.placement.usages(one.uuid))
        _result, calls = self.report(gone)
        self.assertEqual(1, len(calls), 'PERF-1: no write while it lasts')
        result, calls = self.report(one)
        writes = [c.split('/')[-1] for c in calls if c.startswith('PUT /res')]
        self.assertEqual(['inventories', 'traits'], writes)
        self.assertEqual(before, self.placement.inventory(one.uuid))
        self.assertProvider(one.uuid, {PCI: (1, 0)}, 'CUSTOM_A')
        self.assertConverges(one)

    def test_units_of_one_device(self):
        """Two of four are missing: two can still be had."""
        one = wanted(total=4)
        self.report(one)
        self.placement.allocate(one.uuid, PCI, 1)
        self.placement.allocate(one.uuid, PCI, 1)
        for missing in (2, 1, 2, 0):
            self.report(dataclasses.replace(one, missing=missing))
            self.assertEqual({PCI: (4, missing)},
                             self.placement.amounts(one.uuid))
            self.assertEqual(bool(missing),
                             MARK in self.placement.traits(one.uuid))

    def test_after_a_restart_of_the_conductor(self):
        one = wanted()
        self.report(dataclasses.replace(one, missing=1))
        self.report(one, sync=self.new_sync())
        self.assertProvider(one.uuid, {PCI: (1, 0)}, 'CUSTOM_A')

    def test_rule_removed_while_allocated(self):
        """B02: no failed cycle; the provider goes after the release."""
        one = wanted()
        self.report(one)
        consumer = self.placement.allocate(one.uuid, PCI)
        for _cycle in range(2):
            result, _calls = self.report(dataclasses.replace(one, missing=1))
            self.assertEqual({}, result.failed)
            self.assertProvider(one.uuid, {PCI: (1, 1)}, 'CUSTOM_A', MARK)
        # Nova may rewrite the allocation as it is, and delete it.
        self.placement.deallocate(consumer)
        result, _calls = self.report(removed=[one])
        self.assertEqual([Kind.REMOVED], self.kinds(result))
        self.assertIsNone(self.placement.provider(one.uuid))

    def test_fewer_units_than_allocated(self):
        """B02: the total stays at what is used until it is free."""
        one = wanted(total=4)
        self.report(one)
        first = self.placement.allocate(one.uuid, PCI, 2)
        self.placement.allocate(one.uuid, PCI, 1)
        less = dataclasses.replace(one, total=1)
        result, _calls = self.report(less)
        self.assertEqual('3 of CUSTOM_PCI are allocated, 1 exist',
                         result[one.uuid].reason)
        self.assertProvider(one.uuid, {PCI: (3, 2)}, 'CUSTOM_A', MARK)
        self.placement.deallocate(first)
        result, _calls = self.report(less)
        self.assertEqual([Kind.UPDATED], self.kinds(result))
        self.assertProvider(one.uuid, {PCI: (1, 0)}, 'CUSTOM_A')
        self.assertConverges(less)

    def test_retained_device_returns(self):
        """MIS-4: what Placement refused to delete is found again."""
        one = wanted()
        self.report(one)
        consumer = self.placement.allocate(one.uuid, PCI)
        self.report(removed=[one])
        self.assertProvider(one.uuid, {PCI: (1, 1)}, 'CUSTOM_A', MARK)
        self.report(one)
        self.assertProvider(one.uuid, {PCI: (1, 0)}, 'CUSTOM_A')
        self.placement.deallocate(consumer)
        self.assertConverges(one)


class DisabledTestCase(base.PlacementTestCase):
    """FAULT-24: a disabled device stays so whatever is reported."""

    def setUp(self):
        super().setUp()
        self.one = wanted(total=2)
        self.report(self.one)

    def reserve(self, everything):
        change = updates.disable if everything else updates.enable
        change(self.client, self.context, self.one.uuid)

    def amounts(self):
        return self.placement.amounts(self.one.uuid)

    def test_disable_and_enable(self):
        self.reserve(True)
        self.assertEqual({PCI: (2, 2)}, self.amounts())
        disabled = dataclasses.replace(self.one, disabled=True)
        for now in (disabled, dataclasses.replace(disabled, total=3),
                    dataclasses.replace(disabled, resource_class='CUSTOM_X'),
                    disabled):
            self.report(now)
            self.assertEqual({now.resource_class: (now.total, now.total)},
                             self.amounts())
        self.reserve(False)
        self.report(self.one)
        self.assertEqual({PCI: (2, 0)}, self.amounts())
        _result, calls = self.report(self.one)
        self.assertEqual(1, len(calls))

    def test_report_that_does_not_know_yet(self):
        """The device was disabled after the report had read the rows."""
        self.reserve(True)
        self.report(dataclasses.replace(self.one, total=2))
        self.assertEqual({PCI: (2, 2)}, self.amounts())

    def test_report_that_still_sees_it_disabled(self):
        """Enabled after the report had read the rows: heals itself."""
        disabled = dataclasses.replace(self.one, disabled=True)
        self.reserve(True)
        self.report(disabled)
        self.reserve(False)
        self.report(disabled)
        self.assertEqual({PCI: (2, 2)}, self.amounts())
        self.report(self.one)
        self.assertEqual({PCI: (2, 0)}, self.amounts())

    def test_enabled_but_placement_was_down(self):
        self.reserve(True)
        self.report(dataclasses.replace(self.one, disabled=True))
        self.placement.fail('PUT', status=500)
        self.assertRaises(exception.PlacementServerError, self.reserve,
                          False)
        self.report(self.one)
        self.assertEqual({PCI: (2, 0)}, self.amounts())

    def test_operators_reservation_after_enabling_stays(self):
        disabled = dataclasses.replace(self.one, disabled=True)
        self.reserve(True)
        self.report(disabled)
        self.reserve(False)
        self.placement.set_reserved(self.one.uuid, PCI, 1)
        self.report(self.one)
        self.assertEqual({PCI: (2, 1)}, self.amounts())

    def test_someone_frees_a_disabled_device(self):
        """A script that wipes devices sets reserved to 0 when it is done."""
        disabled = dataclasses.replace(self.one, disabled=True)
        self.reserve(True)
        self.report(disabled)
        self.placement.set_reserved(self.one.uuid, PCI, 0)
        self.report(disabled)
        self.assertEqual({PCI: (2, 2)}, self.amounts())

    def test_disabled_missing_back_enabled(self):
        self.placement.allocate(self.one.uuid, PCI)
        for disabled, missing, expected in (
                (True, 0, (2, 2)), (True, 1, (2, 2)), (True, 0, (2, 2)),
                (True, 1, (2, 2)), (False, 1, (2, 1)), (False, 0, (2, 0))):
            self.report(dataclasses.replace(
                self.one, disabled=disabled, missing=missing))
            self.assertEqual({PCI: expected}, self.amounts())

    def test_enable_while_missing(self):
        """The API does not know how many are missing; the report does."""
        self.placement.allocate(self.one.uuid, PCI)
        gone = dataclasses.replace(self.one, disabled=True, missing=1)
        self.reserve(True)
        self.report(gone)
        self.reserve(False)
        self.assertEqual({PCI: (2, 2)}, self.amounts())
        self.report(dataclasses.replace(gone, disabled=False))
        self.assertEqual({PCI: (2, 1)}, self.amounts())

    def test_new_provider_of_a_disabled_device(self):
        self.placement.delete_provider(self.one.uuid)
        self.report(dataclasses.replace(self.one, disabled=True))
        self.assertEqual({PCI: (2, 2)}, self.amounts())


class OperatorsReservationTestCase(base.PlacementTestCase):
    """A script reserves devices with data on them until they are wiped."""

    def test_kept_by_every_change(self):
        one = wanted(total=2)
        self.report(one)
        self.placement.set_reserved(one.uuid, PCI, 1)
        for now in (one, dataclasses.replace(one, total=3),
                    dataclasses.replace(one, traits=frozenset())):
            for sync in (self.sync, self.new_sync()):
                self.report(now, sync=sync)
                self.assertEqual({PCI: (now.total, 1)},
                                 self.placement.amounts(one.uuid))

    def test_kept_while_missing_and_after(self):
        """Freeing it at the return would hand out data of the last user."""
        one = wanted()
        self.report(one)
        self.placement.allocate(one.uuid, PCI)
        self.placement.set_reserved(one.uuid, PCI, 1)
        for missing in (1, 0, 1, 0):
            self.report(dataclasses.replace(one, missing=missing))
            self.assertProvider(one.uuid, {PCI: (1, 1)}, 'CUSTOM_A')

    def test_freed_while_missing(self):
        one = wanted()
        self.report(one)
        self.placement.set_reserved(one.uuid, PCI, 1)
        gone = dataclasses.replace(one, missing=1)
        self.report(gone)
        self.placement.set_reserved(one.uuid, PCI, 0)
        self.report(gone)
        self.assertProvider(one.uuid, {PCI: (1, 1)}, 'CUSTOM_A', MARK)


class ConcurrencyTestCase(base.PlacementTestCase):

    def test_conflict_twice(self):
        """B38: success at the third attempt."""
        one = wanted()
        self.report(one)
        fault = self.placement.fail(
            'PUT .*/inventories', status=409, times=2,
            code='placement.concurrent_update')
        result, _calls = self.report(dataclasses.replace(one, total=2))
        self.assertEqual({}, result.failed)
        self.assertEqual(2, fault.hits)
        self.assertEqual({PCI: (2, 0)}, self.placement.amounts(one.uuid))

    def test_conflict_ten_times(self):
        """B38: an error after three attempts, the next cycle succeeds."""
        one, other = wanted(), wanted('02:00.0')
        self.report(one, other)
        fault = self.placement.fail(
            'PUT .*%s/inventories' % one.uuid, status=409, times=10,
            code='placement.concurrent_update')
        more = [dataclasses.replace(d, total=2) for d in (one, other)]
        result, _calls = self.report(*more)
        self.assertEqual(3, fault.hits)
        self.assertIsInstance(result.failed[one.uuid].error,
                              exception.ResourceProviderUpdateConflict)
        self.assertEqual({PCI: (2, 0)}, self.placement.amounts(other.uuid))
        self.placement.heal()
        self.assertConverges(*more)

    def test_real_conflict(self):
        """Nova allocates between our read and our write."""
        one = wanted(total=2)
        self.report(one)
        self.placement.before(
            'PUT .*/inventories',
            lambda: self.placement.allocate(one.uuid, PCI))
        result, _calls = self.report(dataclasses.replace(one, total=3))
        self.assertEqual([Kind.UPDATED], self.kinds(result))
        self.assertEqual({PCI: (3, 0)}, self.placement.amounts(one.uuid))

    def test_allocated_between_the_class_change(self):
        """B36: the last unit of the old class is taken at the last moment."""
        one = wanted()
        self.report(one)
        self.placement.before(
            'PUT .*/inventories',
            lambda: self.placement.allocate(one.uuid, PCI))
        result, _calls = self.report(
            dataclasses.replace(one, resource_class='CUSTOM_B'))
        self.assertEqual([Kind.DEFERRED], self.kinds(result))
        self.assertEqual({PCI: (1, 0)}, self.placement.amounts(one.uuid))

    def test_inventory_in_use_is_never_ignored(self):
        """FAULT-24: the refusal reaches the result."""
        one = wanted()
        self.report(one)
        self.placement.fail('PUT .*/inventories', status=409, times=None,
                            code='placement.inventory.inuse')
        result, _calls = self.report(
            dataclasses.replace(one, resource_class='CUSTOM_B'))
        self.assertIsInstance(result.failed[one.uuid].error,
                              exception.InventoryInUse)

    def test_two_conductors_create_the_same(self):
        one = wanted()
        other = self.new_sync()

        def faster():
            other.sync(self.context, base.HOST, [one], {one.uuid})

        self.placement.before('POST', faster)
        result, _calls = self.report(one)
        self.assertEqual([Kind.UNCHANGED], self.kinds(result))
        self.assertConverges(one)

    def test_allocated_just_before_the_removal(self):
        """MIS-4: Placement's refusal decides."""
        one = wanted()
        self.report(one)
        self.placement.before(
            'DELETE', lambda: self.placement.allocate(one.uuid, PCI))
        result, _calls = self.report(removed=[one])
        self.assertEqual({one.uuid}, set(result.retained))
        for part in (one.name, 'no accelerator request',
                     'show --allocations ' + one.uuid):
            self.assertIn(part, result.retained[one.uuid].reason)
        self.assertProvider(one.uuid, {PCI: (1, 1)}, 'CUSTOM_A', MARK)

    def test_placement_goes_down_in_the_middle(self):
        """Three timeouts and the rest is left for the next report.

        Except for what was under way beside the third.
        """
        for at_once in (1, 8):
            CONF.set_override('max_concurrent_requests', at_once,
                                      'placement')
            self.addCleanup(CONF.clear_override,
                            'max_concurrent_requests', 'placement')
            devices = [wanted('%02x:%02x.0' % (n, at_once))
                       for n in range(20)]
            self.placement.fail('POST|PUT .*providers', times=None)
            sync = self.new_sync()
            result, calls = self.report(*devices, sync=sync)
            self.assertEqual(20, len(result.failed))
            posts = len([c for c in calls if 'POST' in c])
            self.assertLessEqual(3, posts)
            self.assertLessEqual(posts, 3 + at_once - 1)
            self.assertIn('not tried', result.failed[devices[19].uuid].reason)
            self.placement.heal()
            self.assertConverges(*devices, sync=sync)

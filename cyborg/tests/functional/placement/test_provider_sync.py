# SPDX-License-Identifier: Apache-2.0
"""Reports of one host against a real Placement.

The steps follow those recorded for the 2026.2 release; where this release
does it differently on purpose, the test says so.
"""

import dataclasses
import threading

from cyborg.common import exception
from cyborg.conductor.providers.outcomes import Kind
from cyborg.placement import provider_plan
from cyborg.tests.functional.placement import base
from cyborg.tests.functional.placement.base import HOST
from cyborg.tests.functional.placement.base import MARK
from cyborg.tests.functional.placement.base import OWNER
from cyborg.tests.functional.placement.base import wanted


class RecordedStepsTestCase(base.PlacementTestCase):

    def test_step_01_first_report_of_one_device(self):
        """BASE-1: same provider uuid, name and parent as 2026.2."""
        one = wanted(traits=['CUSTOM_PCI_TEST'])
        self.assertEqual('a6228228-a1ee-3206-b8b5-f32403b2eafe', one.uuid)
        result, calls = self.report(one)
        self.assertEqual([Kind.CREATED], self.kinds(result))
        record = self.placement.provider(one.uuid)
        self.assertEqual('compute-2_0000:01:00.0', record['name'])
        self.assertEqual(self.root, record['parent_provider_uuid'])
        inventory = self.placement.inventory(one.uuid)
        self.assertEqual({'CUSTOM_PCI': {
            'total': 1, 'reserved': 0, 'min_unit': 1, 'max_unit': 1,
            'step_size': 1, 'allocation_ratio': 1.0}}, inventory)
        self.assertProvider(one.uuid, {'CUSTOM_PCI': (1, 0)},
                            'CUSTOM_PCI_TEST')
        uuid = one.uuid
        self.assertEqual([
            'GET /resource_providers?name=compute-2',
            'GET /resource_providers?in_tree=%s' % self.root,
            'GET /traits?name=in:CUSTOM_PCI_TEST,OWNER_CYBORG',
            'PUT /traits/CUSTOM_PCI_TEST',
            'PUT /resource_classes/CUSTOM_PCI',
            'POST /resource_providers',
            'PUT /resource_providers/%s/traits' % uuid,
            'PUT /resource_providers/%s/inventories' % uuid], calls)

    def test_step_02_unchanged_report_is_one_read(self):
        """PERF-1: whatever the number of devices."""
        for count in (1, 3, 20):
            devices = [wanted('%02x:00.0' % n) for n in range(count)]
            self.report(*devices)
            result, calls = self.report(*devices)
            self.assertEqual({Kind.UNCHANGED}, set(self.kinds(result)))
            self.assertEqual(
                ['GET /resource_providers?in_tree=%s' % self.root], calls)

    def test_step_02_after_a_restart_of_the_conductor(self):
        """Nothing is remembered: everything is read once, nothing written."""
        devices = [wanted('01:00.0'), wanted('02:00.0')]
        self.report(*devices)
        sync = self.new_sync()
        _result, calls = self.report(*devices, sync=sync)
        self.assertEqual('GET /resource_providers?in_tree=%s'
                         % devices[0].uuid, calls[0])
        self.assertEqual({'GET'}, {call.split()[0] for call in calls})
        _result, calls = self.report(*devices, sync=sync)
        self.assertEqual(1, len(calls), calls)

    def test_step_03_trait_value_changed(self):
        """FAULT-23: the old trait leaves the provider, not Placement."""
        self.report(wanted(traits=['CUSTOM_A']))
        now = wanted(traits=['CUSTOM_B'])
        result, calls = self.report(now)
        self.assertEqual([Kind.UPDATED], self.kinds(result))
        self.assertProvider(now.uuid, {'CUSTOM_PCI': (1, 0)}, 'CUSTOM_B')
        self.assertIn('CUSTOM_A', self.placement.all_traits())
        self.assertFalse([c for c in calls if c.startswith('DELETE')])

    def test_step_03_after_a_restart_of_the_conductor(self):
        self.report(wanted(traits=['CUSTOM_A']))
        now = wanted(traits=['CUSTOM_B'],
                     stale_traits=frozenset(['CUSTOM_A']))
        self.report(now, sync=self.new_sync())
        self.assertProvider(now.uuid, {'CUSTOM_PCI': (1, 0)}, 'CUSTOM_B')

    def test_step_04_trait_added(self):
        self.report(wanted(traits=['CUSTOM_A']))
        now = wanted(traits=['CUSTOM_A', 'CUSTOM_NEW'])
        self.report(now)
        self.assertProvider(now.uuid, {'CUSTOM_PCI': (1, 0)}, 'CUSTOM_A',
                            'CUSTOM_NEW')

    def test_step_05_trait_removed_here_stays_elsewhere(self):
        """B35: two hosts share a trait, one drops it."""
        self.placement.add_provider('compute-3')
        other = wanted(host='compute-3', traits=['CUSTOM_SHARED'])
        self.report(wanted(traits=['CUSTOM_SHARED']))
        self.report(other, host='compute-3')
        now = wanted(traits=[])
        result, calls = self.report(now)
        self.assertEqual({}, result.failed)
        self.assertProvider(now.uuid, {'CUSTOM_PCI': (1, 0)})
        self.assertProvider(other.uuid, {'CUSTOM_PCI': (1, 0)},
                            'CUSTOM_SHARED')
        self.assertFalse([c for c in calls if c.startswith('DELETE')])

    def test_step_06_number_of_accelerators(self):
        for total in (1, 2, 5, 3):
            now = wanted(total=total)
            self.report(now)
            record = self.placement.inventory(now.uuid)['CUSTOM_PCI']
            self.assertEqual((total, total),
                             (record['total'], record['max_unit']))
        self.assertConverges(now)

    def test_step_07_resource_class_changed(self):
        """B15: the old class is left behind by no one, and not deleted."""
        self.report(wanted(rc='CUSTOM_PCI', total=2))
        now = wanted(rc='CUSTOM_OTHER', total=2)
        result, calls = self.report(now)
        self.assertEqual([Kind.UPDATED], self.kinds(result))
        self.assertProvider(now.uuid, {'CUSTOM_OTHER': (2, 0)}, 'CUSTOM_A')
        self.assertIn('CUSTOM_PCI', self.placement.resource_classes())
        self.assertEqual(
            1, len([c for c in calls if c.endswith('/inventories')
                    and c.startswith('PUT')]), calls)

    def test_step_07_resource_class_changed_while_used(self):
        """B36: the old class is kept until the release."""
        before = wanted(rc='CUSTOM_PCI')
        self.report(before)
        consumer = self.placement.allocate(before.uuid, 'CUSTOM_PCI')
        now = wanted(rc='CUSTOM_OTHER')
        for _cycle in range(3):
            result, calls = self.report(now)
            outcome = result[now.uuid]
            self.assertEqual(Kind.DEFERRED, outcome.kind)
            self.assertEqual('CUSTOM_OTHER replaces CUSTOM_PCI when the 1 '
                             'allocated units are free', outcome.reason)
            self.assertProvider(now.uuid, {'CUSTOM_PCI': (1, 0)}, 'CUSTOM_A')
            self.assertFalse([c for c in calls if c.startswith(
                'PUT /resource_providers')], calls)
        self.assertEqual(1, len(self.logs.messages('WARNING')))
        self.placement.deallocate(consumer)
        self.report(now)
        self.assertProvider(now.uuid, {'CUSTOM_OTHER': (1, 0)}, 'CUSTOM_A')
        self.assertConverges(now)

    def test_step_09_10_only_trait_keys_are_traits(self):
        """FAULT-22: no other attribute reaches Placement."""
        rc, traits = provider_plan.from_attributes([
            ('rc', 'CUSTOM_PCI'), ('trait0', OWNER), ('trait1', 'CUSTOM_A'),
            ('product_id', 'CUSTOM_LOOKS_LIKE_TRAIT'), ('note', 'abc')])
        now = wanted(rc=rc, traits=traits)
        self.report(now)
        self.assertProvider(now.uuid, {'CUSTOM_PCI': (1, 0)}, 'CUSTOM_A')
        self.assertNotIn('CUSTOM_LOOKS_LIKE_TRAIT',
                         self.placement.all_traits())

    def test_step_11_second_device_with_a_standard_class(self):
        first, second = wanted(), wanted('05:00.0', rc='PGPU', traits=[])
        self.report(first)
        result, calls = self.report(first, second)
        self.assertEqual([Kind.UNCHANGED, Kind.CREATED],
                         self.kinds(result))
        self.assertEqual('41e7a201-751f-3198-ae1a-9dc6844d9668', second.uuid)
        self.assertProvider(second.uuid, {'PGPU': (1, 0)})
        self.assertFalse([c for c in calls if 'PUT /resource_classes' in c])

    def test_step_12_device_removed(self):
        first, second = wanted(), wanted('05:00.0')
        self.report(first, second)
        result, calls = self.report(second, removed=[first])
        self.assertEqual([Kind.REMOVED, Kind.UNCHANGED],
                         self.kinds(result))
        self.assertEqual([
            'GET /resource_providers?in_tree=%s' % self.root,
            'DELETE /resource_providers/%s' % first.uuid], calls)
        self.assertIsNone(self.placement.provider(first.uuid))
        self.assertConverges(second)

    def test_step_14_deployable_renamed(self):
        before = wanted('05:00.0')
        now = wanted(name='compute-2_renamed')
        self.report(before)
        result, _calls = self.report(now, removed=[before])
        self.assertEqual([Kind.REMOVED, Kind.CREATED],
                         self.kinds(result))
        self.assertConverges(now)

    def test_step_15_unknown_host(self):
        error = self.assertRaises(
            exception.PlacementResourceProviderNotFound, self.report,
            wanted(host='nohost'), host='nohost')
        self.assertIn('nohost', error.message)
        self.assertIn('[agent] resource_provider_name', error.message)

    def test_step_16_to_18_removed_while_allocated(self):
        """FAULT-25, MIS-4: retained, reserved, and the others go on."""
        gone, stays = wanted(), wanted('05:00.0')
        self.report(gone, stays)
        consumer = self.placement.allocate(gone.uuid, 'CUSTOM_PCI')
        new = wanted('06:00.0')
        result, _calls = self.report(stays, new, removed=[gone])
        self.assertEqual({gone.uuid}, set(result.retained))
        self.assertEqual(Kind.CREATED, result[new.uuid].kind)
        self.assertProvider(gone.uuid, {'CUSTOM_PCI': (1, 1)}, 'CUSTOM_A',
                            MARK)
        result, calls = self.report(stays, new, removed=[gone])
        self.assertEqual({gone.uuid}, set(result.retained))
        self.assertEqual(['GET', 'DELETE'], [c.split()[0] for c in calls])
        self.placement.deallocate(consumer)
        self.assertConverges(stays, new, removed=[gone])

    def test_step_19_invalid_trait_name(self):
        """Nothing of the device reaches Placement; the others do."""
        bad, good = wanted('09:00.0', traits=['NOT_A_CUSTOM']), wanted()
        for _cycle in range(2):
            result, calls = self.report(bad, good)
            reason = result.failed[bad.uuid].reason
            self.assertIn('compute-2_0000:09:00.0', reason)
            self.assertIn('"NOT_A_CUSTOM"', reason)
            self.assertIn(HOST, reason)
            self.assertIsNone(self.placement.provider(bad.uuid))
            self.assertProvider(good.uuid, {'CUSTOM_PCI': (1, 0)},
                                'CUSTOM_A')
        self.assertEqual(1, len(self.logs.messages('ERROR')))

    def test_step_20_empty_report(self):
        result, calls = self.report()
        self.assertEqual(({}, []), (result.by_uuid, calls))


class NamesTestCase(base.PlacementTestCase):

    def test_bad_names_are_told(self):
        for rc, trait in (('CUSTOM_PCI', 'custom_a'), ('CUSTOM_PCI', ''),
                          ('CUSTOM_PCI', 'CUSTOM_' + 'A' * 249),
                          ('CUSTOM_PCI', 'CUSTOM_A,CUSTOM_B'),
                          ('CUSTOM_PCI', 'HW_NO_SUCH_TRAIT'),
                          ('', 'CUSTOM_A'), ('gpu', 'CUSTOM_A'),
                          ('NO_SUCH_CLASS', 'CUSTOM_A'),
                          ('CUSTOM_ä', 'CUSTOM_A')):
            with self.subTest(rc=rc, trait=trait):
                bad = wanted(rc=rc, traits=[trait])
                result, calls = self.report(bad)
                error = result.failed[bad.uuid].error
                if rc == 'CUSTOM_PCI':
                    self.assertIsInstance(error,
                                          exception.DeviceTraitInvalid)
                    self.assertIn('"%s"' % trait, error.message)
                else:
                    self.assertIsInstance(
                        error, exception.DeviceResourceClassInvalid)
                    self.assertIn('"%s" (attribute rc)' % rc, error.message)
                self.assertFalse([c for c in calls if 'POST' in c])

    def test_standard_trait(self):
        one = wanted(traits=['HW_GPU_API_VULKAN'])
        result, _calls = self.report(one)
        self.assertEqual({}, result.failed)
        self.assertProvider(one.uuid, {'CUSTOM_PCI': (1, 0)},
                            'HW_GPU_API_VULKAN')

    def test_owner_trait_is_always_there(self):
        """B34: neither the driver's list nor an operator removes it."""
        one = wanted(traits=[])
        self.report(one)
        self.placement.set_traits(one.uuid, 'CUSTOM_OF_OPERATOR')
        self.report(one)
        self.assertProvider(one.uuid, {'CUSTOM_PCI': (1, 0)},
                            'CUSTOM_OF_OPERATOR')

    def test_owner_trait_cannot_be_declared_stale(self):
        one = wanted(traits=['CUSTOM_A'],
                     stale_traits=frozenset([OWNER, 'CUSTOM_A']))
        self.report(one)
        self.assertProvider(one.uuid, {'CUSTOM_PCI': (1, 0)}, 'CUSTOM_A')

    def test_deleted_trait_and_class_come_back(self):
        """They were seen before, so that nobody asks for them again."""
        one = wanted()
        self.report(one)
        self.report(removed=[one])
        self.placement.api('DELETE', '/traits/CUSTOM_A')
        self.placement.api('DELETE', '/resource_classes/CUSTOM_PCI')
        self.assertConverges(one)


class CostTestCase(base.PlacementTestCase):

    def test_first_report(self):
        """Issue: at most 4 Placement calls a device."""
        for count in (1, 2, 16, 64):
            with self.subTest(count=count):
                host = 'host-%d' % count
                self.placement.add_provider(host)
                devices = [wanted('%02x:00.0' % n, host=host)
                           for n in range(count)]
                result, calls = self.report(*devices, host=host)
                self.assertEqual({Kind.CREATED},
                                 set(self.kinds(result)))
                # Seven for the first host ever (see step 01), two later.
                extra = 5 if count == 1 else 2
                self.assertEqual(3 * count + extra, len(calls), calls[:9])

    def test_one_new_beside_many(self):
        devices = [wanted('%02x:00.0' % n) for n in range(10)]
        self.report(*devices[1:])
        _result, calls = self.report(*devices)
        self.assertEqual(1 + 3, len(calls), calls)

    def test_allocation_of_one_costs_that_one(self):
        """Nova's allocation changes the generation: that one is read."""
        devices = [wanted('%02x:00.0' % n) for n in range(10)]
        self.report(*devices)
        self.placement.allocate(devices[3].uuid, 'CUSTOM_PCI')
        result, calls = self.report(*devices)
        self.assertEqual({Kind.UNCHANGED}, set(self.kinds(result)))
        self.assertEqual(['GET'] * 3, [c.split()[0] for c in calls])
        _result, calls = self.report(*devices)
        self.assertEqual(1, len(calls))

    def test_tracing(self):
        """The request id of the report is in Placement's log."""
        self.report(wanted())
        self.assertEqual({self.context.global_id},
                         {c.request_id for c in self.placement.calls})
        self.assertNotIn(None, {c.microversion
                                for c in self.placement.calls})


class RestartTestCase(base.PlacementTestCase):
    """A conductor that remembers nothing looks at the tree as a whole."""

    def setUp(self):
        super().setUp()
        self.placement.set_inventory(self.root, MEMORY_MB={'total': 4096})
        self.devices = [wanted('%02x:00.0' % n, total=1 + n % 2)
                        for n in range(40)]
        self.report(*self.devices)

    def look(self, *devices):
        """(kinds of outcomes, calls) of another conductor's first look."""
        result, calls = self.report(*(devices or self.devices),
                                    sync=self.new_sync())
        return self.kinds(result), calls

    def test_two_calls(self):
        kinds, calls = self.look()
        self.assertEqual({Kind.UNCHANGED}, set(kinds))
        self.assertLessEqual(len(calls), 3, calls)

    def test_allocations_are_nothing_to_look_at(self):
        for device in self.devices[:8]:
            self.placement.allocate(device.uuid, 'CUSTOM_PCI')
        kinds, calls = self.look()
        self.assertEqual({Kind.UNCHANGED}, set(kinds))
        self.assertLessEqual(len(calls), 3, calls)

    def test_what_differs_is_brought_in_line(self):
        """As by a conductor that looks at each provider."""
        first = self.devices
        self.placement.set_traits(first[0].uuid, OWNER)
        self.placement.set_traits(first[1].uuid, OWNER, 'CUSTOM_A', MARK)
        self.placement.set_inventory(first[2].uuid)
        self.placement.set_inventory(first[3].uuid,
                                     CUSTOM_PCI={'total': 7})
        self.placement.set_reserved(first[4].uuid, 'CUSTOM_PCI', 1)
        self.placement.delete_provider(first[5].uuid)
        kinds, calls = self.look()
        self.assertEqual(
            [Kind.UPDATED] * 4 + [Kind.UNCHANGED, Kind.CREATED]
            + [Kind.UNCHANGED] * 34, kinds)
        self.assertEqual((1, 1), self.placement.amounts(
            first[4].uuid)['CUSTOM_PCI'])
        self.placement.set_reserved(first[4].uuid, 'CUSTOM_PCI', 0)
        self.assertConverges(*first, sync=self.new_sync())
        looked = {call.split('/')[2] for call in calls
                  if 'inventories' in call}
        self.assertEqual({each.uuid for each in first[:6]}, looked)

    def test_somebody_writes_while_it_looks(self):
        """Whenever that is, the next report sees it."""
        for place in ('in_tree=[^&]*$', 'allocation_candidates'):
            sync = self.new_sync()
            self.placement.before(place, lambda: self.placement.set_traits(
                self.devices[3].uuid, OWNER))
            self.report(*self.devices, sync=sync)
            self.report(*self.devices, sync=sync)
            self.assertProvider(self.devices[3].uuid, {'CUSTOM_PCI': (2, 0)},
                                'CUSTOM_A')

    def test_a_host_without_memory_left(self):
        """Placement says nothing of its tree: each provider is asked for."""
        self.placement.allocate(self.root, 'MEMORY_MB', 4096)
        kinds, calls = self.look()
        self.assertEqual({Kind.UNCHANGED}, set(kinds))
        self.assertEqual(2 + 2 * 40, len(calls))

    def test_a_placement_that_does_not_answer_that(self):
        self.placement.fail('allocation_candidates', status=406)
        kinds, calls = self.look()
        self.assertEqual({Kind.UNCHANGED}, set(kinds))
        self.assertEqual(2 + 2 * 40, len(calls))


class ConcurrentTestCase(base.PlacementTestCase):

    def test_eight_at_once(self):
        """They meet before any is answered."""
        together = threading.Barrier(8, timeout=60)
        self.placement.before('POST /resource_providers', together.wait,
                              times=16)
        devices = [wanted('%02x:00.0' % n, traits=('CUSTOM_%d' % (n % 3),))
                   for n in range(16)]
        result, _calls = self.report(*devices)
        self.assertEqual([Kind.CREATED] * 16, self.kinds(result))
        sent = [(str(call), str(call.body)) for call in self.placement.calls]
        self.assertEqual(sorted(set(sent)), sorted(sent))
        self.assertConverges(*devices)

    def test_a_refusal_is_that_providers_alone(self):
        devices = [wanted('%02x:00.0' % n) for n in range(16)]
        self.placement.fail('PUT .*%s/inventories' % devices[7].uuid,
                            times=None, status=400)
        result, _calls = self.report(*devices)
        self.assertEqual([devices[7].uuid], list(result.failed))
        self.placement.heal()
        self.assertConverges(*devices)

    def test_a_database_that_refuses_a_writer_beside_another(self):
        """As SQLite does: status 500 for all but one; then one by one."""
        together = threading.Barrier(8, timeout=60)
        self.placement.before('POST /resource_providers', together.wait,
                              times=8)
        self.placement.fail('PUT /resource_providers/.*traits', status=500,
                            times=7)
        devices = [wanted('%02x:00.0' % n) for n in range(16)]
        result, _calls = self.report(*devices)
        self.assertEqual({}, result.failed)
        self.assertConverges(*devices)

    def test_a_placement_that_is_broken(self):
        """It is not asked for each provider twice."""
        self.placement.fail('POST /resource_providers', status=500,
                            times=None)
        result, calls = self.report(*(
            wanted('%02x:00.0' % n) for n in range(32)))
        self.assertEqual(32, len(result.failed))
        self.assertLessEqual(len([call for call in calls if 'POST' in call]),
                             3 + 7 + 3)

    def test_the_same_new_name_is_sent_once(self):
        devices = [wanted('%02x:00.0' % n) for n in range(16)]
        self.report(*devices)
        _result, calls = self.report(*(dataclasses.replace(
            each, traits=frozenset({'CUSTOM_B'})) for each in devices))
        self.assertEqual(1, len([call for call in calls if call.startswith(
            'PUT /traits')]), calls)


class DriftTestCase(base.PlacementTestCase):
    """Someone else changes or deletes what is ours."""

    def test_vanished_provider_is_created_again(self):
        one, two = wanted(), wanted('02:00.0')
        self.report(one, two)
        self.placement.delete_provider(one.uuid)
        result, _calls = self.report(one, two)
        self.assertEqual([Kind.CREATED, Kind.UNCHANGED],
                         self.kinds(result))
        self.assertConverges(one, two)

    def test_all_vanished_with_the_host(self):
        """Nova's service was deleted and came back with a new provider."""
        one = wanted()
        self.report(one)
        self.placement.delete_provider(one.uuid)
        self.placement.delete_provider(self.root)
        self.assertRaises(exception.PlacementResourceProviderNotFound,
                          self.report, one)
        self.root = self.placement.add_provider(HOST)
        self.assertConverges(one)
        self.assertEqual(self.root, self.placement.provider(
            one.uuid)['parent_provider_uuid'])

    def test_inventory_deleted_behind_our_back(self):
        one = wanted()
        self.report(one)
        self.placement.set_inventory(one.uuid)
        self.assertConverges(one)

    def test_limits_of_the_operator_stay(self):
        one = wanted(total=4)
        self.report(one)
        self.placement.set_inventory(one.uuid, CUSTOM_PCI={
            'total': 4, 'reserved': 1, 'max_unit': 2, 'min_unit': 2,
            'step_size': 2, 'allocation_ratio': 1.0})
        self.report(dataclasses.replace(one, total=6))
        self.assertEqual({
            'total': 6, 'reserved': 1, 'max_unit': 2, 'min_unit': 2,
            'step_size': 2, 'allocation_ratio': 1.0},
            self.placement.inventory(one.uuid)['CUSTOM_PCI'])

    def test_roots_traits_are_never_touched(self):
        """Nova 34 requires its trait on the root."""
        self.placement.set_traits(self.root, 'OWNER_NOVA', 'CUSTOM_ROOT')
        generation = self.placement.generation(self.root)
        one = wanted()
        self.report(one)
        self.report(removed=[one])
        self.assertEqual({'OWNER_NOVA', 'CUSTOM_ROOT'},
                         self.placement.traits(self.root))
        self.assertEqual(generation, self.placement.generation(self.root))

    def test_damaged_rp_uuid_does_not_delete_the_host(self):
        damaged = wanted(uuid=self.root)
        result, calls = self.report(removed=[damaged])
        self.assertIsInstance(result.failed[self.root].error,
                              exception.ResourceProviderNotOurs)
        self.assertFalse([c for c in calls if 'DELETE' in c])
        result, calls = self.report(damaged)
        self.assertEqual({self.root}, set(result.failed))
        self.assertEqual({}, self.placement.inventory(self.root))


class ConflictTestCase(base.PlacementTestCase):
    """B33: a provider of that name or uuid is there already."""

    def test_novas_provider_in_other_letter_case(self):
        one, good = wanted('3b:00.0'), wanted('02:00.0')
        theirs = self.placement.add_provider('compute-2_0000:3B:00.0',
                                             self.root)
        self.placement.set_traits(theirs, 'OWNER_NOVA')
        generation = self.placement.generation(theirs)
        for _cycle in range(2):
            result, _calls = self.report(one, good)
            error = result.failed[one.uuid].error
            self.assertIsInstance(error,
                                  exception.ResourceProviderNameConflict)
            for text in ('compute-2_0000:3B:00.0', theirs, HOST,
                         one.name, '[pci] device_spec'):
                self.assertIn(text, error.message)
            self.assertEqual(generation, self.placement.generation(theirs))
            self.assertIsNone(self.placement.provider(one.uuid))
            self.assertProvider(good.uuid, {'CUSTOM_PCI': (1, 0)},
                                'CUSTOM_A')
        self.assertEqual(1, len(self.logs.messages('ERROR')))

    def test_same_name_elsewhere(self):
        one = wanted()
        theirs = self.placement.add_provider(one.name)
        result, _calls = self.report(one)
        self.assertIsInstance(result.failed[one.uuid].error,
                              exception.ResourceProviderNameConflict)
        self.placement.delete_provider(theirs)
        self.assertConverges(one)

    def test_same_name_and_ours_is_adopted(self):
        """B33: our parent and OWNER_CYBORG; the result tells its uuid."""
        one = wanted()
        other = self.placement.add_provider(one.name, self.root)
        self.placement.set_traits(other, OWNER)
        result, _calls = self.report(one)
        outcome = result[one.uuid]
        self.assertEqual((Kind.UPDATED, other),
                         (outcome.kind, outcome.provider_uuid))
        self.assertConverges(dataclasses.replace(one, uuid=other))

    def test_our_uuid_is_adopted(self):
        """A killed report, or 2026.2 without the trait (B34)."""
        one = wanted()
        self.placement.add_provider(one.name, self.root, one.uuid)
        result, calls = self.report(one)
        self.assertEqual([Kind.UPDATED], self.kinds(result))
        self.assertFalse([c for c in calls if 'POST' in c])
        self.assertConverges(one)

    def test_our_uuid_below_another_host(self):
        one = wanted()
        strange = self.placement.add_provider('compute-9')
        self.placement.add_provider(one.name, strange, one.uuid)
        result, _calls = self.report(one)
        error = result.failed[one.uuid].error
        self.assertIsInstance(error, exception.ResourceProviderNotOurs)
        for text in (one.uuid, one.name, strange, self.root, HOST,
                     'openstack resource provider delete'):
            self.assertIn(text, error.message)
        self.assertEqual({}, self.placement.inventory(one.uuid))

    def test_host_name_in_other_letter_case(self):
        """BASE-1: what Placement's database takes to be the same name."""
        self.root = self.placement.add_provider('compute-7')
        one = wanted(host='compute-7')
        self.report(one, host='compute-7')
        # SQLite tells the names apart; a known provider shows the way.
        result, _calls = self.report(one, host='COMPUTE-7',
                                     sync=self.new_sync())
        self.assertEqual([Kind.UNCHANGED], self.kinds(result))
        self.root = self.placement.add_provider('COMPUTE-8')
        self.assertRaises(exception.PlacementResourceProviderNotFound,
                          self.report, wanted(host='compute-8'),
                          host='compute-8')

    def test_tree_of_another_host(self):
        """A stored provider lives below another host by now."""
        self.report(wanted())
        other = self.placement.add_provider('compute-9')
        stored = wanted('07:00.0')
        self.placement.add_provider(stored.name, other, stored.uuid)
        result = self.new_sync().sync(self.context, HOST, [stored])
        self.assertIsInstance(result.failed[stored.uuid].error,
                              exception.ResourceProviderNotOurs)

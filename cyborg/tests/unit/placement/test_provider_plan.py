# SPDX-License-Identifier: Apache-2.0

from hypothesis import given
from hypothesis import strategies as st
import testtools

from cyborg.placement import client
from cyborg.placement import provider_plan as plan

MARK = 'CUSTOM_CYBORG_MISSING'
OWNER = 'OWNER_CYBORG'
RC = 'CUSTOM_PCI'


def desired(total=1, rc=RC, **others):
    return plan.DesiredProvider('uuid', 'name', rc, total, **others)


def inventory(total=1, reserved=0, **others):
    others.setdefault('max_unit', total)
    return client.Inventory(total, reserved, **others)


def present(inventories=None, traits=(), usages=None):
    if inventories is None:
        inventories = {RC: inventory()}
    return plan.PresentProvider(7, inventories, frozenset({OWNER, *traits}),
                                usages)


class ReservationTestCase(testtools.TestCase):
    """MIS-2, MIS-3: (kept, total, missing, disabled, marked) -> result."""

    CASES = [
        # nothing special: what is reserved stays
        ((0, 1, 0, False, False), (0, False)),
        ((1, 1, 0, False, False), (1, False)),
        ((2, 4, 0, False, False), (2, False)),
        # missing: reserved and marked
        ((0, 1, 1, False, False), (1, True)),
        ((0, 4, 2, False, False), (2, True)),
        ((1, 4, 2, False, False), (2, True)),
        # still missing, more or fewer units
        ((1, 1, 1, False, True), (1, True)),
        ((3, 4, 1, False, True), (1, True)),
        ((0, 4, 1, False, True), (1, True)),
        # somebody else reserved as much already: nothing to undo later
        ((1, 1, 1, False, False), (1, False)),
        ((3, 4, 2, False, False), (3, False)),
        # back
        ((1, 1, 0, False, True), (0, False)),
        # disabled, alone, missing, and back
        ((0, 1, 0, True, False), (1, False)),
        ((0, 4, 1, True, False), (4, True)),
        ((4, 4, 1, True, True), (4, True)),
        ((4, 4, 0, True, True), (4, False)),
    ]

    def test_table(self):
        for arguments, expected in self.CASES:
            with self.subTest(arguments=arguments):
                self.assertEqual(expected, plan.reservation(*arguments))

    @given(total=st.integers(1, 5), kept=st.integers(0, 5),
           missing=st.integers(0, 5), disabled=st.booleans(),
           marked=st.booleans())
    def test_always(self, total, kept, missing, disabled, marked):
        kept, missing = min(kept, total), min(missing, total)
        reserved, mark = plan.reservation(kept, total, missing, disabled,
                                          marked)
        self.assertTrue(missing <= reserved <= total)
        self.assertTrue(reserved == total or not disabled)
        self.assertTrue(missing or not mark)
        # Deciding again changes nothing.
        self.assertEqual((reserved, mark), plan.reservation(
            reserved, total, missing, disabled, mark))


class DecideTestCase(testtools.TestCase):

    def test_nothing_to_do(self):
        writes = plan.decide(desired(), present())
        self.assertEqual((None, None, ''), (
            writes.inventories, writes.traits, writes.waits_for))

    def test_new_provider(self):
        writes = plan.decide(
            desired(total=2, traits=frozenset(['CUSTOM_A'])),
            plan.PresentProvider(0, {}, frozenset()))
        self.assertEqual({RC: inventory(2)}, writes.inventories)
        self.assertEqual({OWNER, 'CUSTOM_A'}, writes.traits)
        # An inventory without OWNER_CYBORG could be taken for Nova's (B34).
        self.assertTrue(writes.traits_first)

    def test_new_but_missing_or_disabled(self):
        empty = plan.PresentProvider(0, {}, frozenset())
        writes = plan.decide(desired(missing=1), empty)
        self.assertEqual({RC: inventory(1, 1)}, writes.inventories)
        self.assertEqual({OWNER, MARK}, writes.traits)
        writes = plan.decide(desired(disabled=True), empty)
        self.assertEqual({RC: inventory(1, 1)}, writes.inventories)
        self.assertEqual({OWNER}, writes.traits)

    def test_what_is_free_of_a_device_missing_in_part_can_be_had(self):
        """MIS-2: allocations count already; (used, free) -> reserved."""
        for used, free, reserved in (
                # Four units, two of them missing and allocated.
                (2, 2, 0), (2, 1, 1), (3, 1, 0), (2, 0, 2), (1, 2, 1),
                (4, 1, 0), (0, 1, 2)):
            with self.subTest(used=used, free=free):
                writes = plan.decide(
                    desired(total=4, missing=2, free=free),
                    present({RC: inventory(4)}, usages={RC: used}))
                self.assertEqual({OWNER, MARK}, writes.traits)
                found = (writes.inventories or {RC: inventory(4)})[RC]
                self.assertEqual((4, reserved), (found.total,
                                                 found.reserved))

    def test_nothing_of_a_disabled_device_missing_in_part_can_be_had(self):
        writes = plan.decide(
            desired(total=4, missing=2, free=2, disabled=True),
            present({RC: inventory(4)}, usages={RC: 2}))
        self.assertEqual({RC: inventory(4, 4)}, writes.inventories)

    def test_largest_request(self):
        """An operator's limit stays while there are as many units."""
        for limit, before, total, expected in (
                (2, 4, 5, 2), (2, 4, 3, 2), (2, 4, 2, 2), (3, 4, 2, 2),
                (4, 4, 5, 5), (5, 4, 3, 3), (None, 4, 3, 3)):
            with self.subTest(limit=limit, before=before, total=total):
                writes = plan.decide(desired(total=total), present({
                    RC: plan.client.Inventory(total=before, reserved=0,
                                              max_unit=limit)}))
                self.assertEqual(expected, writes.inventories[RC].max_unit)

    def test_what_is_allocated_beyond_the_total_is_kept(self):
        """B02: the units that are gone are reserved as missing ones are."""
        writes = plan.decide(desired(total=1), present(
            {RC: inventory(3)}, usages={RC: 2}))
        self.assertEqual(2, writes.inventories[RC].total)
        self.assertEqual(1, writes.inventories[RC].reserved)
        self.assertIn('2 of %s are allocated, 1 exist' % RC,
                      writes.waits_for)

    def test_missing_is_marked_before_it_is_reserved(self):
        writes = plan.decide(desired(missing=1), present())
        self.assertEqual({RC: inventory(1, 1)}, writes.inventories)
        self.assertEqual({OWNER, MARK}, writes.traits)
        self.assertTrue(writes.traits_first)

    def test_mark_goes_after_the_reservation(self):
        writes = plan.decide(
            desired(), present({RC: inventory(1, 1)}, [MARK]))
        self.assertEqual({RC: inventory()}, writes.inventories)
        self.assertEqual({OWNER}, writes.traits)
        self.assertFalse(writes.traits_first)

    def test_killed_between_the_two_writes(self):
        """Marked but not reserved yet; freed but still marked."""
        writes = plan.decide(desired(missing=1), present(traits=[MARK]))
        self.assertEqual({RC: inventory(1, 1)}, writes.inventories)
        self.assertIsNone(writes.traits)
        writes = plan.decide(desired(), present(traits=[MARK]))
        self.assertIsNone(writes.inventories)
        self.assertEqual({OWNER}, writes.traits)

    def test_enabled_again(self):
        reserved = present({RC: inventory(1, 1)})
        self.assertIsNone(plan.decide(desired(), reserved).inventories)
        self.assertEqual({RC: inventory()}, plan.decide(
            desired(), reserved, lift=True).inventories)

    def test_total_never_below_usage(self):
        """B02"""
        writes = plan.decide(desired(total=1), present(
            {RC: inventory(4)}, usages={RC: 3}))
        self.assertEqual({RC: inventory(3, 2)}, writes.inventories)
        self.assertIn(MARK, writes.traits)
        self.assertEqual('3 of CUSTOM_PCI are allocated, 1 exist',
                         writes.waits_for)
        # The same again is stable; after the release it shrinks.
        state = present({RC: inventory(3, 2)}, [MARK], {RC: 3})
        self.assertIsNone(plan.decide(desired(total=1), state).inventories)
        state = present({RC: inventory(3, 2)}, [MARK], {RC: 1})
        writes = plan.decide(desired(total=1), state)
        self.assertEqual({RC: inventory(1, 0)}, writes.inventories)
        self.assertEqual({OWNER}, writes.traits)

    def test_no_units(self):
        writes = plan.decide(desired(total=0), present(usages={RC: 0}))
        self.assertEqual({}, writes.inventories)
        writes = plan.decide(desired(total=0), present(usages={RC: 1}))
        self.assertEqual({RC: inventory(1, 1)}, writes.inventories)

    def test_class_change(self):
        """B36: swap when unused, else keep the old class alone."""
        old = {'CUSTOM_OLD': inventory(2)}
        writes = plan.decide(desired(2), present(old, usages={}))
        self.assertEqual({RC: inventory(2)}, writes.inventories)
        writes = plan.decide(
            desired(2), present(old, usages={'CUSTOM_OLD': 1}))
        self.assertIsNone(writes.inventories)
        self.assertEqual('CUSTOM_PCI replaces CUSTOM_OLD when the 1 '
                         'allocated units are free', writes.waits_for)

    def test_class_change_of_a_missing_device(self):
        writes = plan.decide(desired(missing=1), present(
            {'CUSTOM_OLD': inventory()}, usages={'CUSTOM_OLD': 1}))
        self.assertEqual({'CUSTOM_OLD': inventory(1, 1)}, writes.inventories)
        self.assertIn(MARK, writes.traits)

    def test_class_change_keeps_a_disabled_device_reserved(self):
        """FAULT-24"""
        writes = plan.decide(desired(disabled=True), present(
            {'CUSTOM_OLD': inventory(1, 1)}, usages={}))
        self.assertEqual({RC: inventory(1, 1)}, writes.inventories)

    def test_count_change_keeps_what_others_reserved(self):
        """FAULT-24"""
        for before, now, reserved in ((2, 3, 1), (3, 2, 1), (4, 2, 2)):
            writes = plan.decide(desired(now), present(
                {RC: inventory(before, reserved)}, usages={}))
            self.assertEqual({RC: inventory(now, reserved)},
                             writes.inventories)
        writes = plan.decide(desired(1), present(
            {RC: inventory(3, 2)}, usages={}))
        self.assertEqual({RC: inventory(1, 1)}, writes.inventories)

    def test_traits(self):
        now = desired(traits=frozenset(['CUSTOM_A']),
                      stale_traits=frozenset(['CUSTOM_B', 'CUSTOM_A']))
        writes = plan.decide(now, present(traits=['CUSTOM_B', 'CUSTOM_OPS']))
        self.assertEqual({OWNER, 'CUSTOM_A', 'CUSTOM_OPS'}, writes.traits)

    def test_mark_in_a_drivers_traits_is_ours_alone(self):
        writes = plan.decide(desired(traits=frozenset([MARK])), present())
        self.assertIsNone(writes.traits)


class NeedsUsagesTestCase(testtools.TestCase):

    def test_table(self):
        for inventories, answer in (
                ({}, False), ({RC: inventory(2)}, False),
                ({RC: inventory(1)}, False), ({RC: inventory(3)}, True),
                ({'CUSTOM_OLD': inventory(1)}, True)):
            self.assertEqual(answer, plan.needs_usages(
                desired(2), present(inventories)))


class NamesTestCase(testtools.TestCase):

    def test_provider_uuid(self):
        """BASE-1, contract: placement.md, "Basics"."""
        self.assertEqual('a6228228-a1ee-3206-b8b5-f32403b2eafe',
                         plan.provider_uuid('compute-2_0000:01:00.0'))

    def test_from_attributes(self):
        self.assertEqual(
            ('CUSTOM_PCI', frozenset(['A', 'B'])), plan.from_attributes(
                [('rc', 'CUSTOM_PCI'), ('trait0', 'A'), ('trait_x', 'B'),
                 ('rcx', 'C'), ('mytrait', 'D'), ('note', 'E')]))
        self.assertEqual(('', frozenset()), plan.from_attributes([]))

    def test_custom(self):
        for name in ('CUSTOM_A', 'CUSTOM_A_1', 'CUSTOM_' + 'A' * 248):
            self.assertTrue(plan.is_custom(name), name)
        for name in ('', 'CUSTOM_', 'custom_a', 'CUSTOM_a', 'CUSTOM_A\n',
                     'CUSTOM_A,CUSTOM_B', 'PGPU', 'CUSTOM_' + 'A' * 249):
            self.assertFalse(plan.is_custom(name), name)

    def test_well_formed(self):
        for name in ('PGPU', 'HW_CPU_X86_AVX', 'CUSTOM_A'):
            self.assertTrue(plan.is_well_formed(name), name)
        for name in ('', 'pgpu', 'A,B', 'A&B', 'A\n', '1A', 'A' * 256):
            self.assertFalse(plan.is_well_formed(name), name)


class InLineTestCase(testtools.TestCase):
    """What a listing shows to be in line is what decide() leaves alone."""

    TRAITS = ('CUSTOM_A', 'CUSTOM_B', MARK, 'CUSTOM_CYBORG_DISABLED_0')

    @staticmethod
    def summary(found: plan.PresentProvider) -> client.Summary:
        return client.Summary(
            {name: int((each.total - each.reserved)
                       * (each.allocation_ratio or 1))
             for name, each in found.inventories.items()},
            dict(found.usages), found.traits)

    def test_examples(self):
        for expected, wanted, found in (
                (True, desired(), present(usages={RC: 1})),
                (True, desired(4), present({RC: inventory(4)}, usages={})),
                (True, desired(0), present({}, usages={})),
                (True, desired(traits=frozenset({'CUSTOM_A'})),
                 present(traits=['CUSTOM_A', 'CUSTOM_B'], usages={})),
                (False, desired(traits=frozenset({'CUSTOM_A'})),
                 present(usages={})),
                (False, desired(stale_traits=frozenset({'CUSTOM_A'})),
                 present(traits=['CUSTOM_A'], usages={})),
                (False, desired(), present(traits=[MARK], usages={})),
                (False, desired(), present({RC: inventory(1, 1)}, usages={})),
                (False, desired(), present({RC: inventory(2)}, usages={})),
                (False, desired(), present({'VGPU': inventory()}, usages={})),
                (False, desired(), present(usages={RC: 2})),
                (False, desired(missing=1), present(usages={RC: 1})),
                (False, desired(disabled=True),
                 present({RC: inventory(1, 1)}, usages={}))):
            self.assertEqual(expected, plan.is_in_line(
                wanted, self.summary(found)), (wanted, found))

    @given(st.data())
    def test_as_decided_when_looked_at(self, data):
        number = st.integers(0, 2)
        wanted = desired(
            data.draw(number), missing=data.draw(number),
            free=data.draw(number), disabled=data.draw(st.booleans()),
            traits=data.draw(st.frozensets(st.sampled_from(
                self.TRAITS[:2]))),
            stale_traits=data.draw(st.frozensets(st.sampled_from(
                self.TRAITS[:2]))))
        inventories, usages = {}, {}
        for name in data.draw(st.sets(st.sampled_from((RC, 'VGPU')))):
            total = data.draw(st.integers(1, 3))
            inventories[name] = inventory(
                total, data.draw(st.integers(0, total)))
            usages[name] = data.draw(number)
        found = present(inventories, data.draw(st.sets(
            st.sampled_from(self.TRAITS))), usages)
        if not plan.is_in_line(wanted, self.summary(found)):
            return
        if any(each.reserved for each in inventories.values()):
            # A total and a reservation that are both too large by as much.
            return
        writes = plan.decide(wanted, found)
        self.assertFalse(writes.any, writes)
        self.assertEqual('', writes.waits_for)

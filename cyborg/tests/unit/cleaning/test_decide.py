# SPDX-License-Identifier: Apache-2.0
"""CLEAN-2: what follows, by table, and for every state and view."""

import itertools

import hypothesis
from hypothesis import strategies as st
import testtools

from cyborg.cleaning import decide
from cyborg.cleaning import records
from cyborg.cleaning import states
from cyborg.nvme import records as nvme_records
from cyborg.tests.unit.cleaning import builders

State, Step = builders.State, builders.Step
view, host, entry = builders.view, builders.host, builders.entry
FREE, USED = {'used': 0}, {'used': 1}
OPEN, TAKEN = {'reserved': 0}, {'reserved': 1}
OURS = {'reserved': 1, 'marked': True}
ONCE = {'reserved': 1, 'one_time_use': True}
NEXT = {'generation': 8}
LATER = {'generation': 9}
ANEW = {'provider': 'made-anew'}

#: (why, entry or None, view, step, state, reason)
TABLE = [
    # Nobody knows the disk.
    ('CLEAN-25 unknown and free', None, OPEN,
     Step.RESERVE, State.HELD, 'unknown disk'),
    ('CLEAN-25 unknown and reserved by us', None, OURS,
     Step.NOTHING, State.HELD, 'unknown disk'),
    ('CLEAN-12 unknown and reserved by Nova', None, ONCE,
     Step.NOTHING, State.HELD, 'unknown disk'),
    ('CLEAN-10 unknown and reserved by others', None, TAKEN,
     Step.NOTHING, State.HELD, 'reserved by others'),
    ('CLEAN-6 unknown and used', None, USED | OPEN,
     Step.RESERVE, State.IN_USE, 'allocated'),
    # It is offered.
    ('CLEAN-11 the seal holds', entry(State.SEALED, reason='verified'), OPEN,
     Step.NOTHING, State.SEALED, 'verified'),
    ('CLEAN-11 the seal is broken', entry(State.SEALED), OPEN | NEXT,
     Step.RESERVE, State.DIRTY, 'seal broken'),
    ('CLEAN-11 a guest lived unseen', entry(State.SEALED), ONCE | NEXT,
     Step.NOTHING, State.DIRTY, 'seal broken'),
    ('CLEAN-11 a listener saw a guest', entry(State.SEALED), OURS | LATER,
     Step.NOTHING, State.DIRTY, 'seal broken'),
    ('CLEAN-10 an operator reserved it', entry(State.SEALED), TAKEN | NEXT,
     Step.NOTHING, State.HELD, 'reserved by others'),
    ('CLEAN-6 it is used', entry(State.SEALED), USED | OPEN | NEXT,
     Step.RESERVE, State.IN_USE, 'allocated'),
    ('CLEAN-12 it is used, Nova reserved', entry(State.SEALED),
     USED | ONCE | NEXT, Step.NOTHING, State.IN_USE, 'allocated'),
    # A guest has it.
    ('CLEAN-6 it stays in use', entry(State.IN_USE), USED | OURS,
     Step.NOTHING, State.IN_USE, 'allocated'),
    ('CLEAN-9 its provider was made anew', entry(State.IN_USE), USED | OPEN,
     Step.RESERVE, State.IN_USE, 'allocated'),
    ('CLEAN-1 it is free', entry(State.IN_USE), OURS,
     Step.NOTHING, State.DIRTY, 'freed'),
    ('CLEAN-12 it is free, Nova reserved', entry(State.IN_USE), ONCE,
     Step.NOTHING, State.DIRTY, 'freed'),
    ('CLEAN-9 it is free and open', entry(State.IN_USE), OPEN,
     Step.RESERVE, State.DIRTY, 'freed'),
    ('CLEAN-10 an operator reserved it while it was used',
     entry(State.IN_USE), TAKEN, Step.NOTHING, State.HELD,
     'reserved by others'),
    # It is dirty.
    ('CLEAN-1 it is cleaned', entry(State.DIRTY, reason='freed'), OURS,
     Step.CLEAN, State.DIRTY, 'freed'),
    ('CLEAN-9 its reservation is lost', entry(State.DIRTY), OPEN,
     Step.RESERVE, State.DIRTY, 'reservation lost'),
    ('CLEAN-9 used while dirty', entry(State.DIRTY), USED | OPEN,
     Step.RESERVE, State.ERROR, 'used while dirty'),
    ('CLEAN-9 used while dirty, reserved', entry(State.DIRTY), USED | OURS,
     Step.NOTHING, State.ERROR, 'used while dirty'),
    # A predecessor was at it.
    ('CLEAN-24 followed', entry(State.CLEANING, reason='freed'), OURS,
     Step.RESUME, State.CLEANING, 'freed'),
    ('CLEAN-24 cleaned again', entry(State.VERIFYING), OURS,
     Step.NOTHING, State.DIRTY, 'interrupted'),
    ('CLEAN-9 lost while cleaned', entry(State.CLEANING), OPEN,
     Step.RESERVE, State.DIRTY, 'reservation lost'),
    ('CLEAN-23 the release went through', entry(State.RELEASING),
     OPEN | NEXT, Step.NOTHING, State.SEALED, 'verified'),
    # Its write may still come: the mark lets that be refused.
    ('CLEAN-23 it did not, or not yet', entry(State.RELEASING), TAKEN,
     Step.RESERVE, State.DIRTY, 'interrupted'),
    ('CLEAN-23 it did not', entry(State.RELEASING), OURS,
     Step.NOTHING, State.DIRTY, 'interrupted'),
    ('CLEAN-23 somebody else opened it', entry(State.RELEASING),
     OPEN | LATER, Step.RESERVE, State.DIRTY, 'reservation lost'),
    ('CLEAN-23 it was released, and is used', entry(State.RELEASING),
     USED | OPEN | LATER, Step.RESERVE, State.IN_USE, 'allocated'),
    # It waits for a person.
    ('CLEAN-26 in error', entry(State.ERROR, reason='not erased'), OURS,
     Step.NOTHING, State.ERROR, 'not erased'),
    ('CLEAN-9 in error and open', entry(State.ERROR, reason='not erased'),
     OPEN, Step.RESERVE, State.ERROR, 'not erased'),
    ('CLEAN-9 in error and used', entry(State.ERROR, reason='not erased'),
     USED | OPEN, Step.RESERVE, State.ERROR, 'used while dirty'),
    ('CLEAN-10 held by an operator', entry(
        State.HELD, reason='held by an operator'), OURS,
     Step.NOTHING, State.HELD, 'held by an operator'),
    ('CLEAN-9 an unknown disk was opened', entry(
        State.HELD, reason='unknown disk'), OPEN,
     Step.RESERVE, State.HELD, 'unknown disk'),
    ('CLEAN-10 the operator took his reservation back', entry(
        State.HELD, reason='reserved by others', clean=True), OPEN | NEXT,
     Step.NOTHING, State.SEALED, 'verified'),
    ('CLEAN-11 and somebody was in between', entry(
        State.HELD, reason='reserved by others', clean=True), OPEN | LATER,
     Step.RESERVE, State.DIRTY, 'seal broken'),
    ('CLEAN-10 held dirty and given back', entry(
        State.HELD, reason='reserved by others'), OPEN | NEXT,
     Step.RESERVE, State.DIRTY, 'seal broken'),
    # Nova made its provider anew, and the count happens to be the same.
    ('CLEAN-9 offered by Nova', entry(State.SEALED), OPEN | ANEW,
     Step.RESERVE, State.DIRTY, 'seal broken'),
    ('CLEAN-9 offered by Nova, reserved by others', entry(State.SEALED),
     TAKEN | NEXT | ANEW, Step.NOTHING, State.HELD, 'reserved by others'),
    ('CLEAN-9 used and freed while nobody cleaned', entry(State.CLEANING),
     ONCE | ANEW, Step.NOTHING, State.DIRTY, 'reservation lost'),
    ('CLEAN-9 used and freed while verified', entry(State.VERIFYING),
     ONCE | ANEW, Step.NOTHING, State.DIRTY, 'reservation lost'),
    ('CLEAN-9 open as if released', entry(State.RELEASING),
     OPEN | NEXT | ANEW, Step.RESERVE, State.DIRTY, 'reservation lost'),
    ('CLEAN-9 open as if given back', entry(
        State.HELD, reason='reserved by others', clean=True),
     OPEN | NEXT | ANEW, Step.RESERVE, State.DIRTY, 'seal broken'),
    # It was away.
    ('CLEAN-24 back as it was', entry(
        State.ABSENT, was=State.SEALED, clean=True, was_reason='verified'),
     OPEN, Step.NOTHING, State.SEALED, 'verified'),
    ('CLEAN-10 back, held', entry(
        State.ABSENT, was=State.HELD, was_reason='reserved by others'),
     TAKEN, Step.NOTHING, State.HELD, 'reserved by others'),
    ('CLEAN-24 back, dirty', entry(
        State.ABSENT, was=State.DIRTY, was_reason='freed'), OURS,
     Step.CLEAN, State.DIRTY, 'freed'),
]


class DecideTest(testtools.TestCase):

    def test_table(self):
        for why, known, seen, step, state, reason in TABLE:
            decision = builders.decided(view(**seen), host(), known)
            self.assertEqual((step, state, reason), (
                decision.step, decision.state, decision.reason), why)

    def test_unknown_is_cleaned_where_the_option_says_so(self):
        """CLEAN-25, but never what others reserved: CLEAN-10"""
        for seen, step, state in (
                (OPEN, Step.RESERVE, State.DIRTY),
                (OURS, Step.NOTHING, State.DIRTY),
                (TAKEN, Step.NOTHING, State.HELD),
                (USED | OPEN, Step.RESERVE, State.IN_USE)):
            decision = builders.decided(view(**seen), unknown='clean')
            self.assertEqual((step, state), (decision.step, decision.state))

    def test_another_disk_at_the_address_is_left_alone(self):
        """CLEAN-15"""
        decision = builders.decided(view(), host(displaced='SN0'),
                                    unknown='clean')
        self.assertEqual((Step.RESERVE, State.HELD, 'another disk'), (
            decision.step, decision.state, decision.reason))

    def test_what_is_gone_stays_reserved_unless_it_is_clean(self):
        """CLEAN-24"""
        away = host(present=False)
        for state, seen, step in ((State.DIRTY, OPEN, Step.RESERVE),
                                  (State.SEALED, OPEN, Step.NOTHING),
                                  (State.SEALED, USED, Step.RESERVE),
                                  (State.IN_USE, OURS, Step.NOTHING)):
            decision = builders.decided(view(**seen), away, entry(state))
            self.assertEqual((step, State.ABSENT), (decision.step,
                                                    decision.state))

    def test_nothing_is_done_beside_a_thread_that_cleans(self):
        """CLEAN-27"""
        for state in (State.DIRTY, State.CLEANING, State.VERIFYING,
                      State.RELEASING):
            decision = builders.decided(view(**OURS), host(working=True),
                                        entry(state))
            self.assertEqual((Step.NOTHING, None), (decision.step,
                                                    decision.state))

    def test_a_clean_disk_that_is_held_is_offered_again_and_again(self):
        """CLEAN-23: Placement was away while releasing."""
        decision = builders.decided(view(**OURS), host(ours=True),
                                    entry(State.RELEASING))
        self.assertEqual(Step.RELEASE, decision.step)

    def test_every_refusal_names_its_holder(self):
        """CLEAN-13, CLEAN-4, CLEAN-5, CLEAN-16"""
        for name, holder, changes in (
                ('selected', 'no entry of [cleaner] device_spec selects it',
                 {'selected': False}),
                ('cyborg', '[pci] device_spec entry 1 selects it too',
                 {'cyborg_rule': '[pci] device_spec entry 1 selects it too'}),
                ('class', 'its class is 030200, not 010802',
                 {'class_code': 0x030200}),
                ('no VF', 'a VF of 0000:01:00.0', {'physfn': '0000:01:00.0'}),
                ('no VFs', '2 VFs', {'vfs': 2}),
                ('identity', 'another disk: serial SN9, model Model 1',
                 {'serial': 'SN9'}),
                ('subsystem', 'nvme1 (0000:82:00.0)',
                 {'neighbours': ('nvme1 (0000:82:00.0)',)}),
                *((kind, 'somebody', {'uses': (
                    nvme_records.Use(kind, 'somebody'),)})
                  for kind in nvme_records.USES)):
            decision = builders.decided(view(**OURS), host(**changes),
                                        entry(State.DIRTY))
            self.assertEqual((Step.WAIT, name, holder), (
                decision.step, decision.refusal.name,
                decision.refusal.holder))

    def test_placement_is_asked_too(self):
        decision = builders.decided(view(total=2, reserved=2),
                                    of_entry=entry(State.DIRTY))
        self.assertEqual('provider: provider compute-1_0000:81:00.0 has 2 '
                         'units of CUSTOM_PCI, not 1',
                         str(decision.refusal))
        self.assertEqual('provider: Placement has no provider of it',
                         str(builders.decided(None).refusal))

    def test_it_waits_until_the_disk_has_settled(self):
        """The clock may be put back, which must not stop it for ever."""
        fresh = entry(State.DIRTY, since=builders.NOW - 3)
        decision = builders.decided(view(**OURS), of_entry=fresh)
        self.assertEqual((Step.WAIT, 'settled', 'free for less than 10 s'), (
            decision.step, decision.refusal.name, decision.refusal.holder))
        for passed in (8, -1000):
            self.assertEqual(Step.CLEAN, builders.decided(
                view(**OURS), of_entry=fresh,
                now=builders.NOW + passed).step, passed)

    def test_it_pauses_after_failures(self):
        """CLEAN-26"""
        failed = entry(State.DIRTY, failures=2, detail='EIO',
                       not_before=builders.NOW + 5)
        decision = builders.decided(view(**OURS), of_entry=failed)
        self.assertEqual('pause: after 2 failures: EIO',
                         str(decision.refusal))
        self.assertEqual(Step.CLEAN, builders.decided(
            view(**OURS), of_entry=failed, now=builders.NOW + 6).step)


_VIEWS = st.builds(
    builders.view, generation=st.integers(5, 10),
    reserved=st.integers(0, 1), used=st.integers(0, 1),
    marked=st.booleans(), one_time_use=st.booleans())
_REASONS = st.sampled_from(sorted(states.MEANINGS))
_ENTRIES = st.none() | st.builds(
    builders.entry, st.sampled_from(State), reason=_REASONS,
    clean=st.booleans(), was=st.none() | st.sampled_from(State),
    generation=st.integers(5, 10), failures=st.integers(0, 3),
    not_before=st.floats(0, 2 * builders.NOW),
    since=st.floats(0, 2 * builders.NOW))
_HOSTS = st.builds(
    builders.host, displaced=st.sampled_from(['', 'SN0']),
    working=st.booleans(), ours=st.booleans(), selected=st.booleans(),
    present=st.booleans(), serial=st.sampled_from([None, 'SN1', 'SN2']),
    vfs=st.integers(0, 1), uses=st.sampled_from([
        (), (nvme_records.Use('vfio', 'qemu'),)]))
_SEEN = hypothesis.settings(deadline=None, max_examples=500)


class EveryStateAndView(testtools.TestCase):

    @_SEEN
    @hypothesis.given(_VIEWS, _HOSTS, _ENTRIES,
                      st.sampled_from(['hold', 'clean']))
    def test_always(self, seen, found, known, unknown):
        """CLEAN-9, CLEAN-13, CLEAN-14, CLEAN-23, CLEAN-24"""
        decision = builders.decided(seen, found, known, unknown)
        if decision.step in (Step.CLEAN, Step.RESUME):
            self.assertEqual(0, seen.used)
            self.assertTrue(seen.fully_reserved)
            self.assertEqual((), found.facts.uses)
            self.assertEqual((True, 0), (found.selected, found.facts.vfs))
            self.assertIn(found.facts.serial, (None, known.serial))
            self.assertFalse(found.working)
        if decision.step is Step.RELEASE:
            self.assertTrue(found.ours and known.state in (
                State.RELEASING, State.ABSENT))
        if seen.used:
            self.assertIn(decision.state, (
                State.IN_USE, State.ERROR, State.ABSENT, None))
        if not seen.fully_reserved and decision.step is not Step.RESERVE:
            # What may be open is sealed, or nobody's business.
            self.assertTrue(decision.state in (State.SEALED, State.ABSENT,
                                               None), decision)
        if decision.state is not None:
            self.assertNotEqual('', decision.reason)
        self.assertEqual(decision, builders.decided(seen, found, known,
                                                    unknown))

    def test_a_disk_is_offered_by_a_seal_alone(self):
        """CLEAN-23: sealed follows from a verified erase and from nothing."""
        for state, reserved, moved, reason, clean, provider in (
                itertools.product(State, (0, 1), (0, 1, 2),
                                  sorted(states.MEANINGS), (False, True),
                                  ('rp', 'made-anew'))):
            decision = builders.decided(
                view(reserved=reserved, generation=7 + moved,
                     provider=provider), host(),
                entry(state, reason=reason, clean=clean, was=State.DIRTY))
            if decision.state is State.SEALED:
                self.assertEqual('rp', provider)
                self.assertIn((state, moved), {
                    (State.SEALED, 0), (State.RELEASING, 1),
                    (State.HELD, 1)})
                self.assertEqual(0, reserved)


class OptionsTest(testtools.TestCase):

    def test_defaults(self):
        self.assertEqual(records.Options(10.0, 'hold'), records.Options())

    def test_every_step_is_used(self):
        found = {row[3] for row in TABLE} | {Step.WAIT, Step.RELEASE}
        self.assertEqual(set(decide.Step), found)

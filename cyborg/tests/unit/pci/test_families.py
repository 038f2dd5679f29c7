# SPDX-License-Identifier: Apache-2.0
"""A PF and its VFs are never both offered (ID-3)."""

import hypothesis
from hypothesis import strategies as st

from cyborg.pci import address
from cyborg.pci import families
from cyborg.pci import held
from cyborg.tests import base
from cyborg.tests.unit.pci import test_selection

A = address.PciAddress.parse
PF, ONE, TWO, OTHER = 'pf', 'vf1', 'vf2', 'other'
PARENTS = {ONE: PF, TWO: PF}

#: offered, allocated -> what is withheld, why, and for whose sake
CASES = (
    ([PF], [], {}),
    ([ONE, TWO], [], {}),
    ([PF, OTHER], [], {}),
    ([PF, ONE, TWO], [], {PF: ('vfs-offered', (ONE, TWO))}),
    ([PF, ONE], [ONE], {PF: ('vfs-allocated', (ONE,))}),
    ([PF, ONE], [TWO], {PF: ('vfs-allocated', (TWO,))}),
    ([PF], [TWO], {PF: ('vfs-allocated', (TWO,))}),
    ([PF, ONE, TWO, OTHER], [PF], {ONE: ('pf-allocated', (PF,)),
                                   TWO: ('pf-allocated', (PF,))}),
    ([ONE], [PF], {ONE: ('pf-allocated', (PF,))}),
    # 2026.2 gave away both: both stay, and no further one is offered.
    ([PF, ONE, TWO], [PF, ONE], {TWO: ('pf-allocated', (PF,))}),
)


class WithheldTest(base.TestCase):

    def test_cases(self):
        for offered, allocated, expected in CASES:
            found = families.withheld(offered, PARENTS, frozenset(allocated))
            self.assertEqual(
                expected, {each: (why.value, relatives)
                           for each, (why, relatives) in found.items()},
                (offered, allocated))

    def test_both_allocated(self):
        self.assertEqual({}, families.both_allocated(PARENTS, {PF, OTHER}))
        self.assertEqual({}, families.both_allocated(PARENTS, {ONE, TWO}))
        self.assertEqual({PF: (ONE, TWO)}, families.both_allocated(
            PARENTS, {TWO, PF, ONE}))

    def test_words(self):
        for why, relatives, text in (
                ('PF_ALLOCATED', 'p', 'its physical function p is allocated'),
                ('VFS_OFFERED', 'a', 'its virtual function a is offered'),
                ('VFS_ALLOCATED', 'ab',
                 'its virtual functions a, b are allocated'),
                ('VFS_OFFERED', 'abcdef',
                 'its virtual functions a, b, c and 3 more are offered')):
            self.assertEqual(text, families.reason(families.Withheld(
                families.Why[why], tuple(relatives))))

    @hypothesis.given(st.data())
    def test_never_both(self, data):
        """Over random cards, whatever is allocated already."""
        functions = st.integers(0, 9)
        parents = {vf: vf % 3 for vf in data.draw(st.sets(
            st.integers(3, 9)))}
        offered = data.draw(st.sets(functions))
        allocated = data.draw(st.sets(functions))
        gone = families.withheld(offered, parents, allocated)
        left = offered - gone.keys()
        for vf, pf in parents.items():
            if not {vf, pf} <= allocated:
                self.assertFalse({vf, pf} <= left | allocated, (vf, pf))
        self.assertEqual(set(), gone.keys() & allocated)
        # And nothing without need: the next release of a guest shows it.
        for each, (_why, relatives) in gone.items():
            self.assertLessEqual(set(relatives), left | allocated)
            self.assertNotIn(each, relatives)


class SelectionTest(base.TestCase):
    """The verdicts of the generic driver and of the preview."""

    def setUp(self):
        super().setUp()
        vfs = ['0000:0e:00.%d' % n for n in (2, 3)]
        self.devices = [
            test_selection.device(
                '0000:0e:00.0', product='1013', totalvfs=8,
                virtfns=tuple(A(vf) for vf in vfs), net_names=('ib0',)),
            *[test_selection.device(vf, product='1014',
                                    physfn='0000:0e:00.0') for vf in vfs]]

    def select(self, *specs, exclude=()):
        found = test_selection.select(
            self.devices, specs, exclude, held=self.held)
        return [str(verdict.outcome) for verdict in found.values()]

    held = {}

    def test_vfs_go_before_their_pf(self):
        """f02: a PF and its VFs were all offered."""
        self.assertEqual(['vfs-offered', 'offered', 'offered'],
                         self.select('{}'))
        self.assertEqual(['vfs-offered', 'not-selected', 'offered'],
                         self.select('{"product_id": "1013"}',
                                     '{"address": "0000:0e:00.3"}'))

    def test_alone_it_is_offered(self):
        self.assertEqual(['offered', 'not-selected', 'not-selected'],
                         self.select('{"product_id": "1013"}'))
        self.assertEqual(
            ['offered', 'excluded', 'excluded'],
            self.select('{}', exclude=['0000:0e:00.2', '0000:0e:00.3']))

    def test_an_excluded_pf_is_excluded(self):
        self.assertEqual(['excluded', 'offered', 'offered'],
                         self.select('{}', exclude=['0000:0e:00.0']))

    def test_vfs_enabled_after_the_pf_was_bound(self):
        self.held = {A('0000:0e:00.0'): held.Held()}
        self.assertEqual(['offered', 'pf-allocated', 'pf-allocated'],
                         self.select('{}'))

    def test_a_vf_in_use_keeps_its_pf_away(self):
        """Also one that is gone, or that no rule selects any more."""
        for where in ('0000:0e:00.2', '0000:0e:00.4'):
            self.held = {A(where): held.Held(parent=A('0000:0e:00.0'))}
            self.assertEqual('vfs-allocated', self.select(
                '{"product_id": "1013"}')[0])

    def test_both_in_use_stay_what_they_are(self):
        """Rows that 2026.2 left: neither counts as missing."""
        self.held = {A('0000:0e:00.0'): held.Held(),
                     A('0000:0e:00.2'): held.Held()}
        self.assertEqual(['offered', 'offered', 'pf-allocated'],
                         self.select('{}'))

    def test_the_reason_is_shown(self):
        found = test_selection.select(self.devices, ['{}'])
        self.assertEqual(
            'its virtual functions 0000:0e:00.2, 0000:0e:00.3 are offered',
            found['0000:0e:00.0'].decided_by)
        self.held = {A('0000:0e:00.0'): held.Held()}
        found = test_selection.select(self.devices, ['{}'], held=self.held)
        self.assertEqual('its physical function 0000:0e:00.0 is allocated',
                         found['0000:0e:00.2'].decided_by)


class InUseTest(base.TestCase):
    """ID-4: what using a device changes does not change its verdict."""

    def verdict(self, device, *specs, **stored):
        found = test_selection.select([device], specs, held={
            device.address: held.Held(**stored)})
        verdict, = found.values()
        return str(verdict.outcome), verdict.effective_managed

    def test_an_interface_that_went_to_a_guest(self):
        """It counted as missing as soon as a guest had it."""
        device = test_selection.device()
        self.assertEqual(('offered', True), self.verdict(
            device, '{"devname": "ib0"}'))
        self.assertEqual(('offered', False), self.verdict(
            device, '{"devname": "ib0", "managed": false}', managed=False))

    def test_a_later_rule_does_not_decide_instead(self):
        for first, other in (('true', 'false'), ('false', 'true')):
            self.assertEqual(
                ('offered', first == 'true'), self.verdict(
                    test_selection.device(),
                    '{"devname": "ib0", "managed": %s}' % first,
                    '{"vendor_id": "10de", "managed": %s}' % other,
                    managed=first == 'true'))

    def test_a_changed_rule_is_seen(self):
        """REC-3: the planner refuses it."""
        self.assertEqual(('offered', False), self.verdict(
            test_selection.device(), '{"devname": "ib0", "managed": false}'))
        self.assertEqual(('not-selected', True), self.verdict(
            test_selection.device(), '{"vendor_id": "8086"}'))
        self.assertEqual(('offered', False), self.verdict(
            test_selection.device(), '{"managed": false}'))

    def test_it_must_be_able_to_have_been_that_interface(self):
        spec = '{"devname": "ib0", "product_id": "ffff"}'
        self.assertEqual('not-selected', self.verdict(
            test_selection.device(), spec)[0])
        self.assertEqual('not-selected', self.verdict(
            test_selection.device(net_names=('ib1',)),
            '{"devname": "ib0"}')[0])
        self.assertEqual('not-selected', self.verdict(
            test_selection.device(), '{"devname": "ib0"}',
            ids=('10de', 'ffff'))[0])
        ours, other = test_selection.device(), test_selection.device(
            '0000:3c:00.0', net_names=('ib0',))
        found = test_selection.select(
            [ours, other], ['{"devname": "ib0"}'],
            held={ours.address: held.Held()})
        self.assertEqual(['not-selected', 'offered'],
                         [str(v.outcome) for v in found.values()])

    def test_a_vf_that_waits_for_its_removal(self):
        """The kernel drops the link to its PF before its driver lets go."""
        device = test_selection.device(product='1014')
        stored = held.Held(('10de', '1014'), True, A('0000:3b:00.7'))
        found = test_selection.select([device], ['{}'],
                                      held={device.address: stored})
        self.assertEqual(A('0000:3b:00.7'),
                         found['0000:3b:00.0'].device.physfn)
        other = stored._replace(ids=('10de', '1013'))
        found = test_selection.select([device], ['{}'],
                                      held={device.address: other})
        self.assertIsNone(found['0000:3b:00.0'].device.physfn)

# SPDX-License-Identifier: Apache-2.0
"""What holds for every plan, over random hosts."""

import dataclasses
import json

import hypothesis
from hypothesis import strategies as st
import testtools

from cyborg.inventory import plan
from cyborg.inventory import relatives
from cyborg.tests.unit.inventory import builders

ADDRESSES = ['0000:%02x:00.%d' % (bus, function)
             for bus in (1, 2) for function in range(3)]
SETTINGS = st.fixed_dictionaries({}, optional={
    'managed': st.booleans(), 'stateful': st.booleans(),
    'numa_node': st.sampled_from([None, 0, 1])})
FOUND = st.builds(
    lambda address, product, settings: builders.found(
        address, product=product, **settings),
    st.sampled_from(ADDRESSES), st.sampled_from(['1eb8', '1017']), SETTINGS)
DISCOVERY = st.lists(FOUND, unique_by=lambda d: d.key)
MARKS = st.sampled_from([{}, {'in_use': True}, {'arqs': ('arq',)}])


@st.composite
def hosts(draw):
    return builders.host(*(
        builders.stored(device, number, **draw(MARKS))
        for number, device in enumerate(draw(DISCOVERY), 1)))


class Properties(testtools.TestCase):

    @hypothesis.given(DISCOVERY, hosts())
    def test_nothing_allocated_is_removed_or_changes_mode(self, now, before):
        result = plan.plan(now, before)
        removed = [h for device in result.removed_devices
                   for d in device.deployables for h in d.handles]
        removed += [h for record in result.removed_deployables
                    for h in record.deployable.handles]
        removed += [record.handle for record in result.removed_handles]
        removed += [record.handle for record in result.managed_changes]
        self.assertEqual([], [h for h in removed if h.allocated])
        self.assertEqual([], [r for r in result.refused
                              if not r.handle.allocated])

    @hypothesis.given(DISCOVERY, hosts())
    def test_every_allocated_handle_is_accounted_for(self, now, before):
        result = plan.plan(now, before)
        present = {h.uuid for _, deployable, _ in result.present
                   for h in deployable.handles}
        kept = {h.uuid for record in result.retained for h in record.handles}
        allocated = {h.uuid for device in before.devices
                     for d in device.deployables for h in d.handles
                     if h.allocated}
        self.assertEqual(set(), allocated - present - kept)
        self.assertEqual(set(), present & kept)

    @hypothesis.given(DISCOVERY)
    def test_a_stored_discovery_plans_nothing(self, now):
        before = builders.host(*(builders.stored(device, number) for
                                 number, device in enumerate(now, 1)))
        result = plan.plan(now, before)
        self.assertEqual(frozenset(), result.changed_device_ids)
        self.assertEqual((), result.new_devices + result.removed_devices
                         + result.retained + result.refused)

    @hypothesis.given(DISCOVERY, hosts(), st.randoms())
    def test_the_order_of_discovery_does_not_matter(self, now, before, chance):
        shuffled = list(now)
        chance.shuffle(shuffled)
        one, other = plan.plan(now, before), plan.plan(shuffled, before)
        for name in ('refused', 'retained', 'managed_changes',
                     'removed_devices', 'handle_updates', 'present'):
            self.assertEqual(getattr(one, name), getattr(other, name))
        self.assertEqual(set(one.new_devices), set(other.new_devices))


ROOTS = ['0000:01:00.0', '0000:02:00.0']
FUNCTIONS = {'%s%d' % (root[:-1], number): root if number else None
             for root in ROOTS for number in range(3)}


def _function(address, name, with_parent):
    parent = FUNCTIONS[address]
    device = builders.found(address, product='1014' if parent else '1013')
    board = json.loads(device.std_board_info)
    if parent and with_parent:
        board['physfn'] = parent
    deployable = dataclasses.replace(device.deployables[0],
                                     name='%s_%s' % (name, address))
    return dataclasses.replace(device, std_board_info=json.dumps(board),
                               deployables=(deployable,))


@st.composite
def cards(draw, allocated=False):
    """PFs and VFs under changing names; some VFs don't tell their PF."""
    name = draw(st.sampled_from(['c1', 'C1', 'c1.example.org']))
    return [_function(address, name, draw(st.booleans()) or not allocated)
            for address in draw(st.sets(st.sampled_from(sorted(FUNCTIONS))))]


@st.composite
def histories(draw):
    """Rows of whatever reports and binds there were."""
    rows, taken = [], set()
    for number, device in enumerate(draw(cards(allocated=True)), 1):
        marks = draw(MARKS)
        rows.append(builders.stored(device, number, **marks))
        if marks and draw(st.booleans()):
            # 2026.2 could store a device a second time, and give it away.
            rows.append(dataclasses.replace(
                builders.stored(_function(
                    str(device.key[1]), 'old',
                    True), number + 50), controlpath=None))
        taken.add(device.key)
    return builders.host(*rows)


class IdentityProperties(testtools.TestCase):
    """ID-1, ID-3: of any cards, names, rules and allocations."""

    @hypothesis.given(cards(), histories())
    def test_nothing_is_offered_beside_what_it_is_a_part_of(
            self, now, before):
        result = plan.plan(now, before)
        allocated = {h.key for device in before.devices
                     for d in device.deployables for h in d.handles
                     if h.allocated}
        fresh = [h.key for device in result.new_devices
                 for d in device.deployables for h in d.handles]
        kept = [h.key for _, deployable, _ in result.present
                for h in deployable.handles if not h.allocated]
        offered = fresh + kept
        self.assertEqual(len(set(offered)), len(offered))
        self.assertEqual(set(), set(fresh) & allocated)
        told = {device.key: device for device in now}
        for address in offered:
            device = told[address]
            parent = relatives.parent(device.std_board_info)
            if parent is not None:
                self.assertNotIn(('PCI', parent),
                                 allocated | set(offered))

    @hypothesis.given(cards(), histories())
    def test_the_second_report_of_the_same_adds_nothing(self, now, before):
        first = plan.plan(now, before)
        again = plan.plan(now, _followed(before, first))
        self.assertEqual((), again.new_devices)
        self.assertEqual((), again.removed_devices)


def _followed(before, result):
    gone = {device.id for device in result.removed_devices}
    gone_rows = {r.deployable.id for r in result.removed_deployables}
    kept = [dataclasses.replace(device, deployables=tuple(
        d for d in device.deployables if d.id not in gone_rows))
        for device in before.devices if device.id not in gone]
    added = [builders.stored(device, number)
             for number, device in enumerate(result.new_devices, 1000)]
    rows = {device.id: device for device in kept + added}
    for change in result.device_changes:
        rows[change.device.id] = dataclasses.replace(
            rows[change.device.id], **dict(change.columns))
    for number, record in enumerate(result.new_deployables, 5000):
        row = rows[record.device.id]
        fresh = builders.stored(dataclasses.replace(
            builders.found(), deployables=(record.deployable,)), number)
        rows[row.id] = dataclasses.replace(
            row, deployables=row.deployables + fresh.deployables)
    return builders.host(*rows.values())

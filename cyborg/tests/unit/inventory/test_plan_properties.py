# SPDX-License-Identifier: Apache-2.0
"""What holds for every plan, over random hosts."""

import hypothesis
from hypothesis import strategies as st
import testtools

from cyborg.inventory import plan
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

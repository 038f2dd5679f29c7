# SPDX-License-Identifier: Apache-2.0
"""An agent restarted again and again under configurations drawn at random.

Devices are pulled, replaced and plugged in, ARQs bound and deleted, devices
disabled and enabled meanwhile. A model predicts the database, Placement and
every refusal.
"""

import collections
import json

import hypothesis
from hypothesis import stateful
from hypothesis import strategies

from cyborg.common import constants
from cyborg.tests import amount
from cyborg.tests import base
from cyborg.tests.fixtures import services
from cyborg.tests.functional.agent import model as reference

SLOTS = tuple('0000:25:00.%d' % number for number in range(4))
CARDS = (reference.Card(0x10de, 0x25b6), reference.Card(0x1d0f, 0xefa1))
#: Runs of the machine; a campaign sets more.
EXAMPLES = amount.amount('CYBORG_TEST_EXAMPLES', 2, 10)
#: Steps of a run; about half of them restart the agent.
STEPS = 130

#: What a rule says of a slot; mostly there is one, and mostly the same.
_RULES = ('no rule', None, None, True, True, False)

configurations = strategies.builds(
    lambda rules, excluded: reference.Configuration(
        {slot: rule for slot, rule in zip(SLOTS, rules, strict=True)
         if rule != 'no rule'}, frozenset(excluded)),
    strategies.tuples(*[strategies.sampled_from(_RULES)] * len(SLOTS)),
    strategies.sampled_from([(), (), ()] + [(slot,) for slot in SLOTS]))


class Host(stateful.RuleBasedStateMachine):
    """The services and the model, step by step.

    :param test: has the cloud and the logs, and counts what happened.
    """

    def __init__(self, test):
        super().__init__()
        self.test = test
        self.cloud = test.cloud
        self.model = reference.Model()
        self.running: reference.Configuration | None = None
        self.uuids: dict[str, str] = {}
        self.restarts = 0
        for slot in SLOTS:
            self.plug(slot, CARDS[0])

    def teardown(self):
        """Leave nothing behind: the next run starts on the same servers."""
        for slot in self.model.bound():
            self.cloud.delete(self.model.kept[slot].arq)
        for slot in list(self.model.slots):
            self.pull_now(slot)
        self.cloud.restart_agent()
        self.cloud.stop_agent()
        self.test.assertEqual({}, self.cloud.handles())
        self.test.assertEqual({self.cloud.host},
                              set(self.cloud.placement.providers()))
        self.test.logs.clear()

    # The host

    def plug(self, slot, card):
        if slot in self.model.slots:
            self.cloud.unplug(slot)
        self.cloud.plug(slot, vendor=card.vendor, product=card.product)
        self.model.slots[slot] = card

    @stateful.rule(data=strategies.data())
    def step(self, data):
        """One thing that may happen now.

        A single rule that draws what to do: several would be switched off
        for whole runs, of which there are few.
        """
        draw = data.draw
        todo = [self.restart, self.restart, self.replug, self.pull]
        if self.running is not None:
            todo += [self.report, self.report]
        if self.model.free():
            todo += [self.bind] * 3
        if self.model.bound():
            todo.append(self.delete)
        if self.model.kept:
            todo.append(self.disable_or_enable)
        draw(strategies.sampled_from(todo))(draw)

    def replug(self, draw):
        self.plug(draw(strategies.sampled_from(SLOTS)),
                  draw(strategies.sampled_from(CARDS)))

    def pull(self, draw):
        slot = draw(strategies.sampled_from(SLOTS))
        if slot in self.model.slots:
            self.pull_now(slot)

    def pull_now(self, slot):
        self.cloud.unplug(slot)
        del self.model.slots[slot]

    # The agent

    def restart(self, draw):
        self.start(draw(configurations))

    def start(self, configuration):
        self.cloud.stop_agent()
        self.running = None
        self.restarts += 1
        self.test.happened['restarted'] = max(
            self.test.happened['restarted'], self.restarts)
        entries = []
        for slot, managed in sorted(configuration.managed.items()):
            entry = {'address': slot}
            if managed is not None:
                entry['managed'] = managed
            entries.append(entry)
        self.cloud.rules(*entries, exclude=sorted(configuration.excluded))
        try:
            self.model.report(configuration)
        except reference.Refused as refused:
            self.test.happened['start refused'] += 1
            error = self.test.assertRaises(
                services.StartRefused, self.cloud.start_agent)
            for slot in SLOTS:
                self.test.assertEqual(slot in refused.addresses,
                                      slot in str(error))
        else:
            self.cloud.start_agent()
            self.running = configuration
        self.check()

    def report(self, _draw):
        self.test.logs.clear()
        try:
            self.model.report(self.running)
        except reference.Refused as refused:
            self.test.happened['report refused'] += 1
            self.cloud.report()
            self.test.assertTrue(self.cloud.said(
                'ERROR', 'is rejected', *refused.addresses))
        else:
            self.cloud.report()
            self.test.assertFalse(self.cloud.said('ERROR'))
        self.check()

    # Nova and the operator

    def bind(self, draw):
        slot = draw(strategies.sampled_from(self.model.free()))
        self.model.kept[slot].arq = self.cloud.bind(slot)
        self.test.happened['bound'] += 1

    def delete(self, draw):
        slot = draw(strategies.sampled_from(self.model.bound()))
        self.cloud.delete(self.model.kept[slot].arq)
        self.model.kept[slot].arq = None

    def disable_or_enable(self, draw):
        disabled = draw(strategies.booleans())
        slot = draw(strategies.sampled_from(sorted(self.model.kept)))
        handle = self.model.kept[slot]
        if handle.missing:
            return
        device = next(device for device in self.cloud.stored().devices
                      if device.deployables[0].name.endswith(slot))
        self.cloud.set_disabled(device.uuid, disabled)
        handle.disabled = disabled

    # What must hold

    def check(self):
        test, kept = self.test, self.model.kept
        handles = self.cloud.handles()
        test.assertEqual(set(kept), set(handles))
        devices = {device.deployables[0].handles[0].uuid: device
                   for device in self.cloud.stored().devices}
        providers = self.cloud.placement.providers()
        test.assertEqual(
            {self.cloud.provider_name(slot) for slot in kept},
            set(providers) - {self.cloud.host})
        for slot, expected in kept.items():
            self._note(slot, expected)
            handle = handles[slot]
            test.assertEqual(
                (expected.managed, (expected.arq,) if expected.arq else (),
                 expected.arq is not None, '%04x' % expected.card.vendor),
                (json.loads(handle.attach_info).get('managed', True),
                 handle.arq_uuids, handle.in_use,
                 devices[handle.uuid].vendor), slot)
            provider = providers[self.cloud.provider_name(slot)]
            test.assertEqual({constants.PCI: (1, expected.reserved)},
                             self.cloud.placement.amounts(provider), slot)
            test.assertEqual(
                expected.missing, constants.MISSING_TRAIT
                in self.cloud.placement.traits(provider), slot)
            # Identity: a handle is the same as long as the device is kept.
            test.assertEqual(self.uuids.setdefault(slot, handle.uuid),
                             handle.uuid)
            if expected.arq:
                shown = self.cloud.arq(expected.arq)
                test.assertEqual(('Bound', handle.uuid, expected.managed), (
                    shown['state'], shown['attach_handle_uuid'],
                    shown['attach_handle_info']['managed']))
        test.assertEqual(len(self.model.free()), self.cloud.free())
        for slot in set(self.uuids) - set(kept):
            del self.uuids[slot]


    def _note(self, slot, kept):
        happened, card = self.test.happened, self.model.slots.get(slot)
        happened['missing'] += kept.missing
        happened['replaced'] += kept.missing and card not in (None, kept.card)
        happened['unmanaged and bound'] += bool(kept.arq and not kept.managed)
        happened['disabled'] += kept.disabled


class TestRestarts(base.TestCase):
    """MIS-1..6, REC-1..8: predicted by a model."""

    timeout = 600

    def setUp(self):
        super().setUp()
        self.cloud = self.useFixture(
            services.InOneProcess(self.conf, self.logs))

    def test_services_do_as_the_model_says(self):
        self.happened = collections.Counter()
        stateful.run_state_machine_as_test(
            lambda: Host(self),
            settings=hypothesis.settings(
                max_examples=EXAMPLES, stateful_step_count=STEPS,
                deadline=None, database=None, derandomize=EXAMPLES < 10,
                phases=[hypothesis.Phase.generate],
                suppress_health_check=list(hypothesis.HealthCheck)))
        # A machine that never came this far would show nothing. So many
        # restarts are those of one history.
        self.assertGreater(self.happened['restarted'], 50)
        for what in ('bound', 'start refused', 'missing', 'replaced',
                     'unmanaged and bound', 'disabled'):
            self.assertGreater(self.happened[what], 0, self.happened)

# SPDX-License-Identifier: Apache-2.0
"""Cards with virtual functions, rules and names drawn at random.

VFs are enabled and disabled, also under guests; rules select PFs and VFs by
ids, addresses and interfaces; the host is renamed; an agent is restarted and
reports in between. A model predicts what is kept, what is free, and every
refusal; and whatever it says, no two guests have one piece of hardware, and
nothing is offered twice (ID-1, ID-2, ID-3, ID-4).
"""

import collections
import dataclasses

import hypothesis
from hypothesis import stateful
from hypothesis import strategies

from cyborg.common import constants
from cyborg.tests import amount
from cyborg.tests import base
from cyborg.tests.fixtures import services

#: PF -> its interface, and the product of its VFs: one shares it.
CARDS = {'0000:0e:00.0': ('ib0', '1014'), '0000:0f:00.0': ('ib1', '1013')}
PF_PRODUCT = '1013'
MOST_VFS = 2
NAMES = ('c1', 'C1', 'c1.example.org')
#: Runs of the machine; a campaign sets more.
EXAMPLES = amount.amount('CYBORG_TEST_EXAMPLES', 2, 10)
STEPS = 90


def vfs(pf):
    return [pf[:-1] + str(number) for number in range(1, MOST_VFS + 1)]


PARENTS = {vf: pf for pf in CARDS for vf in vfs(pf)}


@dataclasses.dataclass(frozen=True)
class Rules:
    """What is selected: by card, how the PF is, and whether the VFs are.

    :ivar pfs: ``devname``, ``address`` or None by PF.
    :ivar vfs: PFs whose VFs are selected, each by its address.
    """

    pfs: tuple[tuple[str, str | None], ...]
    vfs: frozenset[str]
    excluded: frozenset[str]

    def entries(self):
        for pf, how in self.pfs:
            if how == 'devname':
                yield {'devname': CARDS[pf][0]}
            elif how:
                yield {'address': pf}
        for pf in sorted(self.vfs):
            for vf in vfs(pf):
                yield {'address': vf}

    def select(self, address):
        if address in self.excluded:
            return False
        if address in PARENTS:
            return PARENTS[address] in self.vfs
        return dict(self.pfs)[address] is not None


rules = strategies.builds(
    lambda hows, with_vfs, excluded: Rules(
        tuple(zip(CARDS, hows, strict=True)), frozenset(with_vfs),
        frozenset(excluded)),
    strategies.tuples(*[strategies.sampled_from(
        ('devname', 'address', None))] * len(CARDS)),
    strategies.sets(strategies.sampled_from(sorted(CARDS))),
    strategies.sampled_from([(), (), ()] + [
        (each,) for each in (*CARDS, *PARENTS)]))


class Host(stateful.RuleBasedStateMachine):
    """The services, and what must become of them.

    :param test: has the cloud and the logs, and counts what happened.
    """

    def __init__(self, test):
        super().__init__()
        self.test, self.cloud = test, test.cloud
        self.name = NAMES[0]
        self.rules: Rules | None = None
        self.running = False
        self.present: set[str] = set()
        self.detached: set[str] = set()
        self.bound: dict[str, str] = {}
        self.kept: set[str] = set()
        self.missing: set[str] = set()
        self.uuids: dict[str, str] = {}
        for pf, (net, _product) in CARDS.items():
            self.cloud.tree.add(pf, 0x15b3, int(PF_PRODUCT, 16), 0x020700,
                                totalvfs=MOST_VFS)
            self.cloud.tree.net(pf, net)
            self.present.add(pf)
        self.nets = set(CARDS)

    def teardown(self):
        """Leave nothing behind for the next run."""
        for arq in self.bound.values():
            self.cloud.delete(arq)
        for address in self.present:
            for net in [CARDS[address][0]] if address in self.nets else ():
                self.cloud.tree.take_net(net)
            self.cloud.tree.remove(address)
        self.cloud.configure(host=self.name)
        self.cloud.host = self.name
        self.cloud.restart_agent()
        self.cloud.stop_agent()
        self.test.assertEqual({}, self.cloud.handles())
        self.test.logs.clear()

    @stateful.rule(data=strategies.data())
    def step(self, data):
        """One thing that may happen now; see ``test_restarts``."""
        draw = data.draw
        todo = [self.restart, self.restart, self.change_vfs, self.change_vfs]
        if self.running:
            todo += [self.report, self.report, self.rename]
            if self.free():
                todo += [self.bind] * 4
        if self.bound:
            todo.append(self.delete)
        draw(strategies.sampled_from(todo))(draw)

    # The host

    def change_vfs(self, draw):
        pf = draw(strategies.sampled_from(sorted(CARDS)))
        mine = {vf for vf in vfs(pf) if vf in self.present}
        if not mine:
            for vf in vfs(pf)[:draw(strategies.integers(1, MOST_VFS))]:
                self.cloud.tree.add(vf, 0x15b3, int(CARDS[pf][1], 16),
                                    0x020700, physfn=pf)
                self.present.add(vf)
            return
        for vf in sorted(mine):
            if vf not in self.bound:
                self.cloud.tree.remove(vf)
                self.present.discard(vf)
            elif vf not in self.detached:
                # The kernel waits for the guest to let go of it.
                self.cloud.tree.detach(vf)
                self.detached.add(vf)

    # The agent

    def restart(self, draw):
        self.rules = draw(rules)
        self.start(self.name)

    def rename(self, draw):
        self.start(draw(strategies.sampled_from(NAMES)))

    def start(self, name):
        self.cloud.stop_agent()
        self.running = False
        self.cloud.rules(*self.rules.entries(),
                         exclude=sorted(self.rules.excluded))
        self.cloud.configure(host=name)
        if name != self.name and self.kept:
            error = self.test.assertRaises(
                services.StartRefused, self.cloud.start_agent)
            self.test.assertIn('stored under %s,' % self.name, str(error))
            self.test.happened['rename refused'] += 1
        else:
            self.cloud.start_agent()
            self.name = self.cloud.host = name
            self.running = True
            self.expect()
        self.check()

    def report(self, _draw):
        self.cloud.report()
        self.expect()
        self.check()

    def expect(self):
        """What a report makes of the host, in the words of the issue."""
        selected = {each for each in self.present if self.rules.select(each)
                    and (dict(self.rules.pfs).get(each) != 'devname'
                         or each in self.nets or each in self.bound)}
        offered = {
            each for each in selected - self.bound.keys()
            if PARENTS.get(each) not in self.bound
            and not any(PARENTS[vf] == each for vf in
                        (selected | self.bound.keys()) & PARENTS.keys())}
        self.kept = offered | self.bound.keys()
        self.missing = self.bound.keys() - selected
        happened = self.test.happened
        happened['withheld'] += len(selected - self.kept)
        happened['missing'] += len(self.missing)
        happened['detached and bound'] += len(self.detached)
        happened['interface gone'] += any(
            pf in self.bound and how == 'devname' and pf not in self.nets
            for pf, how in self.rules.pfs)

    def free(self):
        return sorted(self.kept - self.bound.keys() - self.missing)

    # Nova

    def bind(self, draw):
        address = draw(strategies.sampled_from(self.free()))
        related = [each for each in self.bound if
                   PARENTS.get(each) == address
                   or PARENTS.get(address) == each]
        self.test.assertEqual([], related)
        self.bound[address] = self.cloud.bind(address)
        if address in self.nets:
            self.cloud.tree.take_net(CARDS[address][0])
            self.nets.discard(address)
        self.test.happened['bound'] += 1
        self.check_guests()

    def delete(self, draw):
        address = draw(strategies.sampled_from(sorted(self.bound)))
        self.cloud.delete(self.bound.pop(address))
        if address in CARDS:
            self.cloud.tree.net(address, CARDS[address][0])
            self.nets.add(address)
        elif address in self.detached:
            self.detached.discard(address)
            self.cloud.tree.remove(address)
            self.present.discard(address)

    # What must hold

    def check_guests(self):
        """No two guests have one piece of hardware."""
        handles = {a: h for a, h in self.cloud.handles().items()
                   if h.allocated}
        self.test.assertEqual(set(self.bound), set(handles))
        for address in handles:
            self.test.assertNotIn(PARENTS.get(address), handles)

    def check(self):
        self.check_guests()
        stored = self.cloud.stored()
        functions = [handle.key[1]
                     for device in stored.devices
                     for deployable in device.deployables
                     for handle in deployable.handles]
        self.test.assertEqual(len(set(functions)), len(functions))
        if not self.running:
            return
        handles = self.cloud.handles()
        self.test.assertEqual(self.kept, set(handles))
        providers = {name: uuid for name, uuid in
                     self.cloud.placement.providers().items() if '_' in name}
        self.test.assertEqual(len(self.kept), len(providers))
        for address, handle in handles.items():
            uuid, = [uuid for name, uuid in providers.items()
                     if name.endswith('_' + address)]
            missing = address in self.missing
            self.test.assertEqual(
                {constants.PCI: (1, int(missing))},
                self.cloud.placement.amounts(uuid), address)
            if address in self.bound:
                self.test.assertEqual(
                    self.uuids.setdefault(address, handle.uuid), handle.uuid)
                self.test.assertEqual(
                    ('Bound', handle.uuid), (lambda arq: (
                        arq['state'], arq['attach_handle_uuid']))(
                            self.cloud.arq(self.bound[address])))
        for address in set(self.uuids) - self.bound.keys():
            del self.uuids[address]


class TestIdentities(base.TestCase):

    timeout = 600

    def setUp(self):
        super().setUp()
        self.cloud = self.useFixture(
            services.InOneProcess(self.conf, self.logs))
        self.cloud.configure('agent', resource_provider_name=None)
        for name in NAMES:
            self.cloud.placement.add_provider(name)
        self.cloud.host = NAMES[0]
        self.assertTrue(self.cloud.profile)

    def test_one_piece_of_hardware_has_one_guest(self):
        self.happened = collections.Counter()
        stateful.run_state_machine_as_test(
            lambda: Host(self),
            settings=hypothesis.settings(
                max_examples=EXAMPLES, stateful_step_count=STEPS,
                deadline=None, database=None, derandomize=EXAMPLES < 10,
                phases=[hypothesis.Phase.generate],
                suppress_health_check=list(hypothesis.HealthCheck)))
        for what in ('bound', 'withheld', 'missing', 'rename refused',
                     'detached and bound', 'interface gone'):
            self.assertGreater(self.happened[what], 0, self.happened)

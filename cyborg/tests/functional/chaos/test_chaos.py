# SPDX-License-Identifier: Apache-2.0
"""Races of reports, binds and operators, run at random, the same each time.

An episode starts with an empty host and goes through one race of each kind,
in any order, on hardware and configurations that change. Actors (agents,
Nova, an operator) are interrupted at SQL statements, commits, requests to
Placement and RPC calls, and things go wrong there. After each race one clean
report has to bring database and Placement to what a model says.

On SQLite one thread runs at a time and dice draw which, so that a seed tells
everything. Of a failure ``CYBORG_TEST_CHAOS_SEED=N`` repeats the episode
alone; ``CYBORG_TEST_CHAOS_EPISODES`` sets how many there are. On MariaDB and
PostgreSQL the threads run freely.
"""

import collections
import contextlib
import dataclasses
import os
import random

from oslo_db import exception as db_exc
import oslo_messaging as messaging
import testscenarios
from testtools import content

from cyborg.agent import resource_tracker
from cyborg.common import constants
from cyborg.common import exception
from cyborg.db import host_inventory
from cyborg.inventory import attach_info
from cyborg.inventory import values
from cyborg.tests import amount
from cyborg.tests import base
from cyborg.tests.fixtures import database
from cyborg.tests.functional.chaos import actors
from cyborg.tests.functional.chaos import hardware
from cyborg.tests.functional.chaos import invariants
from cyborg.tests.functional.chaos import mischief
from cyborg.tests.functional.chaos import model
from cyborg.tests.functional.chaos import turns
from cyborg.tests.functional.chaos import world as world_
from cyborg.tests.functional.conductor import base as conductor_base


@dataclasses.dataclass(frozen=True)
class Kind:
    """Who takes part in a race, and what goes wrong in it.

    :ivar flips: every managed mode changes before it.
    """

    name: str
    agents: int = 1
    boots: int = 1
    deletes: int = 1
    operators: int = 0
    flips: bool = False
    mischief: tuple[str, ...] = ()


KINDS = (
    Kind('bound between read and update', boots=2, deletes=0, flips=True),
    Kind('freed between read and update', boots=0, deletes=2, flips=True),
    Kind('two agents of one host', agents=2),
    Kind('two conductors', agents=2, boots=3, deletes=0),
    Kind('killed while it reports', boots=0, deletes=0,
         mischief=(mischief.KILL,)),
    Kind('killed while it binds', agents=1, boots=2, deletes=1,
         mischief=(mischief.KILL,)),
    Kind('killed while it changes modes', agents=2, deletes=0, flips=True,
         mischief=(mischief.KILL,)),
    Kind('reply lost', mischief=(mischief.LOST_REPLY,)),
    Kind('deadlock', agents=2, boots=2, mischief=(mischief.DEADLOCK,)),
    Kind('placement', agents=2, mischief=tuple(mischief.PLACEMENT)),
    Kind('everything', agents=2, boots=2, deletes=2, operators=1,
         mischief=(mischief.KILL, mischief.LOST_REPLY, mischief.DEADLOCK,
                   *mischief.PLACEMENT)),
)
EPISODES = amount.amount('CYBORG_TEST_CHAOS_EPISODES', 4, 50)
SEED = os.environ.get('CYBORG_TEST_CHAOS_SEED')

#: What may come of a call in a race, besides success.
_EXPECTED = (
    exception.ARQBadState, exception.AttachHandleChanged,
    exception.BindDeviceDisabled, exception.BindDeviceMissing,
    exception.DeviceNotDisabled,
    exception.DeviceNotOffered, exception.ManagedModeConflict,
    exception.PlacementServerError, exception.PlacementRequestRefused,
    exception.PlacementResourceProviderNotFound,
    exception.ResourceProviderUpdateConflict, exception.ResourceNotFound,
    messaging.MessagingTimeout)
_OF_A_DEADLOCK = 'DBDeadlock'
# Begins the mark of a disabled device, which says what others had reserved.
_DISABLED = constants.DISABLED_TRAIT_PREFIX


class Episode:
    """One world and its races.

    :param test: for its assertions.
    :param world: a fresh one.
    """

    def __init__(self, test: base.TestCase, seed: int, world: world_.World):
        self.test = test
        self.seed = seed
        self.dice = random.Random(seed)
        # The order of a few things is drawn by the service itself.
        random.seed(seed)
        self.free = world.server != 'sqlite'
        self.world = world
        self.watch = invariants.Watch(self.world.db.url)
        self.nova = actors.Nova(self.world)
        self.operator = actors.Operator(self.world)
        self.disabled: set[int] = set()
        self.host = hardware.Host({})
        for bus in hardware.SLOTS:
            self.host = self.host.with_card(
                hardware.new_card(self.dice, bus))
        self.history: list[str] = []

    def run(self) -> collections.Counter:
        """All races; what went wrong in them, counted."""
        count: collections.Counter = collections.Counter()
        self._clean_report()
        for kind in self.dice.sample(KINDS, len(KINDS)):
            self.history.append(kind.name)
            self._prepare()
            count.update(self._race(kind))
            self._settle()
            self.test.logs.clear()
        self._end()
        return count

    # Before

    def _prepare(self):
        """A few instances run, a device may be disabled."""
        kept = self._kept()
        for bus in self.dice.sample(list(hardware.SLOTS), 2):
            if bus in kept and len(self.nova.guests) < 4:
                guest = self.nova.new_guest()
                try:
                    self.nova.boot(self.world.asker(), guest, bus)
                except exception.CyborgException as error:
                    self.history.append('boot on %d: %s' % (bus, error))
        self.nova.clear_up(lambda guest: True)
        if self.dice.random() < 0.3:
            self._toggle(self.dice.choice(list(hardware.SLOTS)))

    def _toggle(self, bus, disabled=None):
        if disabled is None:
            disabled = bus not in self.disabled
        self.operator.set_disabled(self.world.asker(), bus, disabled)

    # The race

    def _race(self, kind: Kind) -> list[str]:
        dice, world = self.dice, self.world
        before = self.host
        kept = self._kept()
        self.host = hardware.changed(dice, before, {
            bus for bus in kept if kept[bus].allocated}, kind.flips)
        capped = dice.random() < 0.1
        actors_ = []
        for number in range(kind.agents):
            sees = before if number and dice.random() < 0.5 else self.host
            agent = actors.Agent(sees, capped and not kind.flips)
            actors_.append(actors.actor(
                'agent %d' % number, world, agent.report))
        running = list(self.nova.guests)
        free = [bus for bus in kept
                if len(kept[bus].allocated) < len(kept[bus].handles)]
        for number in range(kind.boots):
            bus = dice.choice(free or list(hardware.SLOTS))
            guest = self.nova.new_guest()
            actors_.append(actors.actor(
                'boot on %d' % bus, world, self.nova.boot, guest, bus))
            if dice.random() < 0.2:
                # Deleted while it is built.
                running.append(guest)
        actors_ += [
            actors.actor('delete %s' % guest.device, world,
                         self.nova.delete, guest)
            for guest in dice.sample(running, min(kind.deletes,
                                                  len(running)))]
        self.toggled = {}
        for number in range(kind.operators):
            bus = dice.choice(list(hardware.SLOTS))
            self.toggled[bus] = bus not in self._disabled_buses()
            actors_.append(actors.actor(
                'operator on %d' % bus, world, self.operator.set_disabled,
                bus, self.toggled[bus]))
        trouble = mischief.Mischief(
            dice, kind.mischief, dice.choice((0.02, 0.05, 0.15)))
        scheduler = (turns.Crowd if self.free else turns.Turns)(
            dice, dice.choice((0.05, 0.2, 0.5)))
        world.watch = None if self.free else self.watch
        self.watch()
        world.race(actors_, trouble, scheduler)
        self.history += ['%s: %r' % (a.name, a.outcome) for a in actors_]
        self.history.append('went wrong: %s' % trouble.done)
        for each in actors_:
            self._check_outcome(each, trouble)
        self.watch()
        self._check_guests()
        return [kind.name, *trouble.done]

    def _check_outcome(self, actor, trouble):
        outcome = actor.outcome
        if isinstance(outcome, resource_tracker.ConductorFailed):
            if (outcome.kwargs['kind'] == _OF_A_DEADLOCK
                    and mischief.DEADLOCK in trouble.done):
                return
        elif isinstance(outcome, db_exc.DBDeadlock):
            if mischief.DEADLOCK in trouble.done:
                return
        elif not isinstance(outcome, BaseException) or isinstance(
                outcome, _EXPECTED):
            return
        raise outcome

    def _check_guests(self):
        """Who was told that it is bound, is."""
        told = {guest.arq: hardware.name(guest.device)
                for guest in self.nova.guests if guest.bound}
        self.test.assertEqual(told, {
            arq: name for arq, name in self.watch.bound.items()
            if arq in told})

    # After

    def _settle(self):
        """One clean report, and then there is nothing more to do."""
        # Some of what was left behind is cleared up before, some after.
        self.nova.clear_up(lambda guest: self.dice.random() < 0.5)
        for bus, disabled in self.toggled.items():
            self._toggle(bus, disabled)
        self._clean_report()
        if self.dice.random() < 0.5:
            self.nova.clear_up(lambda guest: True)
            self._clean_report()

    def _clean_report(self):
        kept = self._kept()
        conflicts = model.refused(self.host, kept)
        world = self.world
        world.favourite = self.dice.randrange(2)
        if conflicts:
            self.test.assertRaises(exception.ManagedModeConflict,
                                   actors.Agent(self.host).report,
                                   world.asker())
            self._give_in(conflicts, kept)
        expected = model.report(self.host, kept, self._used())
        actors.Agent(self.host).report(world.asker())
        self._compare(expected)
        self._is_quiet(expected.waits)

    def _give_in(self, conflicts, kept):
        """The operator puts back what is refused."""
        for bus in conflicts:
            self.host = self.host.with_card(dataclasses.replace(
                self.host.cards[bus], modes=tuple(
                    (part, handle.managed)
                    for part, handle in kept[bus].allocated.items())))

    def _compare(self, expected):
        self.watch()
        self.test.assertEqual(expected.kept, self._kept())
        placement, found = self.world.placement, {}
        names = placement.providers(self.world.root)
        self.test.assertEqual(
            {conductor_base.HOST, *map(hardware.name, expected.providers)},
            set(names))
        for bus, wanted in expected.providers.items():
            uuid = names[hardware.name(bus)]
            traits = placement.traits(uuid)
            marked = model.MISSING in traits
            (total, reserved), = placement.amounts(uuid).values()
            found[bus] = model.Provider(
                total, reserved, frozenset(
                    name for name in traits if name != model.MISSING
                    and not name.startswith(_DISABLED)),
                None if wanted.marked is None else marked)
        self.test.assertEqual(expected.providers, found)

    def _is_quiet(self, waits: bool):
        """Nothing to write; one question to Placement by who knows it."""
        world, test = self.world, self.test
        before = self._generations()
        for other, knows in ((False, True), (True, False), (False, True)):
            world.favourite ^= other
            world.placement.forget_calls()
            test.assertEqual([], self._writes_of_a_report())
            methods = [call.method for call in world.placement.calls]
            if not waits:
                test.assertEqual(
                    ['GET'] if knows else ['GET'] * len(methods), methods,
                    [str(call) for call in world.placement.calls])
        test.assertEqual(before, self._generations())

    def _writes_of_a_report(self) -> list[str]:
        """Statements that are more than questions, but for its turn."""
        with contextlib.ExitStack() as stack:
            counters = [stack.enter_context(database.StatementCounter(engine))
                        for engine in self.world.engines()]
            actors.Agent(self.host).report(self.world.asker())
        return [text for counter in counters for text in counter.statements
                if not text.startswith(('SELECT', 'SHOW',
                                        'UPDATE quota_usages'))]

    def _generations(self) -> dict[str, int]:
        placement = self.world.placement
        return {name: placement.generation(uuid) for name, uuid
                in placement.providers(self.world.root).items()}

    def _end(self):
        """Everything goes, and nothing is left."""
        self.host = hardware.Host({})
        for guest in self.nova.guests:
            guest.bound = False
        self.nova.clear_up(lambda guest: True)
        self._clean_report()
        self.test.assertEqual({}, self._kept())

    # What there is

    def _stored(self) -> dict[int, values.PersistedDevice]:
        host = host_inventory.load(self.world.asker(), conductor_base.HOST)
        return {device.key[1].bus: device for device in host.devices}

    def _disabled_buses(self):
        return {bus for bus, device in self._stored().items()
                if device.status == 'maintaining'}

    def _kept(self) -> dict[int, model.Kept]:
        kept = {}
        for bus, device in self._stored().items():
            deployable, = device.deployables
            kept[bus] = model.Kept(
                device.vendor, frozenset(
                    a.value for a in deployable.attributes
                    if a.key.startswith('trait')),
                deployable.num_accelerators,
                {_part(handle): model.Handle(
                    attach_info.settings(handle.attach_info).managed,
                    handle.arq_uuids[0] if handle.arq_uuids else None)
                 for handle in deployable.handles},
                device.status == 'maintaining')
        return kept

    def _used(self) -> dict[int, int]:
        placement = self.world.placement
        names = placement.providers(self.world.root)
        return {bus: sum(placement.usages(
            names[hardware.name(bus)]).values())
            for bus in hardware.SLOTS if hardware.name(bus) in names}


def _part(handle: values.PersistedHandle) -> int:
    key = attach_info.AttachInfo.read(handle.attach_info).key(
        handle.attach_type)
    return int(key[3]) if key[0] == 'MDEV' else key[1].function


class _Races:
    """One episode."""

    timeout = 400
    server = 'sqlite'

    def test_races(self):
        world = self.useFixture(world_.World(self.conf, self.seed,
                                             self.server))
        # Placement's fixture names what it keeps for the process by numbers
        # of this sequence, which must not come again in a later test.
        self.addCleanup(random.setstate, random.getstate())
        episode = Episode(self, self.seed, world)
        try:
            episode.run()
        except BaseException:
            for name, lines in (
                    ('seed', ['CYBORG_TEST_CHAOS_SEED=%d repeats it'
                              % self.seed]),
                    ('history', episode.history),
                    ('trace', ['%s: %s' % step for step in world.trace])):
                self.addDetail(name, content.text_content('\n'.join(lines)))
            raise


def _seeds(episodes: int) -> list[tuple[str, dict]]:
    return [(str(seed), {'seed': seed}) for seed in (
        [int(SEED)] if SEED else range(episodes))]


class TestInTurns(_Races, base.TestCase):
    """SQLite, one thread at a time."""

    scenarios = _seeds(EPISODES)


class TestFreely(_Races, base.TestCase):
    """Real databases, threads that run as they like, fewer races.

    A seed tells who does what and what may go wrong, not when.
    """

    timeout = 600
    scenarios = testscenarios.multiply_scenarios(
        [(name, {'server': name}) for name in ('mariadb', 'postgresql')],
        _seeds(min(EPISODES, 4)))


load_tests = testscenarios.load_tests_apply_scenarios

# SPDX-License-Identifier: Apache-2.0
"""Conductors, database and Placement, with dice at every step they take."""

from collections.abc import Sequence
import random
import sqlite3
import threading
import time
import types
import uuid

import fixtures
from oslo_db import exception as db_exc
import oslo_messaging as messaging
import sqlalchemy as sa

from cyborg import objects
from cyborg.common import constants
from cyborg.common import context
from cyborg.conductor import manager
from cyborg.db import api
from cyborg.objects import base as objects_base
from cyborg.tests.fixtures import database
from cyborg.tests.fixtures import nova
from cyborg.tests.fixtures import placement
from cyborg.tests.fixtures import rpc
from cyborg.tests.fixtures import wsgi
from cyborg.tests.functional.chaos import mischief as mischief_
from cyborg.tests.functional.chaos import turns
from cyborg.tests.functional.conductor import base


class Conductor:
    """One process that was started once; it dies as a whole.

    :ivar index: which of the conductors' databases it uses.
    """

    def __init__(self, index: int, world: 'World'):
        self.index = index
        self.dead = False
        self.manager = manager.ConductorManager(agent=_Agent(world))
        # Its own locks know nothing of turns: who waits for one would keep
        # the turn.
        self.manager._reporter._locks = _Locks(self, world)


class _Locks:
    """Stands for the locks by host of one conductor."""

    def __init__(self, conductor: Conductor, world: 'World'):
        self._conductor = conductor
        self._world = world
        self._real = threading.Lock()

    def __getitem__(self, host):
        return self._Lock(self, (self._conductor, host))

    class _Lock:
        def __init__(self, locks, key):
            self._turns, self._key = locks._world.turns, key
            self._real = locks._real

        def __enter__(self):
            self._turns.hold(self._key)
            self._real.acquire()

        def __exit__(self, *exc_info):
            self._real.release()
            self._turns.let_go(self._key)


class _Agent:
    """What conductors ask of the host's agent about mediated devices."""

    def __init__(self, world: 'World'):
        self._world = world

    def create_vgpu_mdev(self, _context, **_device):
        self._world.step('agent')

    def remove_vgpu_mdev(self, _context, **_device):
        self._world.step('agent')


class _Facades:
    """The database as the conductor at work connects to it."""

    def __init__(self, managers: Sequence):
        self.managers = managers
        self.chosen = threading.local()

    @property
    def _mine(self):
        return self.managers[getattr(self.chosen, 'index', 0)]

    @property
    def reader(self):
        return self._mine.reader

    @property
    def writer(self):
        return self._mine.writer


class _Endpoint:
    """Hands each request to one of the conductors, and may lose the reply."""

    target = manager.ConductorManager.target

    def __init__(self, world: 'World'):
        self._world = world

    def __getattr__(self, method):
        if method.startswith('_'):
            raise AttributeError(method)

        def call(asker, *args, **kwargs):
            actor = self._world.turns.adopt(asker)
            if actor is None:
                conductor = self._world.conductors[self._world.favourite]
                return self._serve(conductor, method, asker, args, kwargs)
            with self._world.lock:
                conductor = self._world.dice.choice(self._world.conductors)
            actor.conductor = conductor
            try:
                return self._disturbed(conductor, method, asker, args,
                                       kwargs)
            except mischief_.Killed:
                raise _no_answer() from None
            finally:
                actor.conductor = None
        return call

    def _disturbed(self, conductor, method, asker, args, kwargs):
        self._world.step('call %s' % method)
        try:
            return self._serve(conductor, method, asker, args, kwargs)
        finally:
            self._world.step('reply')
            if self._world.mischief.strikes(mischief_.LOST_REPLY):
                raise _no_answer()

    def _serve(self, conductor, method, asker, args, kwargs):
        chosen = self._world.facades.chosen
        chosen.index = conductor.index
        try:
            return getattr(conductor.manager, method)(asker, *args, **kwargs)
        finally:
            chosen.index = 0


def _no_answer() -> messaging.ExpectedException:
    """What a caller gets in the end who is not answered, without waiting."""
    try:
        raise messaging.MessagingTimeout('no answer')
    except messaging.MessagingTimeout:
        return messaging.ExpectedException()


class World(fixtures.Fixture):
    """Everything around the actors.

    :param conf: the test's ``ConfFixture``.
    :param seed: of the dice. On SQLite, with turns, nothing else decides
        what happens.
    :ivar turns: who runs when; another one for each race.
    :ivar favourite: the conductor that serves what is not part of a race.
    :ivar trace: (actor, step) in order.
    """

    def __init__(self, conf, seed: int, server: str = 'sqlite'):
        super().__init__()
        self.conf = conf
        self.dice = random.Random(seed)
        self.server = server
        self.lock = threading.Lock()
        self.favourite = 0
        self.trace: list[tuple[str, str]] = []
        self.mischief = mischief_.Mischief(self.dice)
        self.turns = turns.Turns(self.dice, 0)
        self.watch = None
        self.broken: AssertionError | None = None
        self._written = False

    def _setUp(self):
        objects.register_all()
        self._quicken()
        self.conf.set(group='placement', connect_retries=0)
        if self.server == 'sqlite':
            # Threads that help a report take no turns.
            self.conf.set(group='placement', max_concurrent_requests=1)
        self.db = self.useFixture(database.DATABASES[self.server]())
        if self.server == 'sqlite':
            # Readers see their snapshot while others write, as elsewhere.
            with sqlite3.connect(self.db.path) as connection:
                connection.execute('PRAGMA journal_mode = WAL')
        self.facades = _Facades([self.db.manager,
                                 api.new_manager(self.db.url)])
        self.addCleanup(self.engines()[1].dispose)
        self.useFixture(fixtures.MonkeyPatch(
            'cyborg.db.api._manager', self.facades))
        for engine in self.engines():
            self._listen(engine)
        self.placement = self.useFixture(placement.PlacementFixture())
        self.root = self.placement.add_provider(base.HOST)
        self.nova = self.useFixture(nova.NovaFixture())
        self.conductors = [Conductor(0, self), Conductor(1, self)]
        self.addCleanup(self._stop)
        self.useFixture(rpc.RPCFixture()).serve(
            constants.CONDUCTOR_TOPIC, _Endpoint(self), server='conductors',
            version='1.1', serializer=objects_base.CyborgObjectSerializer())

    def _quicken(self):
        """Do not sleep where nobody can be quicker than turns."""
        if self.server != 'sqlite':
            return
        self.useFixture(fixtures.MonkeyPatch(
            'oslo_db.api.time', types.SimpleNamespace(
                time=time.time, sleep=lambda _seconds: None)))
        # UUIDs decide about orders, too.
        numbers = random.Random(self.dice.random())
        self.useFixture(fixtures.MonkeyPatch(
            'uuid.uuid4', lambda: uuid.UUID(
                int=numbers.getrandbits(128), version=4)))

    def _stop(self):
        for conductor in self.conductors:
            conductor.manager._stop()

    def engines(self) -> list[sa.Engine]:
        return [m.writer.get_engine() for m in self.facades.managers]

    # Steps

    def _listen(self, engine: sa.Engine):
        for where, name, function in (
                (engine, 'before_cursor_execute', self._at_statement),
                (engine, 'commit', self._at_commit),
                (engine, 'rollback', self._at_end),
                (engine.pool, 'checkin', self._at_end)):
            sa.event.listen(where, name, function)

    def _at_statement(self, connection, _cursor, statement, *_args):
        if statement == 'BEGIN IMMEDIATE':
            # Who waited in the database would keep the turn.
            self.turns.hold('database')
        elif not statement.startswith(('BEGIN', 'ROLLBACK', 'PRAGMA', 'SHOW')):
            self._step_of(connection, ' '.join(statement.split()[:3]))
            self._deadlock()

    def _at_commit(self, connection):
        self._step_of(connection, 'commit')
        self._deadlock()
        self._at_end()
        self._written = True

    def _step_of(self, connection, what):
        try:
            self.step(what)
        except mischief_.Killed:
            # The server notices, and rolls back.
            connection.invalidate()
            self._at_end()
            raise

    def _at_end(self, *_args):
        self.turns.let_go('database')

    def _deadlock(self):
        if (self.turns.current and api._writing.get()
                and self.mischief.strikes(mischief_.DEADLOCK)):
            raise db_exc.DBDeadlock()

    def _at_request(self):
        self.step(self._requests.label)
        if self.turns.current:
            for kind, fault in mischief_.PLACEMENT.items():
                if self.mischief.strikes(kind):
                    return wsgi.Fault('', **fault)
        return None

    def step(self, what: str) -> None:
        """Something is about to be done; others may come before.

        :raises mischief.Killed: the conductor that does it was killed.
        """
        actor = self.turns.current
        if actor is None:
            return
        if self._written and self.watch:
            self._written = False
            self._look()
        self.turns.point()
        with self.lock:
            self.trace.append((actor.name, what))
        conductor = actor.conductor
        if conductor is None:
            return
        if not conductor.dead and self.mischief.strikes(mischief_.KILL):
            self._kill(conductor)
        if conductor.dead:
            raise mischief_.Killed(what)

    def _look(self):
        """Remember what is wrong: whoever runs just now is not to blame."""
        try:
            self.watch()
        except AssertionError as error:
            self.broken = self.broken or error

    def _kill(self, conductor: Conductor) -> None:
        with self.lock:
            conductor.dead = True
            self.conductors[conductor.index] = Conductor(
                conductor.index, self)

    # Races

    def race(self, actors: Sequence[turns.Actor],
             mischief: mischief_.Mischief, scheduler) -> None:
        """Let the actors run, with points and mischief at each step.

        :param scheduler: a ``turns.Turns`` or ``turns.Crowd``.
        """
        self.trace.clear()
        self.mischief, self.turns = mischief, scheduler
        self._requests = self.placement.before(
            '', self._at_request, times=None)
        events = self.nova.before('', lambda: self.step('tell Nova'),
                                  times=None)
        try:
            scheduler.run(actors)
        finally:
            self.placement.heal()
            self.nova.recorder.faults.remove(events)
            self.mischief = mischief_.Mischief(self.dice)
        if self.broken:
            raise self.broken

    def asker(self):
        """A context of its own, as each request has."""
        return context.get_admin_context()

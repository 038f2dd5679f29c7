# SPDX-License-Identifier: Apache-2.0
"""Who runs when: threads that take turns as dice say, or run freely.

An actor is a piece of work that competes with others. Some of it runs in its
own thread, some in a thread of an RPC server; both are the actor. Whatever is
worth an interruption calls ``point()``.
"""

from collections.abc import Callable
from collections.abc import Sequence
import random
import threading
import time

#: Seconds after which a thread that got no turn gives up.
_PATIENCE = 100


class Stuck(AssertionError):
    """The actors wait for each other."""


class Actor:
    """One of those who compete.

    :ivar outcome: what the work returned, or the error it raised.
    :ivar conductor: the conductor that works for the actor right now.
    """

    def __init__(self, name: str, work: Callable[['Actor'], object]):
        self.name = name
        self.work = work
        self.outcome: object = None
        self.done = False
        self.conductor = None
        self.waits_for: object = None
        self.request_id: str | None = None
        self._turn = threading.Semaphore(0)

    def run(self) -> None:
        try:
            self.outcome = self.work(self)
        except Exception as error:
            self.outcome = error

    def give_turn(self) -> None:
        self._turn.release()

    def await_turn(self) -> None:
        if not self._turn.acquire(timeout=_PATIENCE):
            raise Stuck('%s got no turn' % self.name)


class Turns:
    """One actor runs at a time. Same dice, same course of events.

    :param dice: drawn from at every point.
    :param chance: that another actor may go on at a point.
    """

    def __init__(self, dice: random.Random, chance: float):
        self._dice = dice
        self._chance = chance
        self._actors: Sequence[Actor] = ()
        self._holders: dict[object, Actor] = {}
        self._over = threading.Event()
        self.current: Actor | None = None

    def adopt(self, _context) -> Actor | None:
        """The actor for whom a request is; this thread is his from now."""
        return self.current

    def run(self, actors: Sequence[Actor]) -> None:
        """Returns when all have done their work.

        :raises Stuck: they cannot.
        """
        self._actors = actors
        threads = [threading.Thread(target=self._thread, args=(actor,),
                                    daemon=True) for actor in actors]
        for thread in threads:
            thread.start()
        self._go_on()
        self._over.wait(_PATIENCE)
        if not all(actor.done for actor in actors):
            raise Stuck('; '.join(
                '%s: %s' % (a.name, 'done' if a.done else
                            'waits for %s' % (a.waits_for,))
                for a in actors))
        for thread in threads:
            thread.join(_PATIENCE)
        if self._holders:
            raise Stuck('still held: %s' % self._holders)

    def _thread(self, actor: Actor) -> None:
        actor.await_turn()
        actor.run()
        actor.done = True
        self._go_on()

    def _go_on(self) -> None:
        """Let someone run, and do not wait."""
        ready = self._ready()
        if ready:
            self.current = self._dice.choice(ready)
            self.current.give_turn()
        else:
            # All are done, or wait for what nobody lets go any more.
            self.current = None
            self._over.set()

    def _ready(self) -> list[Actor]:
        return [actor for actor in self._actors if not actor.done
                and actor.waits_for not in self._holders]

    def point(self) -> None:
        """Someone else may go on here."""
        if self._dice.random() < self._chance:
            self._pass_on()

    def _pass_on(self) -> None:
        me, ready = self.current, self._ready()
        if not ready:
            raise Stuck('%s waits for %s, and nobody can go on' % (
                me.name, me.waits_for))
        self.current = self._dice.choice(ready)
        if self.current is not me:
            self.current.give_turn()
            me.await_turn()

    def hold(self, what: object) -> None:
        """Wait until nobody holds it, and hold it."""
        me = self.current
        if me is None:
            return
        while what in self._holders:
            me.waits_for = what
            self._pass_on()
        me.waits_for = None
        self._holders[what] = me

    def let_go(self, what: object) -> None:
        """Whoever does not hold it may say so, too."""
        if self.current and self._holders.get(what) is self.current:
            del self._holders[what]


class Crowd:
    """All actors run at once; dice only say who dawdles at which point."""

    def __init__(self, dice: random.Random, chance: float):
        self._dice = dice
        self._chance = chance
        self._lock = threading.Lock()
        self._mine = threading.local()
        self._by_request: dict[str, Actor] = {}

    @property
    def current(self) -> Actor | None:
        return getattr(self._mine, 'actor', None)

    def adopt(self, context) -> Actor | None:
        """As :meth:`Turns.adopt`, by the request's id."""
        self._mine.actor = self._by_request.get(context.request_id)
        return self._mine.actor

    def run(self, actors: Sequence[Actor]) -> None:
        self._by_request = {actor.request_id: actor for actor in actors}
        start = threading.Barrier(len(actors))

        def work(actor):
            self._mine.actor = actor
            start.wait(_PATIENCE)
            actor.run()
            actor.done = True

        threads = [threading.Thread(target=work, args=(actor,), daemon=True)
                   for actor in actors]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(_PATIENCE)
        if not all(actor.done for actor in actors):
            raise Stuck(', '.join(a.name for a in actors if not a.done))

    def point(self) -> None:
        with self._lock:
            dawdles = self._dice.random() < self._chance
            pause = self._dice.random() * 0.02
        if dawdles:
            time.sleep(pause)

    def hold(self, what: object) -> None:
        """The database and the service's own locks see to it."""

    def let_go(self, what: object) -> None:
        """See :meth:`hold`."""

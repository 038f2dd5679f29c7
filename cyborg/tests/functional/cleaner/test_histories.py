# SPDX-License-Identifier: Apache-2.0
"""Random histories of guests, kills, notifications, operators and errors.

CLEAN-3, CLEAN-14, CLEAN-23, CLEAN-24: whatever happens in whatever order, no
guest reads what another one wrote, no disk that is allocated or open is
changed, and every disk has a state and a reason.
"""

import dataclasses
import os
import random

from cyborg.cleaner import journal as cleaner_journal
from cyborg.cleaner import listener
from cyborg.cleaning import states
from cyborg.common import exception
from cyborg.nvme.simulate import kernel as sim_kernel
from cyborg.tests import amount
from cyborg.tests.fixtures import placement_model
from cyborg.tests.functional.cleaner import base
from cyborg.tests.functional.cleaner import test_kills
from cyborg.tests.functional.cleaner import test_listener

ONE, TWO = base.ONE, base.TWO
SEED = int(os.environ.get('CYBORG_TEST_CLEANER_SEED', '1'))
STEPS = 14


@dataclasses.dataclass
class Use:
    """Who has a disk, as Nova and the host see it.

    :ivar guest: None when it ended.
    """

    consumer: str | None
    guest: object | None
    secret: bytes


class History:
    """One history, by a seed.

    :ivar excused: disks that Nova offered by itself, having made their
        provider anew: nobody can prevent that, and it has to be told.
    :ivar unseen: disks whose guest came and went before any look or message,
        until the next look: the window that one_time_use closes.
    """

    def __init__(self, case, seed: int):
        self.case, self.host = case, case.host
        self.random = random.Random(seed)
        self.killer = case.killer
        self.uses: dict[str, Use] = {}
        self.secrets: dict[str, list[bytes]] = {ONE: [], TWO: []}
        self.excused: set[str] = set()
        self.unseen: set[str] = set()
        self.log: list[str] = ['seed %d' % seed]
        self.number = seed * 1000
        self.endpoint = listener.Endpoint(self.host.client(),
                                          lambda host: None)

    def run(self) -> None:
        actions = [self.boot, self.boot, self.delete, self.delete,
                   self.half_delete, self.look, self.look, self.look,
                   self.killed_look, self.message, self.operator,
                   self.placement_error, self.made_anew, self.mounted,
                   self.time]
        for _step in range(STEPS):
            action = self.random.choice(actions)
            address = self.random.choice((ONE, TWO))
            self.log.append('%s %s' % (action.__name__, address[5:7]))
            action(address)
            self.check()
        self.settle()

    # What happens

    def boot(self, address) -> None:
        """Nova gives the disk to a guest, if Placement offers it."""
        if address in self.uses or self.host.reserved(address):
            return
        if self.host.world.host().port(address).facts().uses:
            return
        self.number += 1
        secret = (b'secret %d.' % self.number).ljust(512, b'!')
        consumer, guest = self.host.boot(address)
        if address not in self.excused | self.unseen:
            found = guest.read(1, 0, 4096)
            for before in self.secrets[address]:
                self.case.assertNotIn(before, found, self.log)
        guest.write(1, 0, secret)
        self.uses[address] = Use(consumer, guest, secret)
        self.secrets[address].append(secret)

    def delete(self, address) -> None:
        use = self.uses.pop(address, None)
        if use is not None:
            if use.guest is not None:
                use.guest.leave()
            if use.consumer is not None:
                self.free(address, use)

    def free(self, address, use) -> None:
        if not self.host.reserved(address):
            self.case.assertFalse(self.host.one_time_use, self.log)
            self.unseen.add(address)
        self.host.placement.deallocate(use.consumer)
        use.consumer = None

    def half_delete(self, address) -> None:
        """The allocation goes before the guest, or the guest before it."""
        use = self.uses.get(address)
        if use is None:
            return
        if use.consumer is not None and self.random.random() < 0.5:
            self.free(address, use)
        elif use.guest is not None:
            use.guest.leave()
            use.guest = None
        if use.guest is None and use.consumer is None:
            del self.uses[address]

    def look(self, _address) -> None:
        try:
            self.host.look()
        except exception.CyborgException:
            pass

    def killed_look(self, address) -> None:
        self.killer.begin(self.random.randrange(40))
        try:
            self.look(address)
        except sim_kernel.Killed:
            test_kills.killed(self.host)
            self.killer.begin(None)
            test_kills.start(self.host, self.killer)
        self.killer.begin(None)

    def message(self, address) -> None:
        use = self.uses.get(address)
        consumer = use.consumer if use else None
        for _twice in range(self.random.choice((1, 2))):
            self.endpoint.info({}, 'nova', self.random.choice((
                'instance.create.start', 'instance.delete.end',
                'instance.create.error')), test_listener.payload(
                    consumer or test_listener.INSTANCE), {})
        event, content, _kind = self.random.choice(test_listener.BAD)
        self.endpoint.info({}, 'nova', event, content, {})

    def operator(self, address) -> None:
        self.host.cleaner.book.journal.ask(cleaner_journal.Request(
            self.random.choice(('clean', 'retry', 'hold')), address))

    def placement_error(self, _address) -> None:
        self.host.placement.fail(
            self.random.choice(('GET', 'PUT .*inventories',
                                'PUT .*aggregates')),
            status=self.random.choice((500, 503, 409)),
            times=self.random.randrange(1, 3))

    def made_anew(self, address) -> None:
        """Nova forgets the reservation; not while somebody is allocated."""
        use = self.uses.get(address)
        if use is not None and use.consumer is not None:
            return
        self.host.placement.delete_provider(self.host.providers[address])
        self.host.add_provider(address)
        self.excused.add(address)

    def mounted(self, address) -> None:
        """A look while an administrator has mounted it."""
        facts = self.host.world.host().port(address).facts()
        if facts.uses or not facts.blocks or address in self.uses:
            return
        name = facts.blocks[0].name
        self.host.world.mount(name, '/mnt')
        before = len(self.host.world.touched(address))
        self.look(address)
        self.case.assertEqual(before, len(self.host.world.touched(address)),
                              self.log)
        self.host.world.unmount(name)

    def time(self, _address) -> None:
        self.host.clock.pass_(self.random.choice((1, 60, 4000)))

    # What must hold

    def check(self) -> None:
        self.host.placement.heal()
        for address, use in self.uses.items():
            if use.consumer is not None or use.guest is not None:
                # Nobody has erased it below its user.
                self.case.assertIn(use.secret, self.host.media(address),
                                   self.log)
        for address in (ONE, TWO):
            if self.host.reserved(address):
                self.unseen.discard(address)
                continue
            if address in self.uses or address in self.excused | self.unseen:
                continue
            entry = self.host.entry(address)
            if entry is None or entry.state is not states.State.SEALED:
                continue
            provider = self.host.providers[address]
            if self.host.placement.generation(provider) != entry.generation:
                continue  # somebody came and went: not looked at yet
            for secret in self.secrets[address]:
                self.case.assertNotIn(secret, self.host.media(address),
                                      self.log)

    def settle(self) -> None:
        """All users go; the rest follows by polling alone."""
        for address in (ONE, TWO):
            self.delete(address)
        for _look in range(5):
            self.host.clock.pass_(4000)
            self.host.look()
            self.check()
        for address in (ONE, TWO):
            entry = self.host.entry(address)
            self.case.assertIn(entry.state, (
                states.State.SEALED, states.State.HELD, states.State.ERROR),
                (self.log, entry))
            self.case.assertNotEqual('', entry.reason)
            if entry.state is not states.State.SEALED:
                self.case.assertEqual(1, self.host.reserved(address))
                self.host.cleaner.book.journal.ask(cleaner_journal.Request(
                    'clean', address))
                self.host.look(3)
            self.case.assertOffered(address)
            for secret in self.secrets[address]:
                self.case.assertNotIn(secret, self.host.media(address))


class HistoriesTest(base.CleanerTestCase):

    disks = (ONE, TWO)
    timeout = 4 * 3600
    placement = placement_model.PlacementModel

    def setUp(self):
        super().setUp()
        self.killer = test_kills.Killer()
        test_kills.start(self.host, self.killer)
        self.host.look()

    def test_random(self):
        """0 violations. CYBORG_TEST_CLEANER_HISTORIES is their number,
        CYBORG_TEST_CLEANER_SEED the first seed."""
        for seed in range(SEED, SEED + amount.amount(
                'CYBORG_TEST_CLEANER_HISTORIES', 8, 200)):
            History(self, seed).run()
            self.logs.clear()


class OneTimeUseHistoriesTest(HistoriesTest):
    """CLEAN-12: where Nova reserves in the claim there is no window."""

    one_time_use = True

    def test_seed_1647(self):
        """CLEAN-9: a guest had the disk of a cleaner that was killed.

        Its sanitize had ended and was followed, in a provider that Nova had
        made anew and whose generation was the same by chance.
        """
        History(self, 1647).run()

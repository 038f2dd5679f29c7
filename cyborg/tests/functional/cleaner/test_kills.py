# SPDX-License-Identifier: Apache-2.0
"""CLEAN-24: the process ends before or after anything that it does.

Enumerated: each write of the journal and of Placement, and each command that
changes a disk. Whatever was being done, the next process ends it, and no disk
is offered in between on which something can be read.
"""

from cyborg.cleaner import journal as cleaner_journal
from cyborg.nvme.simulate import kernel as sim_kernel
from cyborg.placement import tree
from cyborg.tests import amount
from cyborg.tests.functional.cleaner import base

ONE = base.ONE
SECRET = b'secret'.ljust(512, b'!')
#: Commands of a disk that only look.
_LOOKS = {'Identify', 'Get Log Page', 'rescan'}


class Killer:
    """Ends the process at one of the points that it passes.

    :ivar at: number of the point, from 0; None lets it live.
    :ivar after: or names of points, at the second one of which after the
        first it ends; () for none.
    """

    def __init__(self):
        self.at: int | None = None
        self.after: tuple[str, ...] = ()
        self.passed: list[str] = []

    def begin(self, at: int | None) -> None:
        self.at, self.after, self.passed = at, (), []

    def point(self, stage: str, name: str) -> None:
        if name in _LOOKS:
            return
        self.passed.append('%s %s' % (stage, name))
        if len(self.passed) - 1 == self.at or (
                self.after and self.passed[-1] == self.after[1]
                and self.after[0] in self.passed):
            raise sim_kernel.Killed(self.passed[-1])

    def around(self, function, name: str):
        def call(*args):
            self.point('before', name)
            result = function(*args)
            self.point('after', name)
            return result
        return call

    def client(self, client: tree.TreeClient) -> tree.TreeClient:
        """The same client, whose writes are points."""
        for name in ('put_inventories', 'put_aggregates'):
            setattr(client, name, self.around(getattr(client, name), name))
        return client


def start(host: base.ComputeHost, killer: Killer) -> None:
    host.on_call = killer.point
    cleaner = host.start(client=killer.client(host.client()))
    journal = cleaner.book.journal
    journal._write = killer.around(journal._write, 'journal')


def killed(host: base.ComputeHost) -> None:
    """The process is gone: its locks and handles with it."""
    host.cleaner.book.journal.unlock()
    host.cleaner._disks.kernel.die()
    host.cleaner = None


class KillTest(base.CleanerTestCase):

    timeout = 900

    def setUp(self):
        super().setUp()
        self.killer = Killer()
        start(self.host, self.killer)
        self.host.look()
        self.assertOffered()

    def assertNothingIsLost(self, secret: bytes, why: str) -> None:
        if self.host.reserved() == 0:
            self.assertNotIn(secret, self.host.media(), why)

    def life(self, number: int, at: int | None) -> bool:
        """One guest's life, with the process killed on the way.

        :returns: whether it was.
        """
        host, killer = self.host, self.killer
        secret = (b'secret %d ' % number).ljust(512, b'#')
        consumer, guest = host.boot()
        self.assertEqual(bytes(512), guest.read(1, 0, 512))
        guest.write(1, 0, secret)
        # It is in use: nothing but the reservation may fail to come.
        killer.begin(at)
        dead = ''
        for _look in range(2):
            try:
                host.look()
            except sim_kernel.Killed as error:
                dead = str(error)
                killed(host)
                killer.begin(None)
                start(host, killer)
                host.look()
            if _look == 0:
                self.assertReserved('in_use', 'allocated')
                self.assertIn(secret, host.media(), dead)
                host.delete(consumer, guest)
            self.assertNothingIsLost(secret, dead)
        for _look in range(4):
            host.clock.pass_(60)
            host.look()
            self.assertNothingIsLost(secret, dead)
        self.assertEqual(('sealed', 'verified'), host.state(), dead)
        self.assertEqual(0, host.reserved(), dead)
        return bool(dead)

    def lives(self) -> int:
        """One for each point; in the gate for a part of them.

        :returns: how many points there are.
        """
        part = amount.amount('CYBORG_TEST_CLEANER_KILLS', 7, 1)
        number = 0
        while self.life(number, number):
            number += part
        self.life(number + 1, None)
        return len(self.killer.passed)

    def test_at_every_point(self):
        """CLEAN-24, CLEAN-23"""
        number = self.lives()
        # Reserve, free, the erase, verify, release: no point is left out.
        points = self.killer.passed
        self.assertGreater(number, 20, points)
        for name in ('before journal', 'after put_inventories',
                     'before put_aggregates', 'before Sanitize',
                     'after Sanitize', 'before write'):
            self.assertIn(name, points)


class FormatKillTest(KillTest):
    """The same with a disk that can only be formatted."""

    def setUp(self):
        base.CleanerTestCase.setUp(self)
        self.killer = Killer()
        self.host.world.media(ONE).set(identity=base.dataclasses.replace(
            self.host.world.media(ONE).state().identity, sanicap=0))
        start(self.host, self.killer)
        self.host.look()
        self.assertOffered()

    def test_at_every_point(self):
        """CLEAN-17, CLEAN-24"""
        self.lives()
        self.assertIn('after Format NVM', self.killer.passed)


class FollowedTest(base.CleanerTestCase):
    """A sanitize that a dead process had begun is followed by the next."""

    def setUp(self):
        super().setUp()
        self.killer = Killer()
        start(self.host, self.killer)
        self.host.look()

    def killed_after_the_erase(self) -> None:
        """The erase has ended and is written down; what follows is not."""
        consumer, guest = self.host.boot()
        guest.write(1, 0, SECRET)
        self.host.look()
        self.host.delete(consumer, guest)
        self.killer.begin(None)
        self.killer.after = ('after Sanitize', 'after journal')
        for _look in range(3):
            self.host.clock.pass_(60)
            try:
                self.host.look()
            except sim_kernel.Killed:
                killed(self.host)
                self.killer.begin(None)
                return
        self.fail('it was never killed')

    def test_written_after_the_erase_that_is_followed(self):
        """CLEAN-24: what a dead process held, anybody can write to."""
        self.killed_after_the_erase()
        self.assertNotIn(SECRET, self.host.media())
        intruder = self.host.guest(ONE)
        intruder.write(1, 0, SECRET)
        intruder.leave()
        self.assertCleanedAgain()

    def test_given_to_a_guest_after_the_erase_that_is_followed(self):
        """CLEAN-9: Nova made the provider anew, and a guest came and went."""
        self.killed_after_the_erase()
        self.host.placement.delete_provider(self.host.providers[ONE])
        self.host.add_provider(ONE)
        consumer, guest = self.host.boot()
        guest.write(1, 0, SECRET)
        self.host.delete(consumer, guest)
        self.assertCleanedAgain()

    def assertCleanedAgain(self):
        start(self.host, self.killer)
        for _look in range(3):
            self.host.clock.pass_(60)
            self.host.look()
        self.assertEqual(('sealed', 'verified'), self.host.state())
        self.assertOffered()
        self.assertNotIn(SECRET, self.host.media())


class JournalIsDurable(base.CleanerTestCase):

    def test_a_file_is_whole_or_the_one_before(self):
        """CLEAN-25"""
        self.host.start()
        self.host.look()
        journal = cleaner_journal.Journal(self.host.journal_path, 'h')
        before = journal.load()
        name, entry = next(iter(before.items()))
        # What a kill in the middle of a write leaves is not looked at.
        with open('%s/%s.new' % (self.host.journal_path, name), 'w') as file:
            file.write('{"half')
        self.assertEqual(before, journal.load())
        journal.put(entry)
        self.assertEqual(before, journal.load())

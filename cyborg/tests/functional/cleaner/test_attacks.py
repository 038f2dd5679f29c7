# SPDX-License-Identifier: Apache-2.0
"""What others do to a cleaner in the worst moment.

No disk is erased that has an allocation or a holder, and none is offered that
holds anything: CLEAN-13, CLEAN-14, CLEAN-23.
"""

import json
import os
import shutil
import threading
import uuid

from cyborg.cleaner import journal as cleaner_journal
from cyborg.cleaning import states
from cyborg.nvme.simulate import kernel as sim_kernel
from cyborg.tests.fixtures import placement_model
from cyborg.tests.functional.cleaner import base
from cyborg.tests.functional.cleaner import test_kills

ONE, TWO, CLASS = base.ONE, base.TWO, base.CLASS
State = states.State


class AttackCase(base.CleanerTestCase):

    placement = placement_model.PlacementModel

    def setUp(self):
        super().setUp()
        self.host.start()
        self.host.look()
        self.assertOffered()

    def used_once(self, address=ONE):
        """A guest wrote its secret and is gone; nobody looked since."""
        consumer, guest = self.host.boot(address)
        guest.write(1, 0, base.SECRET)
        self.host.look()
        self.host.delete(consumer, guest)
        self.host.clock.pass_(60)

    def sanitizes(self, address=ONE):
        return self.host.world.opcodes(address).count('Sanitize')


class ReleaseTest(AttackCase):

    def release_unanswered(self):
        """The release is written, and its answer is lost on the way."""
        self.used_once()
        self.host.placement.fail('PUT .*inventories', delivered=True)

    def test_an_answer_that_is_lost(self):
        """CLEAN-23: one erase, and no disk that is taken back."""
        self.release_unanswered()
        before = self.sanitizes()
        self.host.look()
        self.assertOffered()
        self.assertEqual(before + 1, self.sanitizes())

    def test_a_guest_that_was_quicker_than_the_next_look(self):
        """It has a clean disk: in use, and no alarm."""
        self.release_unanswered()
        booted = []

        def boot():
            if not booted and not self.host.reserved():
                booted.append(self.host.allocate())

        # The first look after the release without an answer.
        self.host.placement.before('GET .*inventories', boot, times=None)
        self.host.look()
        self.host.placement.heal()
        self.assertEqual(1, len(booted))
        self.host.look()
        self.assertReserved('in_use', 'allocated')
        self.assertEqual([], self.logs.messages('ERROR'))

    def test_a_release_that_comes_after_its_process(self):
        """It was on its way when the process was killed: refused."""
        killer = test_kills.Killer()
        self.host.stop()
        test_kills.start(self.host, killer)
        self.used_once()
        killer.begin(None)
        seen = []

        def keep(*args):
            seen.append(args)
            raise sim_kernel.Killed('before the release')

        self.host.cleaner._view.client.put_inventories = keep
        self.assertRaises(sim_kernel.Killed, self.host.look)
        test_kills.killed(self.host)
        self.host.world.break_(ONE, sanitize_hangs_at=1)
        self.host.start(spawn=base.beside, pause=0.02)
        self.host.look()
        # Now it arrives, while the next process cleans.
        _context, provider, generation, wanted = seen[0]
        self.host.placement.api(
            'PUT', '/resource_providers/%s/inventories' % provider, {
                'resource_provider_generation': generation,
                'inventories': {name: {'total': record.total, 'reserved': 0}
                                for name, record in wanted.items()}},
            ok=(409,))
        self.assertEqual(1, self.host.reserved())


class StaleLookTest(AttackCase):

    def test_a_look_that_was_begun_before_a_release(self):
        """What Placement said before counts no more: no false alarm."""
        host = self.host
        host.stop()
        host.start(spawn=base.beside, pause=0.02)
        self.used_once()
        here, go_on = threading.Event(), threading.Event()
        host.placement.before('PUT .*inventories', lambda: (
            here.set(), go_on.wait(60)))
        host.look()
        self.assertTrue(here.wait(60))
        views = host.cleaner.views

        def before_the_release(facts):
            found = views(facts)
            go_on.set()
            host.wait_for(lambda: not host.cleaner.working)
            return found

        host.cleaner.views = before_the_release
        host.look()
        self.assertOffered()
        host.cleaner.views = views
        host.allocate()
        host.look()
        self.assertReserved('in_use', 'allocated')
        self.assertEqual([], self.logs.messages('ERROR'))


class RaceTest(AttackCase):

    disks = (ONE, TWO)

    def cleaning_with(self, match, number, action):
        """A cleaning, at whose call of a number something happens."""
        done = []

        def act():
            done.append(len(self.host.world.touched(ONE)))
            action()

        self.used_once()
        self.host.placement.before(match, act, skip=number)
        self.host.look()
        self.host.placement.heal()
        return done

    def test_a_scheduler_between_look_and_erase(self):
        """The reservation was first: Placement refuses the claim."""
        refused = []

        def claim():
            refused.append(self.host.placement.aside(
                'PUT', '/allocations/%s' % uuid.uuid4(), {
                    'allocations': {self.host.providers[ONE]: {
                        'resources': {CLASS: 1}}},
                    'consumer_generation': None, 'consumer_type': 'INSTANCE',
                    'project_id': self.host.root,
                    'user_id': self.host.root},
                {'OpenStack-API-Version': 'placement 1.39'}).status_code)

        self.used_once()
        self.host.placement.before('GET .*usages', claim, times=None)
        self.host.look()
        self.host.placement.heal()
        self.assertEqual({409}, set(refused))
        self.assertOffered()

    def test_a_guest_that_is_let_in_while_it_is_erased(self):
        """CLEAN-14: somebody lowers the reservation, at every call.

        Nothing that destroys is sent from then on, and the guest can't
        start as long as the disk is held.
        """
        consumers = []

        def let_in():
            self.host.placement.set_reserved(self.host.providers[ONE],
                                             CLASS, 0)
            consumers.append(self.host.allocate(ONE))

        number = 0
        while True:
            done = self.cleaning_with('GET .*usages', number, let_in)
            if not done:
                break
            after = self.host.world.touched(ONE)[done[0]:]
            self.assertEqual([], [each for each in after
                                  if 'opcode' in each], number)
            self.host.look(2)
            self.assertEqual(1, self.host.reserved(), number)
            self.assertIn(self.host.state()[0], ('in_use', 'error'), number)
            self.host.placement.deallocate(consumers.pop())
            if self.host.state()[0] == 'error':
                self.host.cleaner.book.journal.ask(
                    cleaner_journal.Request('retry', ONE))
            self.host.clock.pass_(7200)
            self.host.look(3)
            self.assertOffered()
            number += 1
        self.assertGreater(number, 3)

    def test_renumbered_between_look_and_erase(self):
        """CLEAN-15: nvme0 and nvme1 swap their names, at every call."""
        host = self.host
        secret = b'of somebody else'.ljust(512, b'*')
        host.world.mount('nvme1n1', '/srv')
        host.world.device(TWO).write(1, 0, secret)
        points = []

        def swap(stage, name):
            points.append(name)
            if len(points) == number + 1:
                host.world.renumber(ONE, TWO)
                # The mount goes with its disk, under another number.
                host.world.unmount('nvme1n1')
                host.world.mount('nvme0n1', '/srv')

        number = 0
        while True:
            host.stop()
            points.clear()
            host.on_call = swap
            host.start()
            self.used_once()
            host.look()
            host.on_call = None
            self.assertIn(secret, host.media(TWO), points)
            if len(points) <= number:
                break
            host.stop()
            for name in ('nvme0n1', 'nvme1n1'):
                host.world.unmount(name)
            if host.world.host().port(ONE).facts().controller != 'nvme0':
                host.world.renumber(ONE, TWO)
            host.world.mount('nvme1n1', '/srv')
            host.start()
            host.clock.pass_(7200)
            host.look(2)
            self.assertOffered()
            self.assertNotIn(base.SECRET, host.media(ONE))
            number += 5
        self.assertGreater(number, 20)


class ProvidersTest(AttackCase):

    def twin(self):
        return self.provider('old-name', self.host.root)

    def provider(self, node, root):
        placement = self.host.placement
        made = placement.add_provider('%s_%s' % (node, ONE), root)
        placement.set_inventory(made, **{CLASS: {'total': 1}})
        placement.set_traits(made, base.MANAGED)
        return made

    def test_a_disk_with_two_providers(self):
        """Which of them Nova goes by is not known: both are reserved."""
        twin = self.twin()
        before = len(self.host.world.touched(ONE))
        self.host.look(2)
        self.assertReserved('dirty', 'seal broken')
        self.assertEqual({CLASS: (1, 1)}, self.host.placement.amounts(twin))
        self.assertEqual(before, len(self.host.world.touched(ONE)))
        self.assertLogged(
            'WARNING', 'provider: Placement has several providers of it: '
            'compute-1_0000:81:00.0, old-name_0000:81:00.0')
        self.host.cleaner.book.journal.ask(cleaner_journal.Request(
            'release', ONE, 'I know better'))
        self.host.look()
        self.assertLogged('WARNING', 'Delete the one that Nova does not keep')
        self.assertEqual(1, self.host.reserved())
        self.host.placement.delete_provider(twin)
        self.host.look()
        self.assertOffered()

    def test_the_other_provider_is_allocated(self):
        self.host.placement.allocate(self.twin(), CLASS)
        before = len(self.host.world.touched(ONE))
        self.host.look(3)
        self.assertReserved('in_use', 'allocated')
        self.assertEqual(before, len(self.host.world.touched(ONE)))

    def test_the_host_gets_another_name(self):
        """Nova makes providers anew under it: reserved, and cleaned."""
        self.used_once()
        self.host.world.mount('nvme0n1', '/mnt')
        self.host.look()
        self.assertReserved('dirty', 'freed')
        self.host.stop()
        placement = self.host.placement
        root = placement.add_provider('compute-9')
        placement.set_inventory(root, MEMORY_MB={'total': 4096})
        self.host.providers[ONE] = self.provider('compute-9', root)
        self.conf.set(host='compute-9')
        self.conf.set('agent', resource_provider_name='compute-9')
        self.host.start()
        self.host.look()
        self.assertReserved('dirty', 'reservation lost')
        self.assertIn(base.SECRET, self.host.media())
        self.host.world.unmount('nvme0n1')
        self.host.look()
        self.assertOffered()
        self.assertNotIn(base.SECRET, self.host.media())

    def test_a_write_of_others_while_it_is_reserved(self):
        """CLEAN-8: read, and decided anew, in the same look."""
        self.host.boot()
        provider = self.host.providers[ONE]
        self.host.placement.before(
            'PUT .*aggregates|PUT .*inventories',
            lambda: self.host.placement.set_traits(
                provider, base.MANAGED, 'CUSTOM_NEW'))
        self.host.look()
        self.assertReserved('in_use', 'allocated')
        self.assertEqual([], self.logs.messages('WARNING'))


class OpenerTest(AttackCase):

    def test_udev_looks_for_a_moment(self):
        """Refused once, asked again soon, and nothing is told."""
        self.used_once()
        self.host.world.open_by(77, 'systemd-udevd', 'nvme0n1')
        before = len(self.host.world.touched(ONE))
        self.host.look()
        self.assertReserved('dirty', 'freed')
        self.assertEqual(before, len(self.host.world.touched(ONE)))
        self.assertTrue(self.host.cleaner.impatient)
        self.host.world.end_process(77)
        self.host.clock.pass_(5)
        self.host.look()
        self.assertOffered()
        self.assertFalse(self.host.cleaner.impatient)
        self.assertEqual([], self.logs.messages('WARNING'))

    def test_somebody_stays(self):
        self.used_once()
        self.host.world.open_by(77, 'dd', 'nvme0n1')
        for _look in range(3):
            self.host.look()
            self.host.clock.pass_(5)
        self.assertReserved('dirty', 'freed')
        told = [line for line in self.logs.messages('WARNING')
                if 'opener: dd (process 77) has /dev/nvme0n1' in line]
        self.assertEqual(1, len(told))

    def test_one_who_opened_it_for_himself_for_a_moment(self):
        """LVM does: no file tells, and O_EXCL fails for a moment."""
        self.used_once()
        world, kernel = self.host.world, self.host.cleaner._disks.kernel
        world.claim('nvme0n1')
        opens = []
        open_block = kernel.open_block

        def open_it(name, writable):
            opens.append(name)
            if len(opens) == 3:
                world.unclaim(name)
            return open_block(name, writable)

        kernel.open_block = open_it
        self.host.look()
        self.assertOffered()
        self.assertEqual([], self.logs.messages('WARNING'))


class ClockTest(AttackCase):

    def test_a_clock_that_was_put_back(self):
        """CLEAN-26: a pause does not last until the old time is back."""
        self.used_once()
        self.host.world.claim('nvme0n1')
        self.host.look()
        self.assertEqual(1, self.host.entry().failures)
        self.host.world.unclaim('nvme0n1')
        self.host.clock.pass_(-30 * 86400)
        self.host.look()
        self.assertOffered()


class JournalTest(AttackCase):
    """The directory goes, is full, cannot be written."""

    disks = (ONE, TWO)

    def broken(self, begin, end):
        host = self.host
        self.used_once()
        begin()
        consumer = host.allocate(TWO)
        touched = len(host.world.touched(ONE))
        host.look(3)
        # CLEAN-6: what is used is reserved all the same.
        self.assertEqual([1, 1], [host.reserved(ONE), host.reserved(TWO)])
        self.assertEqual(touched, len(host.world.touched(ONE)))
        self.assertFalse(host.cleaner.requested)
        told = [line for line in self.logs.messages('WARNING')
                if line.startswith('The journal %s of host compute-1 cannot '
                                   'be used: ' % host.journal_path)]
        self.assertEqual(1, len(told), self.logs.messages('WARNING'))
        self.assertEqual([], self.logs.messages('ERROR'))
        end()
        host.clock.pass_(7200)
        host.look(2)
        self.assertOffered(ONE)
        self.assertReserved('in_use', 'allocated', TWO)
        host.placement.deallocate(consumer)
        return told[0]

    def test_it_is_gone(self):
        path, aside = self.host.journal_path, self.host.journal_path + '.no'
        self.assertIn('No such file or directory', self.broken(
            lambda: os.rename(path, aside), lambda: os.rename(aside, path)))

    def test_it_is_a_file(self):
        path, aside = self.host.journal_path, self.host.journal_path + '.no'

        def begin():
            os.rename(path, aside)
            with open(path, 'w'):
                pass

        def end():
            os.unlink(path)
            os.rename(aside, path)

        self.assertIn('Not a directory', self.broken(begin, end))

    def test_it_is_full(self):
        """A directory in a file's place: nothing can be written there."""
        path = self.host.journal_path
        names = [name + '.new' for name in os.listdir(path)
                 if name.endswith('.json')]

        def begin():
            for name in names:
                os.mkdir(os.path.join(path, name))

        def end():
            for name in names:
                shutil.rmtree(os.path.join(path, name))

        self.assertIn('Is a directory', self.broken(begin, end))

    def test_it_is_full_in_the_middle(self):
        """CLEAN-23: what could not be written down is cleaned again."""
        journal = self.host.cleaner.book.journal
        write = journal._write
        for number in range(12):
            self.used_once()
            count = []

            def fail(*args, number=number, count=count):
                count.append(1)
                # The first is that it is free.
                if len(count) > number:
                    raise OSError(28, 'No space left on device')
                write(*args)

            journal._write = fail
            self.host.look(2)
            if not self.host.reserved():
                self.assertNotIn(base.SECRET, self.host.media())
            journal._write = write
            self.host.clock.pass_(7200)
            self.host.look(2)
            self.assertOffered()
            self.assertNotIn(base.SECRET, self.host.media())
            if len(count) <= number:
                break
        self.assertGreater(number, 5)
        self.assertEqual([], self.logs.messages('ERROR'))


    def once(self, number: int, used: bool) -> bool:
        """One life of a disk, in which one write to the journal fails.

        :param used: a guest takes the disk before the next look, if it is
            offered.
        :returns: whether so much was written at all.
        """
        journal = self.host.cleaner.book.journal
        write, count = journal._write, []
        self.used_once()

        def fail(*args):
            count.append(1)
            if len(count) == number:
                raise OSError(28, 'No space left on device')
            write(*args)

        journal._write = fail
        self.host.look(1 if used else 2)
        journal._write = write
        self.assertNotEqual('error', self.host.state()[0], number)
        guest = used and not self.host.reserved() and self.host.boot()
        self.host.clock.pass_(7200)
        self.host.look(2)
        if guest:
            self.assertReserved('in_use', 'allocated')
            self.host.delete(*guest)
            self.host.look(3)
        self.assertOffered()
        self.assertNotIn(base.SECRET, self.host.media())
        return len(count) >= number

    def test_one_write_fails(self):
        """CLEAN-23, CLEAN-26: it passes by itself, and so does the disk.

        Just after the release it made the disk an error, and what a guest
        took then was used while dirty.
        """
        for used in (False, True):
            number = 1
            while self.once(number, used):
                number += 1
            self.assertGreater(number, 6)
        self.assertEqual([], self.logs.messages('ERROR'))


class RequestTest(AttackCase):

    BAD = (
        (b'', 'it is no JSON'),
        (b'\xff', 'it is no JSON'),
        (b'[' * 100000, 'it is no JSON'),
        (b'null', 'Request must be an object, not None'),
        (b'[]', 'Request must be an object, not []'),
        (b'{}', "Request lacks the field 'command'"),
        (json.dumps({'command': 'clean'}).encode(),
         "Request lacks the field 'address'"),
        (json.dumps({'command': 'clean', 'address': 7}).encode(),
         'Request.address must be a text, not 7'),
        (json.dumps({'command': 'wipe', 'address': ONE}).encode(),
         "Request.command must be one of clean, retry, hold, release, not "
         "'wipe'"),
        (json.dumps({'command': 'clean', 'address': ONE,
                     'force': True}).encode(),
         "Request has the unknown field 'force'"),
        (json.dumps({'command': 'clean', 'address': '../x'}).encode(),
         "'../x' is no PCI address: write all four parts, "
         'domain:bus:slot.function, for example 0000:3b:00.0'),
    )

    def test_what_is_no_request_is_dropped(self):
        """CLEAN-26: with the whole text; it stops nobody."""
        place = os.path.join(self.host.journal_path, 'requests')
        before = len(self.host.world.touched(ONE))
        for data, text in self.BAD:
            with open(os.path.join(place, 'a.json'), 'wb') as stream:
                stream.write(data)
            self.host.look()
            self.assertOffered()
            self.assertEqual([], os.listdir(place))
            told = self.logs.messages('WARNING')[-1]
            self.assertEqual('The request a.json in %s is of no use and was '
                             'dropped: %s' % (place, text), told)
        self.assertEqual(before, len(self.host.world.touched(ONE)))


class OverdueTest(AttackCase):

    def test_it_counts_on_over_a_restart(self):
        """CLEAN-19: as long as the erase takes, whoever follows it."""
        host = self.host
        host.stop()
        host.world.media(ONE).set(sanitize_seconds=1)
        host.world.break_(ONE, sanitize_hangs_at=30000)
        host.start(spawn=base.beside, pause=0.02)
        self.used_once()
        host.look()
        host.wait_for(lambda: host.state()[0] == 'cleaning' and
                      host.entry().scdw10 is not None)
        host.clock.pass_(800)
        host.stop()
        host.start(spawn=base.beside, pause=0.02)
        host.look()
        self.assertEqual([], host.cleaner.overdue())
        host.clock.pass_(200)
        host.look()
        self.assertEqual([ONE], host.cleaner.overdue())
        host.world.break_(ONE)
        host.wait_for(lambda: host.state() == ('sealed', 'verified'))
        self.assertNotIn(base.SECRET, host.media())

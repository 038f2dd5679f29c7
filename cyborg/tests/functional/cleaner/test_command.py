# SPDX-License-Identifier: Apache-2.0
"""CLEAN-30: cyborg-nvme, its answers and exit codes."""

import io
import json
import os
import threading
import time

from cyborg.cmd import nvme
from cyborg.tests import amount
from cyborg.tests import base as base_test
from cyborg.tests.fixtures import placement_model
from cyborg.tests.functional.cleaner import base

ONE, TWO = base.ONE, base.TWO


class CommandTest(base.CleanerTestCase):

    disks = (ONE, TWO)

    def setUp(self):
        super().setUp()
        self.path = os.path.join(self.host.path, 'cyborg.conf')
        cleaner = self.host
        with open(self.path, 'w') as file:
            file.write('\n'.join((
                '[DEFAULT]', 'host = compute-1', '[pci]',
                'sysfs_path = %s' % cleaner.world.at('sys'), '[cleaner]',
                'device_spec = {"vendor_id": "144d"}',
                'journal_path = %s' % cleaner.journal_path,
                'settle_seconds = 0', '')))

    def run_command(self, *arguments):
        """:returns: (exit status, standard output, standard error)"""
        out, err = io.StringIO(), io.StringIO()
        status = nvme.main(
            [nvme.NAME, '--config-file', self.path, *arguments],
            host=self.host.world.host(), stdin=io.StringIO(), stdout=out,
            stderr=err)
        return status, out.getvalue(), err.getvalue()

    def snapshot(self):
        """Everything that a command could change."""
        files = {}
        for place, _names, found in os.walk(self.host.path):
            for name in found:
                path = os.path.join(place, name)
                if os.path.isfile(path) and 'log' not in name:
                    with open(path, 'rb') as stream:
                        files[path] = stream.read()
        return files, [self.host.placement.provider(each)['generation']
                       for each in self.host.providers.values()]

    def test_list(self):
        self.host.start()
        self.host.look()
        status, text, _error = self.run_command('list', '-f', 'json')
        self.assertEqual(0, status)
        self.assertEqual([
            {'address': address, 'serial': 'SN000%d' % number,
             'model': 'SIMULATED NVME', 'state': 'sealed',
             'reason': 'verified', 'reserved': 0, 'used': 0, 'consumer': '',
             'method': 'crypto sanitize'}
            for number, address in enumerate((ONE, TWO), 1)],
            json.loads(text))

    def test_show(self):
        self.host.start()
        self.host.look()
        consumer, _guest = self.host.boot()
        self.host.look()
        status, text, _error = self.run_command('show', ONE, '-f', 'json')
        shown = json.loads(text)
        self.assertEqual((0, 'in_use', 'A guest has it.', consumer), (
            status, shown['state'], shown['meaning'], shown['consumer']))
        self.assertIn('vfio: qemu-system-x86 (process 4711)',
                      ' '.join(shown['interlocks']))

    def test_check_writes_nothing(self):
        """CLEAN-30, and no command that is not only a look is sent."""
        self.host.start()
        self.host.look()
        consumer, guest = self.host.boot()
        self.host.look()
        self.host.delete(consumer, guest)
        self.host.stop()
        before = self.snapshot()
        commands = [self.host.world.opcodes(each) for each in (ONE, TWO)]
        status, text, _error = self.run_command('check', '-f', 'json')
        found = json.loads(text)
        self.assertEqual(before, self.snapshot())
        self.assertEqual(commands, [self.host.world.opcodes(each)
                                    for each in (ONE, TWO)])
        self.assertEqual(0, status, found)
        decisions = {row['address']: row for row in found
                     if row['kind'] == 'decision'}
        self.assertEqual('sealed (verified)', decisions[TWO]['detail'])
        self.assertEqual('dirty (freed)', decisions[ONE]['detail'])
        # CLEAN-12
        notes = [row['detail'] for row in found if row['kind'] == 'note']
        self.assertIn('off in Nova: between the claim', notes[0])
        # Every interlock is there with its answer.
        locks = {row['name']: row['detail'] for row in found
                 if row['kind'] == 'interlock' and row['address'] == TWO}
        self.assertEqual('holds', locks['vfio'])
        self.assertEqual('provider compute-1_%s has 0 of 1 reserved' % TWO,
                         locks['reserved'])

    def test_check_of_a_disk_that_is_refused(self):
        self.host.start()
        self.host.look()
        consumer, _guest = self.host.boot()
        self.host.look()
        self.host.placement.deallocate(consumer)
        self.host.look()
        status, text, _error = self.run_command('check', '-f', 'json')
        self.assertEqual(1, status)
        self.assertIn('qemu-system-x86 (process 4711)', text)

    def test_check_when_placement_is_away(self):
        self.host.start()
        self.host.placement.fail('GET', status=503, times=None)
        status, text, _error = self.run_command('check')
        self.assertEqual(2, status)
        self.assertIn('placement', text)

    def test_requests_reach_the_cleaner(self):
        self.host.start()
        self.host.look()
        for command, reason in (('hold', ()), ('clean', ())):
            status, text, error = self.run_command(command, ONE, *reason)
            self.assertEqual((0, '%s of %s is asked for; cyborg-cleaner: '
                              'running\n' % (command, ONE)), (status, text),
                             error)
            self.assertTrue(self.host.cleaner.requested)
            self.host.look(2)
        self.assertOffered()
        status, text, _error = self.run_command('hold', ONE, '--json')
        self.assertEqual({'address': ONE, 'command': 'hold', 'cleaner':
                          'running'}, json.loads(text))
        self.host.look()
        self.host.stop()
        status, text, _error = self.run_command(
            'release', ONE, '--uncleaned', 'a new disk')
        self.assertEqual(0, status)
        self.assertIn('not running: done at its start', text)
        self.host.start()
        self.host.look()
        self.assertEqual(('sealed', 'released uncleaned'), self.host.state())

    def test_what_is_refused(self):
        """With the whole text of each error."""
        self.host.start()
        self.host.look()
        self.host.boot()
        self.host.look()
        label = '%s (serial SN0001)' % ONE
        for arguments, text in (
                (('clean', '0000:99:00.0'),
                 'Host compute-1 has no NVMe disk 0000:99:00.0 that [cleaner] '
                 'device_spec selects or the journal knows. See: cyborg-nvme '
                 'list'),
                (('clean', ONE), 'clean is not possible for disk %s of host '
                 'compute-1: it is in_use (allocated). It is allocated; '
                 'delete the instance first.' % label),
                (('hold', ONE), 'hold is not possible for disk %s of host '
                 'compute-1: it is in_use (allocated). It is allocated; it is '
                 'reserved already.' % label)):
            status, _out, error = self.run_command(*arguments)
            self.assertEqual(1, status)
            self.assertIn(text, error)
        for arguments in (('clean', '81:00.0'), ('release', ONE), ('wipe',),
                          ('clean',)):
            status, _out, _error = self._refused(*arguments)
            self.assertNotEqual(0, status)
        self.assertFalse(self.host.cleaner.requested)

    def _refused(self, *arguments):
        try:
            return self.run_command(*arguments)
        except SystemExit as error:
            return error.code, '', ''


class LookTest(base.CleanerTestCase):

    disks = tuple('0000:%02x:00.0' % bus for bus in range(0x40, 0x44))

    def calls(self):
        self.host.placement.forget_calls()
        self.host.look()
        return [str(call) for call in self.host.placement.calls]

    def test_a_look_with_nothing_to_do(self):
        """CLEAN-1: at most two calls, whatever the number of disks."""
        self.host.start()
        self.host.look(2)
        self.assertEqual(1, len(self.calls()))
        # All used, and no guest runs: they may be free at any time.
        for address in self.disks:
            self.host.allocate(address)
        self.host.look(2)
        self.assertEqual(2, len(self.calls()))
        for address in self.disks:
            self.host.guest(address)
        self.assertEqual(1, len(self.calls()))


class CallsTest(base_test.TestCase):

    def test_calls_do_not_grow_with_the_disks(self):
        """CLEAN-1: 4 disks and 64, all in use, with guests that are off."""
        found = []
        for number in (4, 64):
            host = self.useFixture(base.ComputeHost(self.conf, *(
                '0000:%02x:00.0' % (0x40 + each) for each in range(number)),
                placement=placement_model.PlacementModel))
            for address in host.providers:
                host.allocate(address)
            host.start()
            host.look(2)
            host.placement.forget_calls()
            host.look()
            found.append(len(host.placement.calls))
            host.stop()
        self.assertEqual([2, 2], found)


class ManyTest(base.CleanerTestCase):
    """One host with 64 disks; in the gate with a few."""

    timeout = 900
    disks = tuple('0000:%02x:00.0' % (0x40 + number) for number in range(
        amount.amount('CYBORG_TEST_CLEANER_DISKS', 12, 64)))
    options = {'concurrency': 2}
    placement = placement_model.PlacementModel

    def test_one_that_hangs(self):
        """CLEAN-26, CLEAN-27, CLEAN-19: the others finish."""
        host = self.host
        first = self.disks[0]
        host.world.media(first).set(sanitize_seconds=1)
        host.world.break_(first, sanitize_hangs_at=30000)
        most, lock, running = [0], threading.Lock(), [0]

        def spawn(target, job):
            def run():
                with lock:
                    running[0] += 1
                    most[0] = max(most[0], running[0])
                try:
                    target(job)
                finally:
                    with lock:
                        running[0] -= 1
            thread = threading.Thread(target=run, daemon=True)
            thread.start()
            return thread

        host.start(spawn=spawn, pause=0.05)
        limit = time.monotonic() + 800
        while True:
            host.look()
            done = [a for a in self.disks if host.state(a) == (
                'sealed', 'verified')]
            if len(done) == len(self.disks) - 1:
                break
            self.assertLess(time.monotonic(), limit, len(done))
            time.sleep(0.05)
        self.assertNotIn(first, done)
        self.assertLessEqual(most[0], 2)
        self.assertEqual(1, host.reserved(first))
        self.assertEqual('cleaning', host.state(first)[0])
        # It is overdue, and followed on.
        host.clock.pass_(901)
        host.look()
        self.assertEqual([first], host.cleaner.overdue())
        self.assertLogged('WARNING', 'is overdue')
        calls = host.placement.calls
        host.placement.forget_calls()
        host.look()
        # One of its own, and four for each disk in work: what a look read
        # before the job wrote is not decided by.
        self.assertLessEqual(len(calls), 2 + 4 * 1, calls)
        # CLEAN-27: it ends within ten seconds, whatever hangs.
        began = time.monotonic()
        host.stop()
        self.assertLess(time.monotonic() - began, 10)

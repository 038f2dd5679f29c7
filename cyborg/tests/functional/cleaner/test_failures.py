# SPDX-License-Identifier: Apache-2.0
"""What happens, and what must follow: the failure table of cleaning."""

import dataclasses
import json
import os
import subprocess
import sys

from cyborg.cleaner import exceptions
from cyborg.cleaner import journal as cleaner_journal
from cyborg.cleaning import states
from cyborg.nvme import structures
from cyborg.tests.functional.cleaner import base

ONE, TWO, CLASS = base.ONE, base.TWO, base.CLASS
State = states.State


class FailureCase(base.CleanerTestCase):

    def setUp(self):
        super().setUp()
        self.host.start()
        self.host.look()
        self.assertOffered()

    def used_once(self):
        """A guest wrote its secret and is gone; nobody looked since."""
        consumer, guest = self.host.boot()
        guest.write(1, 0, base.SECRET)
        self.host.look()
        self.host.delete(consumer, guest)
        self.host.clock.pass_(60)

    def assertTouchedNothing(self, before):
        self.assertEqual(before, len(self.host.world.touched(ONE)))


class PlacementTest(FailureCase):

    def test_it_is_away_while_reserving(self):
        """CLEAN-6, CLEAN-26"""
        self.host.boot()
        self.host.placement.fail('PUT .*inventories', status=503)
        self.host.look()
        self.assertEqual(0, self.host.reserved())
        self.host.look()
        self.assertReserved('in_use', 'allocated')

    def test_it_is_away_while_releasing(self):
        """CLEAN-23: not one more erase, and no release without a hold."""
        self.used_once()
        self.host.placement.fail('PUT .*inventories', status=503, times=2)
        self.host.look()
        self.assertOffered()
        self.assertEqual(2, self.host.world.opcodes(ONE).count('Sanitize'))
        self.assertLogged('WARNING', 'is clean and stays reserved until '
                          'Placement answers')

    def test_it_is_away_for_good_while_releasing(self):
        self.used_once()
        fault = self.host.placement.fail('PUT .*inventories', status=503,
                                         times=None)
        ended = []
        rest = self.host.cleaner.stopping.wait
        self.host.cleaner.stopping.wait = lambda seconds: (
            ended.append(1) or len(ended) > 3 or rest(0))
        self.host.look()
        self.assertReserved('releasing', 'verified')
        self.host.placement.heal()
        self.assertTrue(fault.hits)
        self.host.stop()
        self.host.start()
        self.host.look(2)
        self.assertOffered()

    def test_a_conflict_is_decided_anew(self):
        """CLEAN-8: an operator reserves in the moment of the release."""
        self.used_once()
        placement, provider = self.host.placement, self.host.providers[ONE]
        calls = []

        def once():
            if not calls:
                calls.append(1)
                placement.set_traits(provider, base.MANAGED, 'CUSTOM_NEW')

        placement.before('PUT .*inventories', once)
        self.host.look()
        self.assertTrue(calls)
        self.assertOffered()

    def test_a_provider_made_anew_while_dirty(self):
        """CLEAN-9: reserved before anything else."""
        self.used_once()
        self.host.world.mount('nvme0n1', '/mnt')
        self.host.look()
        provider = self.host.providers[ONE]
        self.host.placement.delete_provider(provider)
        self.host.add_provider(ONE)
        self.assertEqual(0, self.host.reserved())
        self.host.look()
        self.assertReserved('dirty', 'reservation lost')
        self.assertIn(base.SECRET, self.host.media())
        self.host.world.unmount('nvme0n1')
        self.host.look()
        self.assertOffered()

    def test_a_provider_made_anew_and_given_to_a_guest(self):
        """CLEAN-9: never erased, an ERROR and a metric."""
        self.used_once()
        self.host.world.mount('nvme0n1', '/mnt')
        self.host.look()
        self.host.placement.delete_provider(self.host.providers[ONE])
        self.host.add_provider(ONE)
        self.host.world.unmount('nvme0n1')
        consumer, guest = self.host.boot()
        before = len(self.host.world.touched(ONE))
        self.host.look(3)
        self.assertReserved('error', 'used while dirty')
        self.assertTouchedNothing(before)
        self.assertLogged('ERROR', 'was allocated before it was clean')
        self.assertIn('cyborg_cleaner_used_while_dirty_total 1',
                      self.host.cleaner.metrics.text([], 0))
        # It waits for an operator, also when it is free.
        self.host.delete(consumer, guest)
        self.host.look(2)
        self.assertReserved('error', 'used while dirty')
        self.assertTouchedNothing(before)

    def test_a_guest_that_nobody_saw(self):
        """CLEAN-11"""
        consumer, guest = self.host.boot()
        guest.write(1, 512, base.SECRET)
        self.host.delete(consumer, guest)
        self.host.look()
        self.assertOffered()
        self.assertNotIn(base.SECRET, self.host.media())
        self.assertIn('cyborg_cleaner_seals_broken_total 1',
                      self.host.cleaner.metrics.text([], 0))

    def test_an_operator_reserves_a_free_disk(self):
        """CLEAN-10: neither erased nor released."""
        before = len(self.host.world.touched(ONE))
        self.host.placement.set_reserved(self.host.providers[ONE], CLASS, 1)
        self.host.look(2)
        self.assertReserved('held', 'reserved by others')
        self.host.placement.set_reserved(self.host.providers[ONE], CLASS, 0)
        self.host.look()
        self.assertOffered()
        self.assertTouchedNothing(before)

    def test_other_fields_of_the_inventory_stay(self):
        """CLEAN-6"""
        provider = self.host.providers[ONE]
        self.host.placement.set_inventory(provider, **{CLASS: {
            'total': 1, 'max_unit': 1, 'step_size': 1,
            'allocation_ratio': 1.0, 'min_unit': 1}})
        before = self.host.placement.inventory(provider)[CLASS]
        self.used_once()
        self.assertReserved('in_use', 'allocated')
        during = self.host.placement.inventory(provider)[CLASS]
        self.assertEqual({**before, 'reserved': 1}, during)

    def test_a_migration_counts_as_use(self):
        """The allocation decides, whoever the consumer is."""
        consumer, guest = self.host.boot()
        self.host.look()
        self.host.placement.deallocate(consumer)
        # Its reservation lets nobody else in; Nova swaps in one request.
        self.host.placement.set_reserved(self.host.providers[ONE], CLASS, 0)
        migration = self.host.allocate()
        guest.leave()
        self.host.look(2)
        self.assertReserved('in_use', 'allocated')
        self.host.placement.deallocate(migration)
        self.host.look()
        self.assertOffered()


class OneTimeUseTest(FailureCase):
    one_time_use = True

    def test_nova_reserves_and_we_give_back(self):
        """CLEAN-12"""
        self.used_once()
        self.assertReserved('in_use', 'allocated')
        self.host.look()
        self.assertOffered()


class DiskTest(FailureCase):

    def after(self, state, reason, text, **faults):
        self.used_once()
        self.host.world.break_(ONE, **faults)
        self.host.look()
        self.assertReserved(state, reason)
        self.assertIn(text, self.host.entry().detail)
        self.host.look(2)
        self.assertReserved(state, reason)

    def test_it_lies(self):
        """CLEAN-20"""
        self.after('error', 'not erased', 'it reported success and is not '
                   'erased', lies=True)

    def test_its_sanitize_fails(self):
        """CLEAN-19"""
        self.after('error', 'sanitize failed', 'the sanitize operation ended '
                   'as failed', sanitize_fails=True)

    def test_it_loses_writes(self):
        """CLEAN-20: what cannot be verified is not clean."""
        self.after('error', 'write lost', 'was read back otherwise',
                   loses_writes=True)

    def test_it_reads_short(self):
        self.after('error', 'short read', 'bytes', short_reads=512)

    def test_it_cannot_be_read(self):
        self.after('error', 'i/o error', 'EIO', read_errors=0)

    def test_retry_after_an_error(self):
        """CLEAN-30"""
        self.test_it_lies()
        self.host.world.break_(ONE)
        self.ask('retry')
        self.host.look(2)
        self.assertOffered()

    def ask(self, command, reason=''):
        self.host.cleaner._journal.ask(cleaner_journal.Request(
            command, ONE, reason))

    def test_operators_commands(self):
        """CLEAN-23, CLEAN-30"""
        self.ask('hold')
        self.host.look()
        self.assertReserved('held', 'held by an operator')
        self.ask('clean')
        self.host.look(2)
        self.assertOffered()
        self.ask('hold')
        self.host.look()
        self.ask('release', 'a new disk, never used')
        self.host.look()
        self.assertEqual(('sealed', 'released uncleaned'), self.host.state())
        self.assertEqual(0, self.host.reserved())
        self.assertLogged('WARNING', 'a new disk, never used')

    def test_a_request_that_is_refused_does_nothing(self):
        consumer, _guest = self.host.boot()
        self.host.look()
        before = len(self.host.world.touched(ONE))
        for command in ('clean', 'retry', 'release', 'hold'):
            self.ask(command, 'why not')
        self.host.look(2)
        self.assertReserved('in_use', 'allocated')
        self.assertTouchedNothing(before)
        self.assertLogged('WARNING', 'delete the instance first')

    def test_another_disk_at_the_address(self):
        """CLEAN-15: left alone and reported; the old one is absent."""
        self.host.world.remove(ONE)
        self.host.look()
        self.assertIsNone(self.host.entry())
        self.host.world.add(ONE, 'SN9999')
        self.host.look(2)
        self.assertEqual('SN9999', self.host.entry().serial)
        # Its predecessor is absent: nothing of it can be mistaken.
        gone = [e for e in self.host.cleaner.entries.values()
                if e.serial == 'SN0001']
        self.assertEqual([State.ABSENT], [e.state for e in gone])

    def test_a_disk_that_was_swapped_between_two_looks(self):
        """CLEAN-15"""
        self.host.world.remove(ONE)
        self.host.world.add(ONE, 'SN9999')
        self.host.look(2)
        self.assertReserved('held', 'another disk')
        self.assertEqual([], self.host.world.touched(ONE))
        self.ask('clean')
        self.host.look(2)
        self.assertOffered()
        self.assertEqual('SN9999', self.host.entry().serial)

    def test_it_goes_and_comes_back(self):
        self.used_once()
        self.host.world.remove(ONE)
        self.host.look()
        self.assertIsNone(self.host.entry())
        self.assertEqual(1, self.host.reserved())

    def test_each_user_of_the_host_is_named(self):
        """CLEAN-13, CLEAN-14: refused, and asked again at the next look."""
        world = self.host.world
        for name, begin, end, text in (
                ('mount', lambda: world.mount('nvme0n1', '/srv'),
                 lambda: world.unmount('nvme0n1'), '/srv'),
                ('holder', lambda: world.put_on_top('nvme0n1'),
                 None, 'dm-0'),
                ):
            self.used_once()
            begin()
            before = len(world.touched(ONE))
            self.host.look(2)
            self.assertReserved('dirty', 'freed')
            self.assertTouchedNothing(before)
            self.assertLogged('WARNING', '%s: ' % name)
            self.assertLogged('WARNING', text)
            if end is None:
                return
            end()
            self.host.look()
            self.assertOffered()

    def test_somebody_opened_it_for_himself(self):
        """CLEAN-14: what no file tells, O_EXCL does."""
        self.used_once()
        self.host.world.claim('nvme0n1')
        before = len(self.host.world.touched(ONE))
        self.host.look()
        self.assertEqual(State.DIRTY, self.host.entry().state)
        self.assertTouchedNothing(before)
        self.host.world.unclaim('nvme0n1')
        self.host.clock.pass_(4000)
        self.host.look()
        self.assertOffered()

    def test_what_a_guest_did_to_its_namespaces(self):
        """CLEAN-18, CLEAN-21: put back, and erased with the rest."""
        consumer, guest = self.host.boot()
        guest.write(1, 0, base.SECRET)
        command, data = structures.attach_namespace(1, 0, attach=False)
        self.assertEqual(0, guest.admin(command, data).status)
        self.host.look()
        self.host.delete(consumer, guest)
        self.host.look()
        self.assertOffered()
        self.assertNotIn(base.SECRET, self.host.media())
        after, = self.host.world.media(ONE).state().extents
        self.assertTrue(after.namespace.attached)

    def test_worn_out(self):
        """CLEAN-21"""
        self.used_once()
        media = self.host.world.media(ONE)
        media.set(health=dataclasses.replace(media.state().health,
                                             percentage_used=101))
        self.host.look()
        self.assertReserved('error', 'unhealthy')


class FailTest(FailureCase):
    options = {'namespaces': 'fail'}

    def test_changed_namespaces_are_an_error_by_option(self):
        """CLEAN-21"""
        consumer, guest = self.host.boot()
        command, data = structures.attach_namespace(1, 0, attach=False)
        guest.admin(command, data)
        self.host.look()
        self.host.delete(consumer, guest)
        self.host.look()
        self.assertReserved('error', 'not as recorded')


class SharedTest(base.CleanerTestCase):

    def test_two_controllers_of_one_subsystem(self):
        """CLEAN-16"""
        host = self.host
        host.world.add(TWO, 'unused', shares_with=ONE)
        host.add_provider(TWO)
        host.start()
        host.look(2)
        for address in (ONE, TWO):
            self.assertReserved('dirty', 'unknown disk', address)
        self.assertEqual([], host.world.touched(ONE))
        self.assertLogged('WARNING', 'subsystem: ')


class JournalTest(base.CleanerTestCase):

    disks = (ONE, TWO)

    def test_a_damaged_file_costs_its_own_disk_alone(self):
        """CLEAN-25, CLEAN-26"""
        host = self.host
        host.start()
        host.look()
        host.stop()
        path = os.path.join(host.journal_path,
                            'SN0001 SIMULATED%20NVME.json')
        self.assertEqual(0o600, os.stat(path).st_mode & 0o777)
        with open(path, 'r+b') as stream:
            stream.truncate(100)
        host.start()
        host.cleaner.look()
        entries = {e.serial: e for e in host.cleaner.entries.values()}
        self.assertEqual((State.ERROR, 'journal damaged'), (
            entries['SN0001'].state, entries['SN0001'].reason))
        self.assertEqual(1, host.reserved(ONE))
        self.assertOffered(TWO)
        self.assertLogged('ERROR', 'cannot be used: it is no JSON')
        host.cleaner._journal.ask(cleaner_journal.Request('retry', ONE))
        host.look(2)
        self.assertOffered(ONE)

    def test_a_lost_journal_frees_nothing_that_is_used(self):
        """CLEAN-25"""
        host = self.host
        host.start()
        host.look()
        host.boot()
        host.look()
        host.stop()
        for name in os.listdir(host.journal_path):
            if name.endswith('.json'):
                os.unlink(os.path.join(host.journal_path, name))
        self.conf.set('cleaner', unknown='hold')
        before = len(host.world.touched(TWO))
        host.start()
        host.look(2)
        self.assertReserved('in_use', 'allocated', ONE)
        self.assertReserved('held', 'unknown disk', TWO)
        self.assertEqual(before, len(host.world.touched(TWO)))
        self.assertLogged('WARNING', 'cyborg-nvme clean 0000:82:00.0')

    def test_a_second_cleaner_refuses_to_start(self):
        """CLEAN-25"""
        self.host.start()
        first = self.host.cleaner
        error = self.assertRaises(exceptions.AnotherCleaner, self.host.start)
        self.assertEqual(
            'Another cyborg-cleaner of host compute-1 uses the journal %s. '
            'Stop it first.' % self.host.journal_path, error.message)
        self.host.cleaner = first

    def test_a_disk_of_two_services(self):
        """CLEAN-5"""
        self.conf.set('pci', device_spec=[json.dumps({'address': ONE})])
        error = self.assertRaises(exceptions.DiskOfTwoServices,
                                  self.host.start)
        self.assertEqual(
            'NVMe disk 0000:81:00.0 of host compute-1 is selected by '
            '[cleaner] device_spec entry 1 and by [pci] device_spec entry 1: '
            'Cyborg would hand out what Nova hands out. Take it out of one of '
            'them, or add it to [pci] exclude_list.', error.message)
        self.conf.set('pci', exclude_list=[ONE])
        self.host.start()

    def test_one_bad_provider_stops_nobody_else(self):
        """CLEAN-26"""
        self.host.placement.fail(
            'PUT .*%s' % self.host.providers[ONE], status=500, times=None)
        self.host.start()
        self.host.look(2)
        self.assertOffered(TWO)

    def test_a_journal_that_cannot_be_used(self):
        """CLEAN-25: with the whole text."""
        path = os.path.join(self.host.path, 'file')
        with open(path, 'w'):
            pass
        self.conf.set('cleaner', journal_path=path)
        error = self.assertRaises(exceptions.JournalUnusable,
                                  self.host.start)
        self.assertEqual(
            'The journal %s of host compute-1 cannot be used: %s: File '
            'exists. It has to be a directory that the user of cyborg-cleaner '
            'owns; see [cleaner] journal_path.' % (path, path),
            error.message)


class BindingTest(base.CleanerTestCase):

    def test_the_driver_is_put_back(self):
        """CLEAN-22: libvirt leaves it at vfio-pci with managed="no"."""
        host = self.host
        host.start()
        host.look()
        consumer, guest = host.boot()
        guest.write(1, 0, base.SECRET)
        host.look()
        guest.leave(driver='vfio-pci')
        host.placement.deallocate(consumer)
        host.look()
        self.assertOffered()
        self.assertEqual('vfio-pci', host.world.host().port(
            ONE).facts().binding.driver)
        self.assertNotIn(base.SECRET, host.media())
        second = host.boot()[1]
        self.assertEqual(bytes(512), second.read(1, 0, 512))


class ToldTest(base.CleanerTestCase):

    def test_a_line_a_change_and_a_warning_a_refusal(self):
        """CLEAN-31"""
        host = self.host
        host.start()
        host.look()
        consumer, guest = host.boot()
        host.look(3)
        host.placement.deallocate(consumer)
        host.cleaner.hint()
        host.look(3)
        lines = [line for line in self.logs.messages('INFO')
                 if line.startswith('Disk ')]
        self.assertEqual(4, len(lines), lines)
        self.assertEqual(
            'Disk 0000:81:00.0 of host compute-1, serial SN0001: sealed -> '
            'in_use (allocated), consumer %s, method crypto sanitize, 0.0 s'
            % consumer, lines[2])
        refusals = [line for line in self.logs.messages('WARNING')
                    if 'vfio: ' in line]
        self.assertEqual(['Disk 0000:81:00.0 of host compute-1: vfio: '
                          'qemu-system-x86 (process 4711) has '
                          '/dev/vfio/100'], refusals)

    def test_metrics_file(self):
        """CLEAN-32"""
        path = os.path.join(self.host.path, 'cleaner.prom')
        self.conf.set('cleaner', metrics_file=path)
        self.host.start()
        self.host.look()
        with open(path) as file:
            text = file.read()
        for line in ('cyborg_cleaner_disks{state="sealed"} 1',
                     'cyborg_cleaner_disks{state="error"} 0',
                     'cyborg_cleaner_cleanings_total{method="crypto '
                     'sanitize"} 1', 'cyborg_cleaner_oldest_dirty_seconds 0',
                     'cyborg_cleaner_last_look_timestamp_seconds 1800000000'):
            self.assertIn(line + '\n', text)
        self.conf.set('cleaner', metrics_file='/nowhere/cleaner.prom')
        self.host.stop()
        self.host.start()
        self.host.look(2)
        self.assertEqual(1, len([
            line for line in self.logs.messages('WARNING')
            if 'the metrics file /nowhere/cleaner.prom cannot be written: No '
            'such file or directory' in line]))


class StartTest(base.CleanerTestCase):

    def test_wrong_options_stop_the_command(self):
        """CLEAN-4, with the whole text of each error."""
        for group, options, text in (
                ('cleaner', 'poll_interval = soon', '[cleaner] poll_interval '
                 '= "soon" in %s is not valid: a whole number from 1 on is '
                 'expected.'),
                ('cleaner', 'concurrency = 0', '[cleaner] concurrency = "0" '
                 'in %s is not valid: a whole number from 1 on is expected.'),
                ('cleaner', 'max_percentage_used = 256', '[cleaner] '
                 'max_percentage_used = "256" in %s is not valid: a whole '
                 'number from 0 to 255 is expected.'),
                ('nvme', 'cleanup_timeout = 30', '[nvme] cleanup_timeout = '
                 '"30" in %s is not valid: a whole number from 60 on is '
                 'expected.'),
                ('cleaner', 'unknown = ignore', '[cleaner] unknown = '
                 '"ignore" in %s is not valid: '),
                ('cleaner', 'poll_interval = 60', 'is empty, so there is '
                 'nothing to clean'),
                ('cleaner', 'device_spec = {', '[cleaner] device_spec of host '
                 'compute-1 is not valid')):
            path = os.path.join(self.host.path, 'wrong.conf')
            with open(path, 'w') as file:
                file.write('[DEFAULT]\nhost = compute-1\n[%s]\n%s\n'
                           % (group, options))
            done = subprocess.run(
                [sys.executable, '-W', 'ignore', '-m', 'cyborg.cmd.cleaner',
                 '--config-file', path], capture_output=True, text=True,
                timeout=300)
            self.assertEqual(1, done.returncode, options)
            self.assertIn('cyborg-cleaner cannot start: ', done.stderr)
            self.assertIn(text.replace('%s', path), done.stderr)

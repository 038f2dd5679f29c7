# SPDX-License-Identifier: Apache-2.0
"""The processes themselves: cleaner, privileged helper and listener.

Over RabbitMQ and a Placement server; only the disks are simulated, below the
helper's system calls. CLEAN-1, CLEAN-24, CLEAN-27, CLEAN-28, CLEAN-34.
"""

import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

import oslo_messaging as messaging
from oslo_messaging import conffixture

from cyborg.cleaner import service
from cyborg.cleaning import journal
from cyborg.common import rpc
from cyborg.tests import amount
from cyborg.tests.fixtures import needs
from cyborg.tests.fixtures import placement_process
from cyborg.tests.fixtures import processes
from cyborg.tests.fixtures import rabbit
from cyborg.tests.functional.cleaner import base
from cyborg.tests.functional.cleaner import test_listener

ONE = base.ONE
HELPER = pathlib.Path(__file__).parent / 'probes' / 'helper.py'
#: CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE, CAP_SYS_ADMIN.
CAPABILITIES = 1 << 1 | 1 << 2 | 1 << 19 | 1 << 21
SEED = int(os.environ.get('CYBORG_TEST_CLEANER_SEED', '1'))


class ProcessCase(base.CleanerTestCase):

    timeout = 1800
    placement = placement_process.PlacementProcess
    helper = '%s -W ignore %s %s'
    poll = 1

    def setUp(self):
        if os.geteuid():
            raise unittest.SkipTest('only root gives capabilities away')
        super().setUp()
        self.broker = self.useFixture(rabbit.RabbitVirtualHost())
        self.path = pathlib.Path(self.host.path)
        self.configuration = self.path / 'cyborg.conf'
        self.configuration.write_text('\n'.join((
            '[DEFAULT]', 'host = compute-1', 'debug = true',
            'transport_url = ' + self.broker.url,
            'state_path = %s' % self.path,
            '[agent]', 'resource_provider_name = compute-1',
            '[pci]', 'sysfs_path = ' + self.host.world.at('sys'),
            '[cleaner]', 'device_spec = {"vendor_id": "144d"}',
            'journal_path = ' + self.host.journal_path,
            'settle_seconds = 0', 'verify_samples = 4', 'unknown = clean',
            'poll_interval = %d' % self.poll,
            '[placement]', *('%s = %s' % pair for pair in
                             self.host.placement.settings.items()),
            '[cyborg_nvme]', 'helper_command = ' + (
                self.helper % (sys.executable, HELPER, self.host.world.path)
                if '%' in self.helper else self.helper), '')))
        self.host.clock.time = time.time()
        self.host.world.clock = time.time

    def run_service(self, name):
        return self.useFixture(processes.Process(
            [sys.executable, '-W', 'ignore', '-m', 'cyborg.cmd.' + name,
             '--config-file', self.configuration],
            self.path / (name + '.log')))

    def entry(self):
        """What the journal has of the disk, from outside."""
        path = pathlib.Path(self.host.journal_path)
        found = [journal.load(each.read_bytes())
                 for each in path.glob('*.json')] if path.exists() else []
        return found[0] if found else None

    def state(self):
        entry = self.entry()
        return entry and entry.state.value

    def wait_for(self, condition, what, seconds=120, offered=False):
        """:param offered: a disk that is in use need not be reserved yet."""
        def safe():
            if not offered:
                self.assertNothingIsLost()
            return condition()
        try:
            processes.wait_until(safe, what, seconds, 0.05)
        except AssertionError as error:
            raise AssertionError('%s: %s\n%s' % (error, self.entry(), (
                '\n'.join(line for each in self.path.glob('*.log')
                          for line in each.read_text().splitlines()
                          if ' DEBUG ' not in line))[-9000:])) from None

    secret: bytes | None = None

    def assertNothingIsLost(self):
        """A disk with a secret on it is offered to nobody."""
        if self.secret is not None and self.secret in self.host.media():
            # Asked after the look at the disk: it may be erased meanwhile.
            self.assertEqual(1, self.host.reserved())

    def helpers(self):
        """Processes of this test's helper."""
        found = []
        for pid in filter(str.isdigit, os.listdir('/proc')):
            try:
                words = pathlib.Path('/proc', pid,
                                     'cmdline').read_bytes().split(b'\0')
            except OSError:
                continue
            if (str(HELPER).encode() in words and
                    self.host.world.path.encode() in words):
                found.append(int(pid))
        return found


class StoryTest(ProcessCase):

    #: Only hints make it look sooner.
    poll = 3600

    def notifier(self):
        conf = self.useFixture(conffixture.ConfFixture(service.CONF))
        conf.transport_url = self.broker.url
        rpc.cleanup()
        rpc.init()
        self.addCleanup(rpc.cleanup)
        service.CONF.set_override('control_exchange', 'nova')
        self.addCleanup(service.CONF.clear_override, 'control_exchange')
        return messaging.Notifier(
            messaging.get_notification_transport(service.CONF),
            publisher_id='nova-compute:compute-1', driver='messagingv2',
            topics=['versioned_notifications'])

    def test_a_guest_comes_and_goes(self):
        cleaner = self.run_service('cleaner')
        listener = self.run_service('cleaner_listener')
        self.wait_for(lambda: self.state() == 'sealed', 'the first cleaning')
        listener.wait_for_output('listens for versioned_notifications', 120)
        for pid in self.helpers():
            status = pathlib.Path('/proc/%d/status' % pid).read_text()
            self.assertIn('CapEff:\t%016x' % CAPABILITIES, status)
        self.assertEqual(1, len(self.helpers()))
        notifier = self.notifier()
        consumer, guest = self.host.boot()
        self.secret = base.SECRET
        guest.write(1, 0, self.secret)
        self.assertEqual(0, self.host.reserved())
        notifier.info({}, 'instance.create.start',
                      test_listener.payload(consumer))
        processes.wait_until(self.host.reserved, 'a reservation', 120)
        self.wait_for(lambda: self.state() == 'in_use', 'the look',
                      offered=True)
        self.host.delete(consumer, guest)
        notifier.info({}, 'instance.delete.end',
                      test_listener.payload(consumer))
        self.wait_for(lambda: self.state() == 'sealed', 'the cleaning')
        self.assertNotIn(self.secret, self.host.media())
        self.assertEqual(0, self.host.reserved())
        _consumer, second = self.host.boot()
        self.assertEqual(bytes(4096), second.read(1, 0, 4096))
        # CLEAN-27
        for each in (cleaner, listener):
            began = time.monotonic()
            os.kill(each.process.pid, signal.SIGTERM)
            self.assertEqual(0, each.process.wait(30), each.output[-3000:])
            self.assertLess(time.monotonic() - began, 10)
        processes.wait_until(lambda: not self.helpers(), 'no helper')

    def test_no_broker(self):
        """CLEAN-29: said once; all is done by polling; both can be ended."""
        text = self.configuration.read_text()
        self.configuration.write_text(text.replace(
            self.broker.url, 'rabbit://guest:guest@127.0.0.1:9/'))
        cleaner = self.run_service('cleaner')
        listener = self.run_service('cleaner_listener')
        self.wait_for(lambda: self.state() == 'sealed', 'the first cleaning')
        for each in (cleaner, listener):
            each.wait_for_output('Waiting for the message broker', 60)
            os.kill(each.process.pid, signal.SIGTERM)
            self.assertEqual(0, each.process.wait(30), each.output[-3000:])
            self.assertEqual(1, each.output.count(
                'Waiting for the message broker'))


class CheckTest(ProcessCase):

    #: Calls by which a process changes something outside of itself.
    CHANGES = ('mkdir', 'rename', 'unlink', 'rmdir', 'link', 'symlink',
               'chmod', 'fchmod', 'chown', 'truncate', 'ftruncate', 'mknod',
               'utimensat')

    def test_system_calls_of_check(self):
        """CLEAN-30: no device is opened, nothing written, no command sent."""
        if shutil.which('strace') is None:
            needs.skip_or_fail('no strace to see system calls with')
        self.host.start()
        self.host.look()
        consumer, guest = self.host.boot()
        self.host.look()
        self.host.delete(consumer, guest)
        self.host.stop()
        generation = self.host.placement.generation(self.host.providers[ONE])
        log = self.path / 'calls'
        commands = len(self.host.world.media(ONE).logged())
        done = subprocess.run(
            ['strace', '-f', '-qq', '-o', log, '-e', 'trace=%s' % ','.join(
                ('open', 'openat', 'ioctl', *self.CHANGES,
                 *(name + 'at' for name in (
                     'mkdir', 'rename', 'unlink', 'link', 'symlink',
                     'fchmod', 'fchown', 'mknod')))),
             sys.executable, '-B', '-W', 'ignore', '-m', 'cyborg.cmd.nvme',
             '--config-file', self.configuration, 'check'],
            capture_output=True, text=True, timeout=600)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn('dirty (freed)', done.stdout)
        calls = log.read_text('utf-8', 'replace').splitlines()
        self.assertGreater(len(calls), 100)
        self.assertEqual([], [call for call in calls if self.changes(call)])
        self.assertEqual(commands, len(self.host.world.media(ONE).logged()))
        self.assertEqual(generation, self.host.placement.generation(
            self.host.providers[ONE]))

    def changes(self, call):
        name, _bracket, rest = call.partition(' ')[2].lstrip().partition('(')
        if name in ('open', 'openat'):
            return 'dev/nvme' in rest or 'dev/vfio' in rest or (
                re.search('O_(WRONLY|RDWR|CREAT|TRUNC)', rest)
                and '"/dev/' not in rest)
        if name == 'ioctl':
            # Those of terminals, files and sockets that any program makes.
            return not re.search('TCGETS|TIOC|FIOCLEX|FIONBIO|FIONREAD|'
                                 'SIOCGIF', rest)
        return bool(name) and not call.endswith('+++')


class BrokenHelperTest(ProcessCase):

    helper = '/bin/false'

    def test_what_is_used_is_reserved_all_the_same(self):
        """CLEAN-6, CLEAN-34: and nothing is erased; told once."""
        consumer = self.host.allocate()
        cleaner = self.run_service('cleaner')
        self.wait_for(self.host.reserved, 'a reservation')
        self.host.placement.deallocate(consumer)
        cleaner.wait_for_output('Disks are reserved, and none is cleaned.',
                                60)
        self.wait_for(lambda: self.state() in ('dirty', 'held', 'absent'),
                      'a look')
        self.assertEqual([], self.host.world.touched(ONE))
        self.assertIn(
            'The privileged helper of host compute-1 does not work: privsep '
            'helper command exited non-zero (1). It is started by '
            '[cyborg_nvme] helper_command, which is "sudo privsep-helper" '
            'unless set; try that as the user of the service.',
            cleaner.output)
        self.assertEqual(1, cleaner.output.count('none is cleaned'))


class KillTest(ProcessCase):
    """CLEAN-24: SIGKILL, SIGSTOP and a dead helper, at any moment."""

    def kill_cleaner(self, cleaner):
        os.kill(cleaner.process.pid, signal.SIGKILL)
        cleaner.process.wait(10)
        cleaner.start()

    def kill_all(self, cleaner):
        cleaner.kill()
        cleaner.start()

    def kill_helper(self, _cleaner):
        for pid in self.helpers():
            os.kill(pid, signal.SIGKILL)

    def stop_and_go_on(self, cleaner):
        for pid in (cleaner.process.pid, *self.helpers()):
            os.kill(pid, signal.SIGSTOP)
        # Meanwhile somebody lets a guest in, if that is possible.
        self.stopped_at = len(self.host.world.touched(ONE))
        time.sleep(self.random.uniform(0, 1))
        for pid in (cleaner.process.pid, *self.helpers()):
            os.kill(pid, signal.SIGCONT)

    def test_at_random_moments(self):
        self.random = random.Random(SEED)
        self.host.world.media(ONE).set(sanitize_seconds=0.7)
        cleaner = self.run_service('cleaner')
        self.wait_for(lambda: self.state() == 'sealed', 'the first cleaning')
        actions = [self.kill_cleaner, self.kill_all, self.kill_helper,
                   self.stop_and_go_on]
        for number in range(amount.amount('CYBORG_TEST_CLEANER_PROCESSES', 4,
                                          40)):
            consumer, guest = self.host.boot()
            self.assertEqual(bytes(4096), guest.read(1, 0, 4096))
            self.secret = (b'secret %d of a guest' % number).ljust(512, b'#')
            guest.write(1, 0, self.secret)
            self.wait_for_use(consumer)
            self.host.delete(consumer, guest)
            for action in self.random.sample(actions, 2) if number >= len(
                    actions) else [actions[number]]:
                time.sleep(self.random.uniform(0, 3))
                self.assertNothingIsLost()
                action(cleaner)
            self.wait_for(lambda: self.state() == 'sealed' and
                          not self.host.reserved(), 'round %d' % number, 240)
            self.assertNotIn(self.secret, self.host.media())

    def wait_for_use(self, consumer):
        """Its data stays as long as it is allocated."""
        def seen():
            self.assertIn(self.secret, self.host.media())
            return self.host.reserved() and self.state() == 'in_use'
        self.wait_for(seen, 'use of %s' % consumer, 240, offered=True)

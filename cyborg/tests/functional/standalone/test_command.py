# SPDX-License-Identifier: Apache-2.0
"""``cyborg-standalone`` as a newcomer runs it (BASE-3)."""

import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import uuid

import testscenarios

from cyborg.tests import base
from cyborg.tests.fixtures import processes
from cyborg.tests.fixtures import sysfs as sysfs_fixture

load_tests = testscenarios.load_tests_apply_scenarios

BIN = pathlib.Path(sys.executable).parent
READY = 'Ctrl-C ends it'
ENVIRONMENT = {'PYTHONWARNINGS': 'ignore',
               'PATH': '%s:%s' % (BIN, os.environ['PATH'])}


class StandaloneTestCase(base.TestCase):

    timeout = 180

    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.temp_dir())
        self.state = self.folder / 'state'

    def process(self, *arguments, port='0'):
        return processes.Process(
            [BIN / 'cyborg-standalone', '--state-dir', self.state,
             '--port', port, *arguments],
            self.folder / ('output-%s' % uuid.uuid4().hex), ENVIRONMENT)

    def serve(self, *arguments, **options):
        """A running one; :ivar root: its base URL."""
        process = self.useFixture(self.process(*arguments, **options))
        process.wait_for_output(READY)
        self.root = re.search(r'http://127\.0\.0\.1:\d+(?=/accelerator/v2)',
                              process.output).group()
        return process

    def run_to_end(self, *arguments, **options):
        """:returns: exit status and output of one that ends by itself."""
        process = self.useFixture(self.process(*arguments, **options))
        status = process.process.wait(300)
        return status, process.output

    def shell(self, line: str) -> str:
        done = subprocess.run(
            ['bash', '-c', line], env={**os.environ, **ENVIRONMENT},
            capture_output=True, text=True, timeout=300)
        self.assertEqual(0, done.returncode, '%s\n%s\n%s' % (
            line, done.stdout, done.stderr))
        return done.stdout

    def openstack(self, words: str) -> str:
        return self.shell('openstack --os-auth-type none --os-endpoint %s '
                          'accelerator %s' % (self.root, words))


class TestStandalone(StandaloneTestCase):

    def test_its_state_is_nobody_elses(self):
        """Neither read by others nor used by another one."""
        self.serve('--simulate')
        self.assertEqual(
            (1, 'cyborg-standalone cannot start: Another cyborg-standalone '
             'uses %s. Stop it, or choose another directory with '
             '--state-dir.\n' % self.state), self.run_to_end('--simulate'))
        found = [self.state, *self.state.rglob('*.sqlite*'),
                 *self.state.rglob('*.log')]
        self.assertGreater(len(found), 3)
        self.assertEqual([], [str(path) for path in found
                              if path.stat().st_mode & 0o077])

    def test_demo_of_a_first_start_warns_of_nothing(self):
        """Without a Nova, nobody has to hear how a bind ended."""
        for arguments, texts in (
                (['--simulate'],
                 ('1. What was discovered', 'PATCH /v2/accelerator_',
                  '"managed": false, "numa_node": 0, "stateful": false')),
                ([], ('taking', 'TEST_PCI'))):
            status, output = self.run_to_end('--demo', *arguments)
            self.assertEqual(0, status, output)
            for text in (*texts, 'That is all of it.'):
                self.assertIn(text, output)
            log = (self.state / 'standalone.log').read_text()
            self.assertIn(' INFO ', log)
            self.assertEqual([], re.findall(
                r'.* (?:WARNING|ERROR|CRITICAL) .*', log))
            shutil.rmtree(self.state)

    def test_demo_leaves_nothing_behind(self):
        self.run_to_end('--simulate', '--demo')
        self.serve('--simulate')
        self.assertEqual('', self.openstack('arq list -f value'))
        self.assertEqual('', self.openstack('device profile list -f value'))

    def test_simulated_host(self):
        process = self.serve('--simulate')
        output = process.output
        verdicts = dict(re.findall(
            r'^  (0000:\S+) .* (offered|not-selected)$', output, re.M))
        self.assertEqual(
            {'0000:21:00.1', '0000:21:00.2', '0000:21:00.3', '0000:21:00.4',
             '0000:41:00.0'},
            {a for a, verdict in verdicts.items() if verdict == 'offered'})
        # The NIC with the default route, the NVMe drive, the PF.
        for address in ('0000:25:00.0', '0000:45:00.0', '0000:21:00.0'):
            self.assertEqual('not-selected', verdicts[address])
        self.assertIn('5 of 13 offered.', output)
        self.assertNotIn('fake driver', output)
        # SIGTERM ends it, whichever thread gets it.
        processes.signal_other_thread(process.process.pid, signal.SIGTERM)
        self.assertEqual(0, process.process.wait(300), process.output)

    def test_printed_lines_work_with_the_stock_client(self):
        if not shutil.which('curl'):
            self.skipTest('needs curl, which is not installed')
        output = self.serve('--simulate').output
        lines = re.findall(r'^  ((?:openstack|curl) .*)$', output, re.M)
        self.assertEqual(9, len(lines))
        answers = [self.shell(line) for line in lines]
        self.assertEqual(5, answers[0].count('| PCI'))
        self.assertIn('Initial', answers[2])
        self.assertIn('mine', answers[3])
        self.assertIn('Bound', answers[5])
        self.assertIn("'bus': '21'", answers[5])
        self.assertIn('Unbound', answers[6])
        self.assertEqual('', self.openstack('arq list -f value'))

    def test_restart_finds_its_state(self):
        first = self.serve('--simulate')
        self.openstack('device profile create kept '
                       '--group resources:CUSTOM_PCI=1')
        arq = self.openstack('arq create kept -f value -c uuid')
        devices = self.openstack('device list -f value')
        first.process.send_signal(signal.SIGINT)
        self.assertEqual(0, first.process.wait(300))
        self.assertIn('Stopping.', first.output)
        self.serve('--simulate')
        self.assertEqual(devices, self.openstack('device list -f value'))
        self.assertIn(arq.strip(), self.openstack('arq list -f value'))

    def test_port_in_use(self):
        with socket.create_server(('127.0.0.1', 0)) as taken:
            port = taken.getsockname()[1]
            status, output = self.run_to_end('--simulate', port=str(port))
        self.assertEqual(1, status)
        self.assertEqual(
            'cyborg-standalone cannot start: The API cannot listen on '
            '127.0.0.1 port %d: another process listens there. Choose '
            'another one with --port.\n' % port, output)

    def test_another_tree(self):
        tree = self.useFixture(sysfs_fixture.SysfsTree('sriov-on'))
        address = next(device['address'] for device in
                       sysfs_fixture.captured('sriov-on')
                       if device.get('physfn')
                       and device['class'].startswith('0x0200'))
        output = self.serve('--sysfs', tree.path, '--device-spec',
                            '{"address": "%s"}' % address).output
        self.assertIn(tree.path, output)
        self.assertRegex(output, r'1 of \d+ offered')
        self.assertEqual('PCI\n', self.openstack(
            'device list -f value -c type'))

    def test_every_rule_of_the_command_line_counts(self):
        rules = [word for address in ('0000:21:00.2', '0000:41:00.0')
                 for word in ('--device-spec', '{"address": "%s"}' % address)]
        _status, output = self.run_to_end('--simulate', '--demo', *rules)
        self.assertEqual(['0000:21:00.2', '0000:41:00.0'], re.findall(
            r'^  (0000:\S+) .* offered$', output, re.M))

    def test_nothing_is_proposed_where_a_file_has_the_last_word(self):
        file = self.folder / 'cyborg.conf'
        file.write_text('[agent]\nenabled_drivers = fake_driver\n'
                        '[pci]\ndevice_spec = {"vendor_id": "ffff"}\n')
        status, output = self.run_to_end('--simulate', '--demo',
                                         '--config-file', file)
        self.assertEqual(0, status, output)
        self.assertIn('\n0 of 13 offered.\n', output)
        self.assertNotIn('--device-spec', output)

    def test_own_machine(self):
        """Nothing of it is offered unasked, the fake driver is."""
        output = self.serve().output
        self.assertRegex(output, r'\n0 of \d+ offered\.\n')
        self.assertIn('The fake driver offers an FPGA', output)
        self.assertEqual('FPGA\n', self.openstack(
            'device list -f value -c type'))

    def test_rule_that_is_wrong(self):
        status, output = self.run_to_end('--simulate', '--device-spec',
                                         '{"vendor": "10de"}')
        self.assertEqual(1, status)
        self.assertIn('cyborg-standalone cannot start: [pci] device_spec of '
                      'host', output)
        self.assertIn('"vendor"', output)
        self.assertNotIn('Traceback', output)

    def test_contradicting_options(self):
        status, output = self.run_to_end('--simulate', '--sysfs', '/sys')
        self.assertEqual((2, 'cyborg-standalone: --simulate and --sysfs '
                          'exclude each other.\n'), (status, output))
        status, output = self.run_to_end('--sysfs', '/nonexistent')
        self.assertEqual((2, 'cyborg-standalone: --sysfs: there is no '
                          'directory /nonexistent.\n'), (status, output))


class TestTrees(testscenarios.WithScenarios, StandaloneTestCase):
    """Each captured host, and what the service proposes to offer of it."""

    scenarios = [(name, {'tree': name, 'proposed': proposed})
                 for name, proposed in (
                     ('no-iommu', '0000:00:05.0'),
                     ('sriov-off', '0000:42:00.0'),
                     ('sriov-on', '0000:41:00.3'),
                     ('nvme-vf-on-vfio', '0000:21:10.2'))]

    def test_the_proposal_is_accepted(self):
        """DSC-4: it never names a device of a class that is refused."""
        path = self.useFixture(sysfs_fixture.SysfsTree(self.tree)).path
        count = len(sysfs_fixture.captured(self.tree))
        status, output = self.run_to_end('--sysfs', path, '--demo')
        self.assertEqual(0, status, output)
        self.assertIn('\n0 of %d offered.\n' % count, output)
        arguments = shlex.split(re.search(
            r'^  (--device-spec .*)$', output, re.M).group(1))
        self.assertEqual({'address': self.proposed},
                         json.loads(arguments[1]))
        shutil.rmtree(self.state)
        status, output = self.run_to_end('--sysfs', path, '--demo',
                                         *arguments)
        self.assertEqual(0, status, output)
        self.assertIn('\n1 of %d offered.\n' % count, output)
        self.assertIn('That is all of it.', output)


class CleaningDemoTest(StandaloneTestCase):

    def test_the_story_of_a_disk(self):
        """CLEAN-1, CLEAN-14: two acts, and why."""
        status, output = self.run_to_end('--simulate', '--demo-cleaning')
        self.assertEqual(0, status, output)
        for line in (
                'nova-compute sends instance.create.start',
                'the guest writes: The password of the first guest',
                'Placement: reserved 1; the cleaner: in_use (allocated)',
                'erased by crypto sanitize, 64 blocks verified',
                'it reads 512 zeros',
                'nova-api sends instance.delete.end',
                'Placement: reserved 1; the cleaner: dirty (freed)',
                'not touched, because of vfio: qemu-system-x86 (process 4711)',
                'the guest reads: Mine.', 'That is all of it.'):
            self.assertIn(line, output)

    def test_never_on_a_real_disk(self):
        status, output = self.run_to_end('--demo-cleaning')
        self.assertEqual(2, status)
        self.assertIn('--demo-cleaning needs --simulate: it never touches a '
                      'real disk.', output)

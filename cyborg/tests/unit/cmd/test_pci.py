# SPDX-License-Identifier: Apache-2.0

import errno
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from unittest import mock

from cyborg.cmd import pci
from cyborg.cmd import pci_rows
from cyborg.common import rpc
from cyborg.pci import simulate
from cyborg.tests import base
from cyborg.tests.fixtures import sysfs as sysfs_fixture


class Terminal(io.StringIO):
    """A stream that says whether it is a terminal."""

    def __init__(self, tty=False):
        super().__init__()
        self._tty = tty

    def isatty(self):
        return self._tty


class CommandTestCase(base.TestCase):
    """PRV-1"""

    def setUp(self):
        super().setUp()
        self.sysfs = os.path.join(self.temp_dir(), 'sys')
        self.tree = simulate.build(self.sysfs)

    def write(self, *rules, exclude='', more=()):
        lines = ['[DEFAULT]', 'host = compute-1', '[agent]',
                 'enabled_drivers = pci_driver', '[pci]',
                 'sysfs_path = ' + self.sysfs, 'exclude_list = ' + exclude]
        lines += ['device_spec = ' + rule for rule in rules]
        self.path = os.path.join(self.temp_dir(), 'cyborg.conf')
        with open(self.path, 'w', encoding='utf-8') as stream:
            stream.write('\n'.join([*lines, *more]) + '\n')

    def run_command(self, *arguments, tty=False):
        """Exit status, standard output and standard error."""
        out, err = Terminal(tty), Terminal()
        status = pci.main(['cyborg-pci', *arguments, '--config-file',
                           self.path], stdout=out, stderr=err)
        return status, out.getvalue(), err.getvalue()

    def json(self, *arguments):
        status, out, err = self.run_command(*arguments, '-f', 'json')
        self.assertEqual((0, ''), (status, err))
        return json.loads(out)


class ListTest(CommandTestCase):

    def test_json_has_the_documented_keys_and_types(self):
        self.write('{"vendor_id": "1d0f", "managed": false}',
                   exclude='0000:21:00.0')
        rows = {row['address']: row for row in self.json('list')}
        self.assertEqual({pci_rows.KEYS}, {tuple(r) for r in rows.values()})
        self.assertEqual({
            'address': '0000:21:00.1', 'vendor_id': '1d0f',
            'product_id': 'efa1', 'class': '0x120000',
            'class_name': 'Processing accelerators',
            'driver': 'sim_vfio_pci', 'kind': 'VF', 'parent': '0000:21:00.0',
            'numa_node': 0, 'iommu_group': 11, 'verdict': 'offered',
            'rule': 'device_spec entry 1: {"vendor_id": "1d0f", "managed": '
                    'false}', 'managed': False, 'stateful': False,
        }, rows['0000:21:00.1'])
        self.assertEqual(('excluded', 'exclude_list: 0000:21:00.0', 'PF'), (
            rows['0000:21:00.0']['verdict'], rows['0000:21:00.0']['rule'],
            rows['0000:21:00.0']['kind']))
        other = rows['0000:45:00.0']
        self.assertEqual(('not-selected', None, None, 1), tuple(
            other[key] for key in ('verdict', 'rule', 'managed',
                                   'numa_node')))

    def test_managed_is_true_where_the_rule_does_not_say(self):
        """CFG-3"""
        self.write('{"vendor_id": "10de"}')
        rows = {row['address']: row for row in self.json('list')}
        self.assertIs(True, rows['0000:41:00.0']['managed'])

    def test_every_verdict(self):
        self.write('{}', exclude='0000:21:00.0')
        self.tree.add('10000:e1:00.0', 0x8086, 0x1533, 0x020000)
        self.tree.write('0000:25:00.0', 'vendor', b'\xff')
        self.tree.add('0000:46:00.0', 0x8086, 0x1533, 0x020000)
        rows = {r['address']: r for r in self.json('list')}
        self.assertEqual(
            {'0000:21:00.0': 'excluded', '0000:25:00.0': 'unreadable',
             '0000:45:00.0': 'class-refused', '0000:46:00.0': 'offered',
             '10000:e1:00.0': 'not-addressable'},
            {where: rows[where]['verdict'] for where in (
                '0000:21:00.0', '0000:25:00.0', '0000:45:00.0',
                '0000:46:00.0', '10000:e1:00.0')})
        self.assertTrue(rows['0000:45:00.0']['stateful'])
        self.assertIn('vendor holds', rows['0000:25:00.0']['rule'])
        self.assertEqual('10000:e1:00.0', list(rows)[-1])

    def test_table(self):
        self.write('{"vendor_id": "10de"}')
        status, out, _err = self.run_command('list')
        self.assertEqual(0, status)
        cells = [re.split(r'\s*\|\s*', line)[1:-1]
                 for line in out.splitlines() if '|' in line]
        self.assertEqual(list(pci_rows.HEADINGS), cells[0])
        self.assertIn(
            ['0000:41:00.0', '10de:1eb8', '3D controller', 'vfio-pci', 'PCI',
             '1', '30', 'offered',
             'device_spec entry 1'], cells)
        self.assertEqual('VF of 0000:21:00.0', cells[4][4])

    def test_columns_of_a_table_are_chosen_by_key(self):
        self.write()
        out = self.run_command('list', '-c', 'address', '-c', 'numa_node')[1]
        self.assertIn('| address ', out)

    def test_other_formats(self):
        self.write()
        for name in ('csv', 'value', 'yaml'):
            status, out, _err = self.run_command('list', '-f', name)
            self.assertEqual(0, status)
            self.assertIn('0000:41:00.0', out)

    def test_invalid_configuration(self):
        self.write('{"vendor": "10de"}')
        status, out, err = self.run_command('list')
        self.assertEqual((1, ''), (status, out))
        self.assertIn('did you mean "vendor_id"?', self.logs.text + err)


class ShowTest(CommandTestCase):

    def test_device(self):
        self.write('{"product_id": "efa0", "managed": false}')
        found = self.json('show', '0000:21:00.0')
        self.assertEqual(
            ['0000:21:00.%d' % n for n in range(1, 5)],
            found['virtual_functions'])
        self.assertEqual(['0000:20:00.0'], found['upstream'])
        self.assertEqual(2, len(found['advice']))
        self.assertEqual(['sim0'],
                         self.json('show', '0000:25:00.0')[
                             'network_interfaces'])

    def test_either_case(self):
        self.write()
        self.assertEqual('0000:21:00.0',
                         self.json('show', '0000:21:00.0')['address'])

    def test_unreadable(self):
        self.write()
        self.tree.write('0000:25:00.0', 'class', b'')
        self.assertEqual('unreadable',
                         self.json('show', '0000:25:00.0')['verdict'])

    def test_no_such_device_and_no_address(self):
        self.write()
        for address, text in (
                ('0000:99:00.0', 'This host has no PCI device 0000:99:00.0.'),
                ('99:00.0', "'99:00.0' is no PCI address")):
            status, out, err = self.run_command('show', address)
            self.assertEqual((1, ''), (status, out))
            self.assertIn(text, self.logs.text + err)


class TreeTest(CommandTestCase):

    def test_node_port_pf_vf(self):
        self.write('{"vendor_id": "1d0f", "managed": false}',
                   exclude='0000:21:00.0')
        status, out, _err = self.run_command('tree')
        self.assertEqual(0, status)
        lines = out.splitlines()
        self.assertEqual(
            ['NUMA node 0',
             '  - 0000:20:00.0  1b36:000c  PCI bridge  (root port)  '
             '[pcieport]  not-selected',
             '    x 0000:21:00.0  1d0f:efa0  Processing accelerators  PF  '
             '[sim_accel]  excluded',
             '      + 0000:21:00.1  1d0f:efa1  Processing accelerators  VF  '
             '[sim_vfio_pci]  offered  managed=false'], lines[:4])
        self.assertIn('NUMA node 1', lines)
        self.assertIn('NUMA node unknown', lines)
        self.assertEqual('+ 4 offered  - 8 not-selected  x 1 excluded',
                         lines[-1])

    def test_every_device_once(self):
        for capture in ('sriov-on', 'sriov-off', 'no-iommu'):
            host = self.useFixture(sysfs_fixture.SysfsTree(capture))
            self.sysfs = host.path
            self.write('{}')
            out = self.run_command('tree')[1]
            shown = re.findall(r'^ +\S (\S+:\S+)', out, re.MULTILINE)
            self.assertEqual(
                sorted(f['address'] for f in sysfs_fixture.captured(capture)),
                sorted(shown))

    def test_vfs_on_the_root_bus(self):
        """Below their PF, as behind a port."""
        self.write()
        self.tree.add('0000:6b:00.0', 0x8086, 0x4940, 0x0b4000, totalvfs=1,
                      numa_node=0)
        self.tree.add('0000:6b:00.1', 0x8086, 0x4941, 0x0b4000, numa_node=0,
                      physfn='0000:6b:00.0')
        out = self.run_command('tree')[1]
        self.assertIn('\n  - 0000:6b:00.0  ', out)
        self.assertIn('\n    - 0000:6b:00.1  ', out)

    def test_physical_functions_in_a_circle(self):
        """Nonsense, but no device is hidden."""
        self.write()
        there = '0000:9%d:00.0'
        for number in range(4):
            self.tree.add(there % number, 0x8086, 0x1533, 0x020000)
        for number, above in enumerate((0, 2, 1, 1)):
            os.symlink('../' + there % above, os.path.join(
                self.sysfs, 'bus/pci/devices', there % number, 'physfn'))
        out = self.run_command('tree')[1]
        for number in range(4):
            self.assertEqual(1, out.count(there % number), out)

    def test_a_path_with_a_part_that_is_no_address(self):
        """DSC-10: also in what only ``show`` and ``tree`` read."""
        self.write('{}')
        link = os.path.join(self.sysfs, 'bus/pci/devices/0000:46:00.0')
        target = '../../../devices/pci0000:46/0000:46:ff.0/0000:46:00.0'
        os.makedirs(os.path.join(os.path.dirname(link), target))
        os.symlink(target, link)
        for name in ('vendor', 'device', 'class'):
            with open(os.path.join(link, name), 'w') as stream:
                stream.write('0x12\n')
        for arguments in (['tree'], ['show', '0000:46:00.0']):
            status, out, err = self.run_command(*arguments)
            self.assertEqual((0, ''), (status, err))
            self.assertIn('0000:46:00.0', out)

    def test_unreadable_devices(self):
        self.write()
        self.tree.write('0000:25:00.0', 'class', b'')
        out = self.run_command('tree')[1]
        self.assertIn("Unreadable\n  ? 0000:25:00.0  class holds ''\n", out)

    def test_colour_only_on_a_terminal(self):
        self.write('{}')
        self.assertNotIn('\033', self.run_command('tree')[1])
        self.assertIn('\033[32m+ 0000:21:00.1',
                      self.run_command('tree', tty=True)[1])


class CheckTest(CommandTestCase):

    def check(self, *arguments):
        status, out, err = self.run_command('check', *arguments)
        return status, out.splitlines(), err

    def test_accepted(self):
        self.write('{"vendor_id": "10de"}')
        self.assertEqual(
            (0, [], 'cyborg-pci: an agent started now would accept this '
             'configuration\n'), self.check())

    def test_every_reason(self):
        self.write('{"vendor": "10de"}', 'oops', exclude='3b:00.0',
                   more=['[agent]', 'enabled_drivers = pci_driver, '
                         'inspur_nvme_ssd_driver, nvmf_spdk_driver, nope'])
        status, lines, err = self.check()
        self.assertEqual(1, status)
        self.assertIn('would refuse', err)
        for text in (
                'reason inspur_nvme_ssd_driver The driver inspur_nvme_ssd_',
                'reason nvmf_spdk_driver The driver nvmf_spdk_driver in',
                'reason nope nope in [agent] enabled_drivers',
                'reason [pci] device_spec entry 1, {"vendor": "10de"}: at ',
                'reason [pci] device_spec entry 2, oops: at $: not JSON',
                'reason [pci] exclude_list entry 1, "3b:00.0": write all'):
            self.assertEqual(
                1, len([line for line in lines if line.startswith(text)]),
                (text, lines))
        self.assertEqual(6, len(lines), lines)

    def test_class_and_cap(self):
        self.write('{"managed": false, "vendor_id": "144d"}',
                   more=['[upgrade_levels]', 'conductor = 1.0'])
        status, lines, _err = self.check()
        self.assertEqual(1, status)
        self.assertEqual(
            ['reason [upgrade_levels] conductor [pci] device_spec of host',
             'reason pci_driver Device 0000:45:00.0 of host compute-1 is '],
            [line[:59] for line in lines])

    def test_workaround(self):
        self.write('{"vendor_id": "144d"}',
                   more=['[workarounds]', 'allow_unsafe_devices = true'])
        status, lines, _err = self.check()
        self.assertEqual(
            (0, ['warning 0000:45:00.0 offered by [workarounds] '
                 'allow_unsafe_devices, and nothing cleans it between users']),
            (status, lines))

    def test_warnings_do_not_reject(self):
        self.write('{"vendor_id": "8086", "vendor_id": "8086"}',
                   exclude='0000:99:00.0')
        self.tree.write('0000:41:00.0', 'vendor', b'')
        status, lines, _err = self.check()
        self.assertEqual(0, status)
        self.assertEqual(
            ['warning', 'warning', 'warning', 'warning'],
            [line.split()[0] for line in lines])
        text = '\n'.join(lines)
        for part in ('is given twice', '0000:41:00.0 cannot be read',
                     '0000:99:00.0 in [pci] exclude_list',
                     'carries the default route'):
            self.assertIn(part, text)

    def test_an_exclusion_that_a_later_line_takes_back(self):
        self.write('{"vendor_id": "10de"}',
                   exclude='0000:21:00.0, 0000:45:00.0',
                   more=['exclude_list = 0000:45:00.0'])
        self.assertEqual(
            (0, ['warning 0000:21:00.0 not excluded: [pci] exclude_list is '
                 'given more than once, and only the last one counts']),
            self.check()[:2])

    def test_no_rule_at_all(self):
        """B01"""
        self.write()
        self.assertEqual(
            (0, ['warning [pci] device_spec empty: pci_driver offers no '
                 'device']), self.check()[:2])

    def test_json(self):
        self.write('oops')
        status, out, _err = self.run_command('check', '-f', 'json')
        self.assertEqual((1, [{
            'kind': 'reason', 'subject': '[pci] device_spec',
            'detail': 'entry 1, oops: at $: not JSON: Expecting value at '
                      'line 1 column 1'}]), (status, json.loads(out)))

    def test_driver_that_is_not_enabled(self):
        self.write('{"vendor_id": "10de"}',
                   more=['[agent]', 'enabled_drivers = fake_driver'])
        status, lines, _err = self.check()
        self.assertEqual(0, status)
        self.assertIn('warning pci_driver not in [agent] enabled_drivers '
                      '(fake_driver): the agent would offer none', lines[0])

    def test_a_driver_that_is_not_enabled_refuses_nothing(self):
        """The agent starts: nobody reads [pci]."""
        fake = ['[agent]', 'enabled_drivers = fake_driver']
        for rule, more, text in (
                ('oops', [], 'warning [pci] device_spec entry 1, oops: at'),
                ('{}', [], 'warning pci_driver Device 0000:45:00.0 of host'),
                ('{"managed": true}', ['[upgrade_levels]', 'conductor = 1.0'],
                 'warning [upgrade_levels] conductor [pci] device_spec of')):
            self.write(rule, more=fake + more)
            status, lines, _err = self.check()
            self.assertEqual((0, {'warning'}), (
                status, {line.split()[0] for line in lines}), lines)
            self.assertIn(text, '\n'.join(lines))

    def test_what_stops_an_agent_besides_its_drivers(self):
        """Everything that the agent itself refuses (its words)."""
        good = '{"vendor_id": "10de"}'
        for lines, text in (
                (['[upgrade_levels]', 'conductor = newest'],
                 'reason [upgrade_levels] conductor [upgrade_levels] '
                 'conductor = newest is neither'),
                (['[DEFAULT]', 'periodic_interval = x'],
                 'reason configuration [DEFAULT] periodic_interval = "x" in '),
                (['[placement]', 'connect_retries = x'],
                 'reason configuration [placement] connect_retries = "x" ')):
            self.write(good, more=lines)
            status, found, err = self.check()
            self.assertEqual(1, status, found)
            self.assertEqual(
                1, len([line for line in found if line.startswith(text)]),
                found)
            self.assertEqual(1, len(found), found)
            self.assertIn('would refuse', err)

    def test_a_transport_that_cannot_work(self):
        self.write('{"vendor_id": "10de"}')
        for url, reason in (
                ('nope://', 'Failed to load transport driver "nope"'),
                ('rabbit://u:pass/word@h:5672/', 'its host and port cannot')):
            self.conf.set(transport_url=url)
            status, found, _err = self.check()
            self.assertEqual((1, 1), (status, len(found)), found)
            self.assertIn('reason [DEFAULT] transport_url [DEFAULT] '
                          'transport_url of host compute-1 cannot be used: '
                          + reason, found[0])
            self.assertNotIn('pass', found[0])
            self.assertFalse(rpc.initialized())

    def test_could_not_tell(self):
        self.write('{}')
        shutil.rmtree(self.sysfs)
        status, lines, err = self.check()
        self.assertEqual(2, status)
        self.assertIn('unknown [pci] sysfs_path The PCI devices of host '
                      'compute-1 cannot be listed', lines[0])
        self.assertIn('could not tell', err)

    def test_configuration_files(self):
        """What stops an agent is a reason; what only we can't read is not."""
        self.path = '/nowhere/cyborg.conf'
        status, lines, err = self.check()
        self.assertEqual((2, []), (status, lines))
        self.assertIn('/nowhere/cyborg.conf', err)
        self.write('{}', more=['garbage'])
        status, lines, err = self.check()
        self.assertEqual((1, []), (status, lines))
        self.assertIn("No ':' or '=' found in assignment: 'garbage'", err)
        self.write('{"vendor_id": "10de"}',
                   more=['[workarounds]', 'allow_unsafe_devices = maybe'])
        status, lines, err = self.check()
        self.assertEqual((1, []), (status, lines))
        self.assertIn("Unexpected boolean value 'maybe'", err)

    def test_a_file_that_is_no_text(self):
        """And a directory in its place; the agent says the same."""
        self.write('{}')
        with open(self.path, 'ab') as stream:
            stream.write(b'# \xff\n')
        status, lines, err = self.check()
        self.assertEqual((1, []), (status, lines))
        self.assertIn('Failed to parse %s: no UTF-8 text, byte ' % self.path,
                      err)
        self.path = self.temp_dir()
        self.assertIn('Failed to parse %s: Is a directory' % self.path,
                      self.check()[2])

    def test_a_directory_that_may_not_be_looked_into(self):
        """oslo.config takes it for an empty one."""
        self.write('{"vendor_id": "10de"}')
        with mock.patch.object(os, 'access', return_value=False):
            self.assertEqual(0, self.check()[0])
            folder = self.temp_dir()
            status, _lines, err = self.check('--config-dir', folder)
        self.assertEqual(2, status)
        self.assertIn('could not tell', err)
        self.assertIn('Failed to open some config files: ' + folder, err)

    def test_what_goes_wrong_otherwise_is_no_verdict(self):
        """1 would say that the agent refuses."""
        self.write('{}')
        with mock.patch.object(pci.pci_check, 'local',
                               side_effect=ValueError('surprise')):
            status, lines, err = self.check()
        self.assertEqual((2, []), (status, lines))
        self.assertIn('could not tell', err)
        self.assertIn('surprise', err)

    def test_a_full_disk(self):
        self.write('oops')
        full, err = Terminal(), Terminal()
        with mock.patch.object(full, 'write', side_effect=OSError(
                errno.ENOSPC, os.strerror(errno.ENOSPC))):
            self.assertEqual(2, pci.main(
                ['cyborg-pci', 'check', '--config-file', self.path],
                stdout=full, stderr=err))
        self.assertNotIn('would refuse', err.getvalue())

    def test_a_reader_that_has_seen_enough(self):
        """As in ``cyborg-pci check | head -1``: no message, no verdict."""
        self.write('oops')
        pipe, err = Terminal(), Terminal()
        with mock.patch.object(pipe, 'write', side_effect=BrokenPipeError):
            self.assertEqual(128 + signal.SIGPIPE, pci.main(
                ['cyborg-pci', 'check', '--config-file', self.path],
                stdout=pipe, stderr=err))
        self.assertEqual('', err.getvalue())

    def test_a_terminal_that_cannot_show_every_letter(self):
        self.write('{"vend\N{LATIN SMALL LETTER O WITH DIAERESIS}r": 1}')
        done = subprocess.run(
            [sys.executable, '-m', 'cyborg.cmd.pci', 'check',
             '--config-file', self.path], capture_output=True, text=True,
            timeout=300, env=dict(os.environ, PYTHONIOENCODING='ascii',
                                 PYTHONWARNINGS='ignore'))
        self.assertEqual(1, done.returncode, done.stderr)
        self.assertIn(r'unknown key "vend\xf6r"', done.stdout)

    def test_times_that_make_no_sense(self):
        self.write('{}')
        for text in ('0', '-1', 'nan', 'inf', '1e9', 'soon'):
            with mock.patch.object(sys, 'stderr', new=Terminal()):
                error = self.assertRaises(
                    SystemExit, self.check, '--persisted',
                    '--timeout=' + text)
            self.assertEqual(2, error.code)

    def test_nothing_is_written(self):
        """B18"""
        self.write('{}')
        before = {path: os.lstat(os.path.join(path)).st_mtime_ns
                  for path, _dirs, _files in os.walk(self.sysfs)}
        self.check()
        self.run_command('list')
        self.assertEqual(before, {
            path: os.lstat(path).st_mtime_ns
            for path, _dirs, _files in os.walk(self.sysfs)})


class HelpTest(CommandTestCase):

    def test_options_may_stand_before_the_command(self):
        self.write('{}')
        out = Terminal()
        self.assertEqual(0, pci.main(
            ['cyborg-pci', '--config-file', self.path, 'tree'], stdout=out,
            stderr=Terminal()))
        self.assertIn('NUMA node 0', out.getvalue())

    def test_help_without_arguments(self):
        out = Terminal()
        pci.main(['cyborg-pci'], stdout=out, stderr=Terminal())
        for word in ('list', 'show', 'check', 'tree', '--config-file'):
            self.assertIn(word, out.getvalue())

# SPDX-License-Identifier: Apache-2.0
"""DOC-1: admin/managed-mode.rst, its commands and its messages."""

import configparser
import json
import os
import pathlib
import shutil
import subprocess

import webtest

from cyborg.pci import device_spec
from cyborg.pci import selection
from cyborg.pci import simulate
from cyborg.pci import sysfs
from cyborg.tests import base as tests_base
from cyborg.tests.fixtures import pages
from cyborg.tests.fixtures import services
from cyborg.tests.functional.docs import base
from cyborg.tests.functional.docs import shell

PAGE = 'admin/managed-mode.rst'
PF = '0000:6b:00.0'
VFS = ['0000:6b:00.%d' % number for number in range(1, 5)]
ONE, TWO = base.ONE, base.TWO


def only(language: str) -> str:
    block, = pages.blocks(PAGE, language=language)
    return block.text


def rules(number: int) -> list[str]:
    """``device_spec`` of the page's example of that number."""
    text = pages.blocks(PAGE, language='ini')[number].text
    return [line.partition('=')[2].strip() for line in text.splitlines()
            if line.startswith('device_spec')]


class PreparationTest(tests_base.TestCase):
    """The script and the unit that prepare a host."""

    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.temp_dir())
        self.tree = simulate.SysfsTree(str(self.folder / 'sys'))
        self.tree.add(PF, 0x8086, 0x4940, 0x0b4000, totalvfs=16,
                      driver='4xxx')
        for address in VFS:
            self.tree.add(address, 0x8086, 0x4941, 0x0b4000, physfn=PF)
        self.tree.bind(VFS[0], '4xxxvf')
        # The kernel listens there.
        self.devices = self.folder / 'sys/bus/pci/devices'

    def test_script_binds_every_function(self):
        (self.folder / 'modprobe').write_text('#!/bin/sh\necho $1 > %s\n' % (
            self.folder / 'modules'))
        (self.folder / 'modprobe').chmod(0o755)
        text = only('sh').replace('=/sys/', '=%s/sys/' % self.folder)
        script = self.folder / 'prepare-vfs'
        script.write_text(text)
        script.chmod(0o755)
        subprocess.run([script], check=True, timeout=300, env={
            'PATH': '%s:%s' % (self.folder, os.environ['PATH'])})

        def written(path):
            return (self.devices / path).read_text().strip()
        self.assertEqual('qat_vfio_pci',
                         (self.folder / 'modules').read_text().strip())
        self.assertEqual(('0', '4'), (
            written(PF + '/sriov_drivers_autoprobe'),
            written(PF + '/sriov_numvfs')))
        for address in VFS:
            self.assertEqual('qat_vfio_pci',
                             written(address + '/driver_override'))
        # Only the one that had a driver was taken from it.
        drivers = self.folder / 'sys/bus/pci/drivers'
        self.assertEqual(VFS[0], (
            drivers / '4xxxvf/unbind').read_text().strip())
        self.assertFalse((drivers / '4xxx/unbind').exists())
        self.assertEqual(VFS[-1], (
            self.folder / 'sys/bus/pci/drivers_probe').read_text().strip())

    def test_rule_selects_the_functions_alone(self):
        """The physical function stays with the host."""
        found = selection.select(
            sysfs.scan(str(self.folder / 'sys')).devices,
            device_spec.load(rules(0)).rules, (), False)
        self.assertEqual(VFS, [str(verdict.device.address)
                               for verdict in found if verdict.offered])
        self.assertEqual({False}, {verdict.managed for verdict in found
                                   if verdict.offered})

    def test_unit(self):
        unit = configparser.RawConfigParser()
        unit.optionxform = str
        unit.read_string(only('cfg'))
        self.assertIn('cyborg-agent.service', unit['Unit']['Before'])
        program = shutil.which('systemd-analyze')
        if program is None:
            return
        path = self.folder / 'vfs.service'
        path.write_text(only('cfg').replace(
            '/usr/local/sbin/prepare-vfs', '/bin/true'))
        done = subprocess.run([program, 'verify', path], timeout=300,
                              capture_output=True, text=True)
        self.assertNotIn('vfs.service', done.stderr)


class ManagedModeTest(base.MessageCase):

    page = PAGE

    def block(self, part: str) -> pages.Block:
        block, = [block for block in pages.blocks(PAGE, language='console')
                  if part in block.text]
        return block

    def test_not_bound(self):
        self.cloud.configure('pci', device_spec=rules(0))
        self.cloud.plug(VFS[0], vendor=0x8086, product=0x4941)
        self.cloud.start_agent()
        self.assertShown(self.line('WARNING', 'is offered, but'))

    def test_refused(self):
        """REC-3, and the three ways out"""
        self.cloud.plug(ONE, TWO)
        self.cloud.start_agent()
        arq = self.cloud.bind(ONE)
        instance = self.cloud.arq(arq)['instance_uuid']
        before = self.cloud.handles()
        self.cloud.configure('pci', device_spec=[
            services.rule(managed=False)])
        self.assertShown(self.refused())
        # Let that device alone keep its mode.
        self.cloud.configure('pci', device_spec=rules(1))
        self.cloud.start_agent()
        after = self.cloud.handles()
        self.assertEqual(before[ONE], after[ONE])
        self.assertIs(False, json.loads(after[TWO].attach_info)['managed'])
        # Which instance it is.
        terminal = self.useFixture(shell.Shell(self.cloud))
        self.assertEqual(instance, terminal.run(
            self.block('instance_uuid'), ARQ=arq).strip())
        self.cloud.delete(arq)
        self.cloud.configure('pci', device_spec=rules(1)[1:])
        self.cloud.restart_agent()
        self.assertIs(False, json.loads(
            self.cloud.handles()[ONE].attach_info)['managed'])


    def test_mixed(self):
        """What agents left that changed one mode after the other."""
        self.cloud.plug(ONE, TWO)
        self.cloud.start_agent()
        for address in (ONE, TWO):
            self.cloud.bind(address)
        handle = self.cloud.handles()[TWO]
        self.execute("UPDATE attach_handles SET attach_info = '%s' WHERE id "
                     '= %d' % (json.dumps({**json.loads(
                         handle.attach_info), 'managed': False},
                         sort_keys=True), handle.id))
        for managed in (True, False):
            self.cloud.configure('pci', device_spec=[
                services.rule(managed=managed)])
            self.assertShown(self.refused().partition('\n')[2])


class CommandsTest(base.MessageCase):

    page = PAGE
    block = ManagedModeTest.block

    def test_attach_information(self):
        """API-1, CON-2: as the page shows it, with JSON types"""
        self.cloud.plug(ONE, numa_node=0)
        self.cloud.configure('pci', device_spec=[
            services.rule(managed=False)])
        self.cloud.start_agent()
        arq = self.cloud.bind(ONE)
        terminal = self.useFixture(shell.Shell(self.cloud))
        shown = json.loads(terminal.run(
            self.block('attach_handle_info'), ARQ=arq))
        self.assertEqual(json.dumps(json.loads(only('json')), sort_keys=True),
                         json.dumps(shown, sort_keys=True))
        self.assertIn(arq, terminal.run(self.block('arq list')))
        # What a Nova that asks for no version sees.
        self.assertNotIn('managed', webtest.TestApp(self.cloud.api.app).get(
            '/v2/accelerator_requests/' + arq).json['attach_handle_info'])


class EveryMessage(base.Completeness):

    page = PAGE
    cases = (ManagedModeTest,)

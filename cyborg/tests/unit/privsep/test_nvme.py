# SPDX-License-Identifier: Apache-2.0
"""CLEAN-34: the border of privilege, crossed in this process."""

import json
import subprocess
import sys

import fixtures
from oslo_privsep import comm

from cyborg.common import exception
from cyborg.nvme import canaries
from cyborg.nvme import erase
from cyborg.nvme import errors
from cyborg.nvme import facts
from cyborg.nvme import methods
from cyborg.nvme import records
from cyborg.nvme import structures
from cyborg.privsep import nvme as privileged
from cyborg.tests.unit.nvme import base

ADDRESS = base.ADDRESS


class PrivilegedTest(base.DiskTestCase):

    def setUp(self):
        super().setUp()
        privileged.nvme_pctxt.set_client_mode(False)
        self.addCleanup(privileged.nvme_pctxt.set_client_mode, True)
        self.plug()
        keeper = privileged._Keeper(self.world.host())
        self.useFixture(fixtures.MockPatchObject(
            privileged, '_keeper', lambda: keeper))
        self.port = privileged.Port(ADDRESS)

    def test_a_whole_cleaning(self):
        record = self.recorded(self.port)
        guest = self.world.guest(ADDRESS)
        guest.write(1, 0, base.SECRET)
        guest.leave()
        self.port.hold()
        disk = self.controller(self.port)
        ask = erase.guard(disk, record.identity)
        found = erase.prepare(disk, record, erase.Limits(), ask)
        plan = canaries.plan(disk.disk, 'a' * 32, found.namespaces, 4)
        canaries.write(disk.disk, self.port, plan)
        scdw10 = erase.begin(disk, methods.Method.CRYPTO_SANITIZE,
                             found.namespaces, ask)
        self.assertIsNone(erase.follow(disk, scdw10))
        canaries.verify(disk.disk, self.port, plan)
        erase.finish(disk, record, erase.Limits(), ask)
        self.port.check_hold()
        self.port.restore_binding(records.Binding('nvme', 'vfio-pci'))
        self.port.release()
        self.assertEqual('vfio-pci', self.port.facts().binding.override)

    def test_errors_cross_with_what_they_know(self):
        self.world.guest(ADDRESS)
        error = self.assertRaises(errors.InUse, self.port.hold)
        self.assertEqual((records.Use(
            'vfio', 'qemu-system-x86 (process 4711) has /dev/vfio/100'),),
            error.uses)
        self.assertIn('it is in use and was not touched', str(error))

    def test_helper_does_not_answer(self):
        self.useFixture(fixtures.MockPatchObject(
            privileged, 'hold', _silent))
        error = self.assertRaises(exception.PrivilegedHelperFailed,
                                  self.port.hold)
        self.assertIn('does not work: PrivsepTimeout. It is started by '
                      '[cyborg_nvme] helper_command', error.message)

    def test_only_plain_values_cross(self):
        json.dumps(privileged.facts([ADDRESS]))
        json.dumps(privileged.hold(ADDRESS))
        self.assertIsInstance(privileged.read(ADDRESS, 1, 0, 512)['value'],
                              bytes)

    def test_arguments_are_checked_again(self):
        privileged.hold(ADDRESS)
        before = self.world.touched(ADDRESS)
        good = structures.sanitize(4).pack()
        for call, args in (
                (privileged.facts, (['../../etc'],)),
                (privileged.facts, (['0000:01:00.0/..'],)),
                (privileged.facts, (['0000:01:00.0\n'],)),
                (privileged.facts, ([7],)), (privileged.facts, (['nvme0'],)),
                (privileged.admin, (ADDRESS, good + b'x', b'')),
                (privileged.admin, (ADDRESS, good, bytes(4097))),
                (privileged.admin, (ADDRESS, 'x' * 72, b'')),
                (privileged.read, (ADDRESS, 1, -512, 512)),
                (privileged.read, (ADDRESS, 1, 1, 512)),
                (privileged.read, (ADDRESS, 1, 0, 1 << 21)),
                (privileged.read, (ADDRESS, True, 0, 512)),
                (privileged.write, (ADDRESS, 1, 0, b'x')),
                (privileged.write, (ADDRESS, 1, 0, 'x' * 512)),
                (privileged.rescan, (ADDRESS, ['1'])),
                (privileged.restore_binding, (ADDRESS, '../x', None)),
                (privileged.restore_binding, (ADDRESS, 'nvme', 'a b')),
                (privileged.restore_binding, (ADDRESS, '', None))):
            self.assertRaises(ValueError, call, *args)
        self.assertEqual(before, self.world.touched(ADDRESS))

    def test_nothing_destructive_without_a_hold_on_that_side(self):
        for call, args in (
                (self.port.admin, (structures.sanitize(4).pack(),)),
                (self.port.write, (1, 0, bytes(512))),
                (self.port.read, (1, 0, 512))):
            self.refused(errors.NotHeld, call, *args)

    def test_nothing_unsafe(self):
        self.port.hold()
        self.refused(errors.UnsafeCommand, self.port.admin,
                     structures.Command(structures.SANITIZE, cdw10=1).pack())

    def test_the_privileged_side_asks_the_host_again(self):
        self.port.hold()
        self.useFixture(fixtures.MockPatchObject(
            facts, 'check_touchable', _refuse))
        self.refused(errors.HasVirtualFunctions, self.port.admin,
                     structures.sanitize(4).pack())

    def test_a_host_without_privilege_lists_its_disks(self):
        self.assertIsInstance(privileged.Host().addresses(), tuple)
        self.assertEqual(ADDRESS, privileged.Host().port(ADDRESS).address)
        self.assertEqual('S1', privileged.Host().facts(
            [ADDRESS])[ADDRESS].serial)

    def test_threads_for_disks_that_hang(self):
        """CLEAN-26: one that hangs in the kernel must not stop the others."""
        found = subprocess.run(
            [sys.executable, '-W', 'ignore', '-c',
             'from cyborg.privsep import nvme; '
             'print(nvme.nvme_pctxt.conf.thread_pool_size)'],
            check=True, capture_output=True, text=True, timeout=300)
        self.assertEqual('32', found.stdout.strip())


def _silent(_address):
    raise comm.PrivsepTimeout()


def _refuse(_facts):
    raise errors.HasVirtualFunctions(ADDRESS, 3)

# SPDX-License-Identifier: Apache-2.0
"""What tests of others may rely on in the simulated disks."""

import os
import threading

from cyborg.nvme import errors
from cyborg.nvme import local
from cyborg.nvme import methods
from cyborg.nvme import records
from cyborg.nvme import structures
from cyborg.nvme.simulate import kernel as sim_kernel
from cyborg.nvme.simulate import world as sim_world
from cyborg.tests.unit.nvme import base

ADDRESS = base.ADDRESS


class WorldTest(base.DiskTestCase):

    def test_outlives_the_process(self):
        port = self.plug(sanitize_seconds=10.0)
        port.hold()
        port.write(1, 512, b'x' * 512)
        self.controller(port).sanitize(methods.Method.BLOCK_SANITIZE,
                                       lambda: None)
        port.release()
        again = sim_world.World(self.world.path, lambda: 1005.0)
        found = again.host().port(ADDRESS)
        self.assertEqual('S1', found.facts().serial)
        self.assertAlmostEqual(0.5, self.controller(
            found).sanitize_log().progress, places=2)
        self.assertIn('Sanitize', again.opcodes(ADDRESS))

    def test_a_real_process_that_dies_lets_go(self):
        self.plug()
        child = os.fork()
        if not child:
            try:
                self.world.host().port(ADDRESS).hold()
                os._exit(7)
            finally:
                os._exit(1)
        self.assertEqual(7, os.waitstatus_to_exitcode(
            os.waitpid(child, 0)[1]))
        self.world.host().port(ADDRESS).hold()

    def test_a_guest_that_outlives_it(self):
        """One that libvirt has started does not end with a service of ours.
        """
        self.plug()
        self.world.guest(ADDRESS)
        again = sim_world.World(self.world.path)
        self.assertRaises(errors.InUse, again.host().port(ADDRESS).hold)

    def test_no_guest_while_it_is_held(self):
        port = self.plug(driver='vfio-pci')
        port.hold()
        port.restore_binding(records.Binding('vfio-pci'))
        self.assertRaises(OSError, self.world.guest, ADDRESS)

    def test_an_unbind_that_never_returns_is_shown(self):
        self.plug()
        self.world.guest(ADDRESS)
        self.assertRaises(sim_world.BlocksForEver, self.world.unbind,
                          ADDRESS)

    def test_the_log_holds_what_everybody_did(self):
        port = self.plug()
        self.controller(port).inventory()
        self.assertEqual([], self.world.touched(ADDRESS))
        guest = self.world.guest(ADDRESS)
        guest.write(1, 0, bytes(512))
        guest.admin(structures.sanitize(2))
        self.assertEqual([{'write': 1, 'offset': 0, 'length': 512}, {
            'opcode': 0x84, 'nsid': 0, 'cdw10': 2, 'cdw11': 0, 'cntlid': 0}],
            self.world.touched(ADDRESS))

    def test_a_command_that_does_not_return(self):
        port = self.plug()
        self.world.break_(ADDRESS, blocks=True)
        port.hold()
        thread = threading.Thread(
            target=self.controller(port).sanitize,
            args=(methods.Method.BLOCK_SANITIZE, lambda: None))
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(self.world.unblocked.set)
        thread.join(0.2)
        self.assertTrue(thread.is_alive())
        other = self.plug('0000:02:00.0', 'S2')
        self.assertEqual('S2', self.controller(other).identify().serial)

    def test_one_erase_of_a_shared_subsystem_reaches_both(self):
        """Why such a disk is refused."""
        self.plug()
        self.world.add('0000:02:00.0', 'x', shares_with=ADDRESS)
        first, second = (self.world.guest(address, pid) for address, pid in (
            (ADDRESS, 1), ('0000:02:00.0', 2)))
        first.write(1, 0, base.SECRET)
        self.assertEqual(base.SECRET, second.read(1, 0, len(base.SECRET)))
        second.admin(structures.format_nvm(
            1, self.world.device(ADDRESS).namespaces()[0], 1, 0, 0))
        self.assertNotIn(b'secret', first.read(1, 0, 4096))

    def test_a_format_leaves_what_is_detached(self):
        """Why all is attached before."""
        self.plug(namespaces=2)
        guest = self.world.guest(ADDRESS)
        guest.write(2, 0, base.SECRET)
        one = guest.device.namespaces()[0]
        guest.admin(*structures.attach_namespace(2, 0, attach=False))
        guest.admin(structures.format_nvm(1, one, 1, 0, 0))
        guest.admin(*structures.attach_namespace(2, 0))
        self.assertIn(b'secret', guest.read(2, 0, 4096))


class KillTest(base.DiskTestCase):

    def calls(self, kill_at=None):
        """Names of all calls of a short life; killed at one of them."""
        seen = []

        def hook(stage, call):
            seen.append((stage, call))
            if len(seen) - 1 == kill_at:
                raise sim_kernel.Killed(call)

        kernel = self.world.kernel(hook)
        try:
            port = local.Host(kernel).port(ADDRESS)
            port.hold()
            port.write(1, 0, base.SECRET[:512])
            disk = self.controller(port)
            disk.sanitize(methods.Method.CRYPTO_SANITIZE, lambda: None)
            port.restore_binding(records.Binding('vfio-pci', 'vfio-pci'))
        except sim_kernel.Killed:
            pass
        finally:
            kernel.die()
        return seen

    def test_before_and_after_every_call(self):
        """CLEAN-24: after a kill anywhere, a new process can go on."""
        self.plug(driver='vfio-pci')
        every = self.calls()
        self.assertIn(('before', 'Sanitize'), every)
        self.assertIn(('after', 'write'), every)
        self.assertIn(('before', 'bus/pci/drivers_probe'), every)
        for number, call in enumerate(every):
            self.another_host()
            self.plug(driver='vfio-pci')
            self.assertEqual(call, self.calls(number)[-1])
            port = self.world.host().port(ADDRESS)
            port.hold()
            port.check_hold()
            port.restore_binding(records.Binding('vfio-pci', 'vfio-pci'))
            port.release()
            self.world.guest(ADDRESS)

    def test_nothing_of_ours_can_catch_it(self):
        self.assertFalse(issubclass(sim_kernel.Killed, Exception))

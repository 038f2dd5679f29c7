# SPDX-License-Identifier: Apache-2.0
"""Exclusive holds and driver bindings, on a simulated kernel."""

import os

from cyborg.nvme import errors
from cyborg.nvme import local
from cyborg.nvme import port as nvme_port
from cyborg.nvme import records
from cyborg.nvme import structures
from cyborg.tests.unit.nvme import base

ADDRESS = base.ADDRESS
MISSING = '0000:02:00.0'
SANITIZE = structures.sanitize(4).pack()


class HoldTest(base.DiskTestCase):
    """CLEAN-14: a disk that anybody has is not touched."""

    def test_all_namespaces_and_let_go(self):
        port = self.plug(namespaces=2)
        self.assertEqual(
            (nvme_port.Held(1, 'nvme0n1', 524288),
             nvme_port.Held(2, 'nvme0n2', 524288)), port.hold())
        port.check_hold()
        other = self.world.host().port(ADDRESS)
        self.assertIn('exclusive opener: /dev/nvme0n1 is open elsewhere',
                      self.refused(errors.InUse, other.hold))
        port.release()
        other.hold()

    def test_a_process_that_was_killed_holds_nothing(self):
        kernel = self.world.kernel()
        self.plug()
        local.Host(kernel).port(ADDRESS).hold()
        kernel.die()
        self.world.host().port(ADDRESS).hold()

    def test_all_or_none(self):
        port = self.plug(namespaces=2)
        self.world.mount('nvme0n2', '/srv')
        self.refused(errors.InUse, port.hold)
        self.world.unmount('nvme0n2')
        other = self.world.host().port(ADDRESS)
        self.assertEqual(2, len(other.hold()))

    def test_mounted(self):
        port = self.plug()
        self.world.mount('nvme0n1', '/srv')
        self.assertEqual(
            'NVMe disk 0000:01:00.0: it is in use and was not touched: '
            'mount: /srv on nvme0n1.', self.refused(errors.InUse, port.hold))

    def test_other_uses_have_names(self):
        for use, text in (
                (lambda: self.world.mount('nvme0n1', '/boot'),
                 'boot disk: /boot on nvme0n1'),
                (lambda: self.world.swap_on('nvme0n1'),
                 'swap: /dev/nvme0n1'),
                (lambda: self.world.put_on_top('nvme0n1'),
                 'holder: dm-0 (vg-lv) on nvme0n1'),
                (lambda: self.world.open_by(7, 'dd', 'nvme0n1'),
                 'opener: dd (process 7) has /dev/nvme0n1'),
                (lambda: self.world.open_by(7, 'fio', 'ng0n1'),
                 'opener: fio (process 7) has /dev/ng0n1')):
            self.another_host()
            port = self.plug()
            use()
            self.assertIn(text, self.refused(errors.InUse, port.hold))

    def test_a_guest_has_it(self):
        """CLEAN-22: a disk that vfio holds never gets an unbind."""
        port = self.plug()
        guest = self.world.guest(ADDRESS)
        binding = port.facts().binding
        self.assertEqual(
            'NVMe disk 0000:01:00.0: it is in use and was not touched: vfio: '
            'qemu-system-x86 (process 4711) has /dev/vfio/100.',
            self.refused(errors.InUse, port.hold))
        self.assertEqual(binding, port.facts().binding)
        guest.leave()
        port.hold()

    def test_a_group_that_is_open_without_a_name(self):
        """The world raises, and no test catches it, if it were unbound."""
        port = self.plug(driver='vfio-pci')
        self.world.claim('vfio/100')
        self.assertIn('vfio: /dev/vfio/100 is open elsewhere',
                      self.refused(errors.InUse, port.hold))
        self.assertEqual('vfio-pci', port.facts().binding.driver)

    def test_a_character_device_of_vfio_is_open(self):
        port = self.plug(driver='vfio-pci')
        self.world.open_by(9, 'qemu', 'vfio/devices/vfio0')
        self.assertIn('vfio: qemu (process 9) has /dev/vfio/devices/vfio0',
                      self.refused(errors.InUse, port.hold))

    def test_without_a_group_there_is_no_lock(self):
        port = self.plug(driver='vfio-pci')
        os.unlink(self.world.at('dev/vfio/100'))
        self.assertIn('it has the driver vfio-pci and no /dev/vfio group '
                      'that could be held', self.refused(errors.InUse,
                                                         port.hold))

    def test_while_it_is_held_no_guest_starts(self):
        port = self.plug(driver='vfio-pci')
        before = port.facts().binding
        port.hold()
        port.restore_binding(before)
        self.assertRaises(OSError, self.world.kernel().open_group,
                          'vfio/100')
        port.release()
        self.world.kernel().open_group('vfio/100')

    def test_what_is_no_disk_of_ours(self):
        """CLEAN-4, CLEAN-16"""
        port = self.plug(totalvfs=4)
        self.world._tree.add('0000:01:00.1', 0x144d, 0xa808, 0x010802,
                             physfn=ADDRESS)
        self.world._tree.add('0000:03:00.0', 0x8086, 1, 0x020000)
        host = self.world.host()
        self.assertEqual(
            'NVMe disk 0000:01:00.0: it has 1 VFs, whose data an erase would '
            'destroy too. Write 0 to its sriov_numvfs first.',
            self.refused(errors.HasVirtualFunctions, port.hold))
        for address, cls, text in (
                ('0000:01:00.1', errors.IsVirtualFunction,
                 'it is a VF of 0000:01:00.0; an erase would reach the other '
                 'VFs. Take it out of device_spec.'),
                ('0000:03:00.0', errors.NotNvme, 'its class is 020000'),
                (MISSING, errors.Absent, 'it is not there')):
            error = self.assertRaises(cls, host.port(address).hold)
            self.assertIn(text, str(error))

    def test_shared_subsystem(self):
        """CLEAN-16"""
        port = self.plug()
        self.world.add(MISSING, 'S2', shares_with=ADDRESS)
        self.assertEqual(
            'NVMe disk 0000:01:00.0: its NVM subsystem '
            'nqn.2014-08.org.nvmexpress:uuid:sim-S1 has another controller '
            '(nvme1 (0000:02:00.0)), and an erase would destroy the data of '
            'both. Take it out of device_spec.',
            self.refused(errors.SharedSubsystem, port.hold))

    def test_a_controller_that_is_not_live(self):
        port = self.plug()
        with open(self.world.at('sys/class/nvme/nvme0/state'), 'w') as file:
            file.write('resetting\n')
        self.assertIn('its controller is not live', self.refused(
            errors.NotReady, port.hold))

    def test_write_protected(self):
        """CLEAN-21: one that is protected can be held, not written."""
        port = self.plug()
        guest = self.world.guest(ADDRESS)
        guest.admin(structures.write_protection(1, protect=True))
        guest.leave()
        port.hold()
        self.assertRaises(errors.DiskFailed, port.write, 1, 0, bytes(512))
        port.admin(structures.write_protection(1, protect=False).pack())
        port.hold()
        port.write(1, 0, bytes(512))


class BrokenTest(base.DiskTestCase):
    """CLEAN-23: the lock must not break."""

    def test_nothing_is_held(self):
        port = self.plug()
        for call, args in ((port.check_hold, ()), (port.read, (1, 0, 512)),
                           (port.write, (1, 0, bytes(512))),
                           (port.admin, (SANITIZE,))):
            self.refused(errors.NotHeld, call, *args)

    def test_unbound_below_us(self):
        port = self.plug()
        port.hold()
        self.world.unbind(ADDRESS)
        self.assertIn('its driver is gone', self.refused(
            errors.LockBroken, port.check_hold))
        self.refused(errors.LockBroken, port.admin, SANITIZE)
        self.assertEqual(
            'NVMe disk 0000:01:00.0: reading byte 0 of namespace 1 gave 0 of '
            '512 bytes. The disk, or its driver, went away meanwhile.',
            self.refused(errors.ShortTransfer, port.read, 1, 0, 512))

    def test_bound_anew_below_us(self):
        port = self.plug()
        port.hold()
        self.world.unbind(ADDRESS)
        self.world.probe(ADDRESS)
        self.assertIn('namespace 1 has no size any more', self.refused(
            errors.LockBroken, port.check_hold))
        self.refused(errors.ShortTransfer, port.read, 1, 0, 512)

    def test_a_namespace_came(self):
        port = self.plug(namespaces=2)
        device = self.world.device(ADDRESS)
        command, data = structures.attach_namespace(2, 0, attach=False)
        device.admin(command.pack(), data)
        self.world.publish(ADDRESS)
        port.hold()
        command, data = structures.attach_namespace(2, 0)
        device.admin(command.pack(), data)
        self.world.publish(ADDRESS)
        self.assertIn('namespaces 1 are held, and 1, 2 are there',
                      self.refused(errors.LockBroken, port.check_hold))
        port.hold()
        port.check_hold()

    def test_used_while_it_is_held(self):
        """CLEAN-13: asked again directly before each such command."""
        port = self.plug()
        port.hold()
        self.world._proc('self/mountinfo',
                         '25 1 259:1 / /srv rw - ext4 /dev/nvme0n1 rw\n')
        self.assertIn('mount: /srv', self.refused(errors.InUse, port.admin,
                                                  SANITIZE))

    def test_what_is_never_sent(self):
        port = self.plug()
        port.hold()
        self.refused(errors.UnsafeCommand, port.admin,
                     structures.Command(structures.FORMAT_NVM, 1).pack())

    def test_dead(self):
        port = self.plug()
        self.world.break_(ADDRESS, dead=True)
        self.assertEqual(
            'NVMe disk 0000:01:00.0: Identify failed with ENODEV (No such '
            'device).', self.refused(errors.DiskFailed, port.admin,
                                     structures.identify(1).pack()))

    def test_pulled(self):
        """CLEAN-15"""
        port = self.plug()
        port.hold()
        self.world.remove(ADDRESS)
        self.assertRaises(errors.LockBroken, port.check_hold)
        self.assertRaises(errors.Absent, port.admin,
                          structures.identify(1).pack())
        self.assertFalse(port.facts().present)


class BindingTest(base.DiskTestCase):
    """CLEAN-22"""

    def test_put_back_and_checked(self):
        port = self.plug(driver='vfio-pci')
        self.world.override(ADDRESS, 'vfio-pci')
        before = port.facts().binding
        self.assertEqual(records.Binding('vfio-pci', 'vfio-pci'), before)
        port.hold()
        self.assertEqual(records.Binding('nvme', 'vfio-pci'),
                         port.facts().binding)
        port.restore_binding(before)
        self.assertEqual(before, port.facts().binding)

    def test_a_refused_hold_leaves_it_as_it_was(self):
        port = self.plug(driver='vfio-pci')
        self.world.claim('nvme0n1')
        before = port.facts().binding
        self.refused(errors.InUse, port.hold)
        self.assertEqual(before, port.facts().binding)
        self.world.kernel().open_group('vfio/100')

    def test_only_the_override_differs(self):
        port = self.plug()
        port.hold()
        port.restore_binding(records.Binding('nvme', 'vfio-pci'))
        self.assertEqual('vfio-pci', port.facts().binding.override)
        port.check_hold()
        port.restore_binding(records.Binding('nvme'))
        self.assertIsNone(port.facts().binding.override)

    def test_not_put_back_while_somebody_has_it(self):
        port = self.plug()
        self.world.mount('nvme0n1', '/srv')
        self.refused(errors.InUse, port.restore_binding,
                     records.Binding('vfio-pci'))
        self.assertEqual('nvme', port.facts().binding.driver)

    def test_another_driver_than_asked_for(self):
        port = self.plug()
        self.world._bind = lambda address, driver: None
        error = self.assertRaises(
            errors.BindingNotRestored, port.restore_binding,
            records.Binding('vfio-pci', 'vfio-pci'))
        self.assertEqual(
            'NVMe disk 0000:01:00.0: its driver is none with driver_override '
            'vfio-pci, and vfio-pci with vfio-pci was to be put back. Bind '
            'it by hand.', str(error))

# SPDX-License-Identifier: Apache-2.0
"""CLEAN-13: a refusal names the disk, what was found, and the way out."""

from cyborg.nvme import errors
from cyborg.nvme import records
from cyborg.tests import base

DISK = '0000:01:00.0 (serial S1)'


class TextTest(base.TestCase):

    def test_texts(self):
        for error, text in (
                (errors.Absent(DISK), 'it is not there. Look for it with '
                 '"lspci" and in the kernel log.'),
                (errors.NotNvme(DISK, 0x20000), 'its class is 020000, and '
                 'only NVMe I/O controllers (010802) are ever touched. '
                 'Correct the entry of device_spec that selects it.'),
                (errors.NoDriver(DISK, None), 'it is bound to no driver, not '
                 'to the nvme driver, so the host cannot talk to it.'),
                (errors.NoDriver(DISK, 'vfio-pci'), 'it is bound to '
                 'vfio-pci, not to the nvme driver, so the host cannot talk '
                 'to it.'),
                (errors.NotReady(DISK, 'not live'), 'its controller is not '
                 'live. Look into the kernel log.'),
                (errors.InUse(DISK, (records.Use('swap', '/dev/a'),
                                     records.Use('mount', '/b on c'))),
                 'it is in use and was not touched: swap: /dev/a; mount: /b '
                 'on c.'),
                (errors.HasVirtualFunctions(DISK, 2), 'it has 2 VFs, whose '
                 'data an erase would destroy too. Write 0 to its '
                 'sriov_numvfs first.'),
                (errors.IsVirtualFunction(DISK, '0000:01:00.1'), 'it is a VF '
                 'of 0000:01:00.1; an erase would reach the other VFs. Take '
                 'it out of device_spec.'),
                (errors.SharedSubsystem(DISK, '', ('controller 1',)),
                 'its NVM subsystem (unnamed) has another controller '
                 '(controller 1), and an erase would destroy the data of '
                 'both. Take it out of device_spec.'),
                (errors.WrongDisk(DISK, 'serial', 'S0', 'S1'), 'another disk '
                 'stands at this address: its serial is S1, and S0 was '
                 'expected. It was not touched.'),
                (errors.NotHeld(DISK, 'this'), 'this needs an exclusive hold '
                 'of every namespace and there is none.'),
                (errors.LockBroken(DISK, 'its driver is gone'), 'it changed '
                 'hands while it was held: its driver is gone. Nothing that '
                 'was verified counts; it will be cleaned again.'),
                (errors.UnsafeCommand(DISK, 'x'), 'x is never sent.'),
                (errors.CommandFailed(DISK, 'Sanitize', 0x401d), 'Sanitize '
                 'ended with status 01d (Sanitize In Progress).'),
                (errors.CommandFailed(DISK, 'Sanitize', 0x7ff), 'Sanitize '
                 'ended with status 7ff (see the base specification).'),
                (errors.DiskFailed(DISK, 'reading', OSError(5, 'x')),
                 'reading failed with EIO (Input/output error).'),
                (errors.ShortTransfer(DISK, 'reading', 0, 512), 'reading '
                 'gave 0 of 512 bytes. The disk, or its driver, went away '
                 'meanwhile.'),
                (errors.SanitizeFailed(DISK, 'failed'), 'the sanitize '
                 'operation ended as failed. The disk refuses reads until '
                 'one succeeds; try again, or replace it.'),
                (errors.SanitizeNotOurs(DISK, 4, 2), 'its sanitize log '
                 'speaks of command dword 00000002, and ours was 00000004. '
                 'It counts as not erased.'),
                (errors.NotErased(DISK, 1, 0, 'a block'), 'it reported '
                 'success and is not erased: a block at byte 0 of namespace '
                 '1 can still be read. Do not give it to anybody; replace '
                 'it.'),
                (errors.WriteLost(DISK, 1, 512), 'a block written to byte '
                 '512 of namespace 1 was read back otherwise, so no erase of '
                 'it can be verified. Replace it.'),
                (errors.Changed(DISK, ('a', 'b')), 'it is not as it was '
                 'recorded: a; b.'),
                (errors.Unhealthy(DISK, 'it warns'), 'it warns. Replace it.'),
                (errors.BindingNotRestored(
                    DISK, records.Binding('a'), records.Binding(None, 'b')),
                 'its driver is none with driver_override b, and a with '
                 'unset was to be put back. Bind it by hand.')):
            self.assertEqual('NVMe disk %s: %s' % (DISK, text), str(error))
            self.assertEqual(DISK, error.disk)

    def test_reasons_tell_errors_apart(self):
        """States and metrics count by them."""
        reasons = [each.reason for each in errors.NvmeError.__subclasses__()]
        self.assertEqual(len(reasons), len(set(reasons)))

    def test_do_not_retry(self):
        self.assertTrue(errors.CommandFailed(DISK, 'x', 0x4002).final)
        self.assertFalse(errors.CommandFailed(DISK, 'x', 0x0002).final)

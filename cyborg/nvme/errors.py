# SPDX-License-Identifier: Apache-2.0
"""What can be wrong with a disk, or with what was asked of it.

Each text names the disk, what was found, and the way out. ``reason`` of a
class is a short word that stays the same, for states and metrics.
"""

import errno
import os

from cyborg.nvme import records


class NvmeError(Exception):
    """Base of the errors of one disk.

    :ivar disk: address and, where known, serial of the disk.
    :ivar transient: another try may succeed without a person.
    """

    reason = 'nvme error'
    transient = False

    def __init__(self, disk: str, text: str):
        super().__init__('NVMe disk %s: %s' % (disk, text))
        self.disk = disk


class Absent(NvmeError):
    """There is no such PCI function, or it went away."""

    reason = 'absent'

    def __init__(self, disk: str):
        super().__init__(disk, 'it is not there. Look for it with "lspci" '
                         'and in the kernel log.')


class NotNvme(NvmeError):
    reason = 'no NVMe controller'

    def __init__(self, disk: str, class_code: int):
        super().__init__(
            disk, 'its class is %06x, and only NVMe I/O controllers (010802) '
            'are ever touched. Correct the entry of device_spec that selects '
            'it.' % class_code)


class NoDriver(NvmeError):
    """The nvme driver does not have the disk, so nothing can be asked."""

    reason = 'no driver'

    def __init__(self, disk: str, driver: str | None):
        super().__init__(
            disk, 'it is bound to %s, not to the nvme driver, so the host '
            'cannot talk to it.' % (driver or 'no driver'))


class NotReady(NvmeError):
    """The controller is there and does not answer yet, or any more."""

    reason = 'not ready'
    transient = True

    def __init__(self, disk: str, what: str):
        super().__init__(
            disk, 'its controller is %s. Look into the kernel log.' % what)


class InUse(NvmeError):
    """Somebody has the disk: it is not touched."""

    reason = 'in use'
    transient = True

    def __init__(self, disk: str, uses: tuple[records.Use, ...]):
        super().__init__(disk, 'it is in use and was not touched: %s.' %
                         '; '.join('%s: %s' % (use.kind, use.holder)
                                   for use in uses))
        self.uses = tuple(uses)


class HasVirtualFunctions(NvmeError):
    reason = 'virtual functions'

    def __init__(self, disk: str, vfs: int):
        super().__init__(
            disk, 'it has %d VFs, whose data an erase would destroy too. '
            'Write 0 to its sriov_numvfs first.' % vfs)


class IsVirtualFunction(NvmeError):
    reason = 'virtual function'

    def __init__(self, disk: str, physfn: str):
        super().__init__(
            disk, 'it is a VF of %s; an erase would reach the other VFs. '
            'Take it out of device_spec.' % physfn)


class SharedSubsystem(NvmeError):
    """Another controller reaches the same namespaces."""

    reason = 'shared subsystem'

    def __init__(self, disk: str, subnqn: str, others: tuple[str, ...]):
        super().__init__(
            disk, 'its NVM subsystem %s has another controller (%s), and an '
            'erase would destroy the data of both. Take it out of '
            'device_spec.' % (subnqn or '(unnamed)', ', '.join(others)))
        self.others = tuple(others)


class WrongDisk(NvmeError):
    """Another disk than the one that was meant."""

    reason = 'another disk'

    def __init__(self, disk: str, field: str, expected: str, found: str):
        super().__init__(
            disk, 'another disk stands at this address: its %s is %s, and %s '
            'was expected. It was not touched.' % (field, found, expected))


class NotHeld(NvmeError):
    """A write or an erase was asked for without an exclusive hold.

    As when the process that held the disk has ended.
    """

    reason = 'not held'
    transient = True

    def __init__(self, disk: str, what: str):
        super().__init__(disk, '%s needs an exclusive hold of every namespace '
                         'and there is none.' % what)


class LockBroken(NvmeError):
    """What was held is not the same any more."""

    reason = 'lock broken'
    transient = True

    def __init__(self, disk: str, what: str):
        super().__init__(
            disk, 'it changed hands while it was held: %s. Nothing that was '
            'verified counts; it will be cleaned again.' % what)


class UnsafeCommand(NvmeError):
    """A command that is never sent."""

    reason = 'unsafe command'

    def __init__(self, disk: str, what: str):
        super().__init__(disk, '%s is never sent.' % what)


class CommandFailed(NvmeError):
    """The controller answered a command with an error status.

    :ivar status: status code type and status code, ``0x0`` to ``0x7ff``,
        with the kernel's further bits taken off.
    """

    reason = 'command failed'

    def __init__(self, disk: str, command: str, status: int):
        self.command = command
        self.status = status & 0x7ff
        #: The Do Not Retry bit.
        self.final = bool(status & 0x4000)
        super().__init__(disk, '%s ended with status %03x (%s).' % (
            command, self.status, STATUSES.get(
                self.status, 'see the base specification')))


class DiskFailed(NvmeError):
    """The kernel or the disk failed a command, a read or a write."""

    reason = 'i/o error'

    def __init__(self, disk: str, what: str, error: OSError):
        self.errno = error.errno
        super().__init__(disk, '%s failed with %s (%s).' % (
            what, errno.errorcode.get(error.errno or 0, error.errno),
            os.strerror(error.errno or 0)))


class ShortTransfer(NvmeError):
    """Fewer bytes than asked for: the disk went away below us."""

    reason = 'short read'

    def __init__(self, disk: str, what: str, got: int, wanted: int):
        super().__init__(
            disk, '%s gave %d of %d bytes. The disk, or its driver, went '
            'away meanwhile.' % (what, got, wanted))


class NoMethod(NvmeError):
    """The disk cannot do what is asked for; nothing weaker is done."""

    reason = 'no method'

    def __init__(self, disk: str, action: str, strategy: str,
                 refusals: tuple[tuple[str, str], ...]):
        super().__init__(
            disk, 'with clear_action %s and clear_strategy %s it cannot be '
            'erased: %s. Choose others in its entry of device_spec; nothing '
            'weaker is done by itself.' % (action, strategy, '; '.join(
                '%s: %s' % pair for pair in refusals)))
        self.refusals = refusals


class SanitizeFailed(NvmeError):
    reason = 'sanitize failed'

    def __init__(self, disk: str, status: str):
        super().__init__(
            disk, 'the sanitize operation ended as %s. The disk refuses '
            'reads until one succeeds; try again, or replace it.' % status)


class SanitizeNotOurs(NvmeError):
    """The sanitize log speaks of another operation than the one we began."""

    reason = 'sanitize not ours'

    def __init__(self, disk: str, expected: int, found: int):
        super().__init__(
            disk, 'its sanitize log speaks of command dword %08x, and ours '
            'was %08x. It counts as not erased.' % (found, expected))


class WrittenSinceSanitize(NvmeError):
    """The controller does not say that nothing was written since."""

    reason = 'written since sanitize'

    def __init__(self, disk: str):
        super().__init__(
            disk, 'its sanitize has succeeded, and its log does not say that '
            'nothing was written since (Global Data Erased). It counts as '
            'not erased.')


class NotErased(NvmeError):
    """Data that was there before can still be read."""

    reason = 'not erased'

    def __init__(self, disk: str, nsid: int, offset: int, what: str):
        super().__init__(
            disk, 'it reported success and is not erased: %s at byte %d of '
            'namespace %d can still be read. Do not give it to anybody; '
            'replace it.' % (what, offset, nsid))


class WriteLost(NvmeError):
    """A canary could not be read back after it was written."""

    reason = 'write lost'

    def __init__(self, disk: str, nsid: int, offset: int):
        super().__init__(
            disk, 'a block written to byte %d of namespace %d was read back '
            'otherwise, so no erase of it can be verified. Replace it.'
            % (offset, nsid))


class NothingToVerify(NvmeError):
    reason = 'nothing to verify'

    def __init__(self, disk: str):
        super().__init__(
            disk, 'it has no namespace that can be written and read, so no '
            'erase can be verified. Create and attach one, or let the '
            'recorded layout be restored.')


class Changed(NvmeError):
    """The disk is not as recorded, and that was not or can't be put back."""

    reason = 'not as recorded'

    def __init__(self, disk: str, differences: tuple[str, ...]):
        super().__init__(disk, 'it is not as it was recorded: %s.' %
                         '; '.join(differences))
        self.differences = tuple(differences)


class Unhealthy(NvmeError):
    reason = 'unhealthy'

    def __init__(self, disk: str, what: str):
        super().__init__(disk, '%s. Replace it.' % what)


class BindingNotRestored(NvmeError):
    reason = 'binding not restored'

    def __init__(self, disk: str, expected: records.Binding,
                 found: records.Binding):
        super().__init__(
            disk, 'its driver is %s with driver_override %s, and %s with %s '
            'was to be put back. Bind it by hand.' % (
                found.driver or 'none', found.override or 'unset',
                expected.driver or 'none', expected.override or 'unset'))


#: Status code type in bits 10:8, status code in bits 7:0.
STATUSES = {
    0x001: 'Invalid Command Opcode',
    0x002: 'Invalid Field in Command',
    0x004: 'Data Transfer Error',
    0x006: 'Internal Error',
    0x007: 'Command Abort Requested',
    0x00b: 'Invalid Namespace or Format',
    0x00c: 'Command Sequence Error',
    0x01c: 'Sanitize Failed',
    0x01d: 'Sanitize In Progress',
    0x020: 'Namespace is Write Protected',
    0x082: 'Namespace Not Ready',
    0x084: 'Format In Progress',
    0x10a: 'Invalid Format',
    0x10e: 'Feature Not Changeable',
    0x115: 'Namespace Insufficient Capacity',
    0x116: 'Namespace Identifier Unavailable',
    0x118: 'Namespace Already Attached',
    0x119: 'Namespace Is Private',
    0x11a: 'Namespace Not Attached',
    0x11b: 'Thin Provisioning Not Supported',
    0x11f: 'Invalid Controller Identifier',
    0x123: 'Sanitize Prohibited While Persistent Memory Region is Enabled',
    0x280: 'Write Fault',
    0x281: 'Unrecovered Read Error',
    0x286: 'Access Denied',
}

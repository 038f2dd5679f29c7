# SPDX-License-Identifier: Apache-2.0
"""A disk of the host on which this process runs.

All that is decided about opens, holds and bindings stands here, over the few
calls of a :class:`cyborg.nvme.port.Kernel`: Linux, or a simulated one.
"""

from collections.abc import Iterable
import dataclasses
import errno
import os
import time

from cyborg.nvme import binding
from cyborg.nvme import errors
from cyborg.nvme import facts as nvme_facts
from cyborg.nvme import port as nvme_port
from cyborg.nvme import records
from cyborg.nvme import safety
from cyborg.nvme import structures

#: For a controller that is bound anew, and for namespaces to show.
READY_SECONDS = 60
_PAUSE = 0.1
_NVME = 'nvme'
#: What a call gives whose device went away below it.
_GONE = (errno.ENODEV, errno.ENXIO)
_GROUPS = ('vfio/%s', 'vfio/noiommu-%s')


@dataclasses.dataclass
class _Open:
    """A namespace that we have open for us alone."""

    block: records.BlockDevice
    handle: int
    writable: bool


class Host:
    """The disks that a kernel has."""

    def __init__(self, kernel: nvme_port.Kernel):
        self.kernel = kernel

    def addresses(self) -> tuple[str, ...]:
        return nvme_facts.addresses(self.kernel.roots)

    def facts(self, addresses: Iterable[str]) -> dict[str, records.Facts]:
        return nvme_facts.read_all(self.kernel.roots, addresses,
                                   own_pids=self.kernel.pids())

    def port(self, address: str) -> 'Port':
        return Port(self.kernel, address)


class Port:
    """Keeps the contract of :class:`cyborg.nvme.port.Port`."""

    def __init__(self, kernel: nvme_port.Kernel, address: str):
        self.address = address
        self._kernel = kernel
        self._roots = kernel.roots
        self._open: dict[int, _Open] = {}
        self._group: int | None = None
        self._holding = False

    def facts(self) -> records.Facts:
        return nvme_facts.read(self._roots, self.address,
                               own_pids=self._kernel.pids())

    # Commands.

    def admin(self, command: bytes,
              data: bytes = b'') -> nvme_port.Completion:
        found = safety.check(self.address, command, data)
        if not found.reads_only:
            self.check_hold()
            nvme_facts.await_touchable(self.facts)
        handle = self._controller()
        number = self._kernel.number(handle)
        try:
            return self._kernel.admin(handle, command, data)
        except OSError as error:
            raise self._failure(found.name, error, number) from None
        finally:
            self._kernel.close(handle)

    def _failure(self, what: str, error: OSError,
                 number: str) -> errors.NvmeError:
        """A disk that fails, or a node that is no longer its own."""
        name = nvme_facts.controller_name(self._roots, self.address)
        if error.errno in _GONE and self._controller_number(name) != number:
            return errors.NotReady(self.address, 'being replaced')
        return errors.DiskFailed(self.address, what, error)

    def _controller_number(self, name: str | None) -> str | None:
        return nvme_facts.first_line(os.path.join(
            self._roots.sys, 'class/nvme', name or '-', 'dev'))

    def _controller(self) -> int:
        """Open the controller's character device; never another one's."""
        name = nvme_facts.controller_name(self._roots, self.address)
        if name is None:
            if not os.path.exists(self._roots.pci(self.address)):
                raise errors.Absent(self.address)
            raise errors.NoDriver(self.address, self._driver())
        number = self._controller_number(name)
        try:
            handle = self._kernel.open_controller(name)
        except OSError as error:
            raise errors.DiskFailed(self.address, 'opening /dev/%s' % name,
                                    error) from None
        self._check_number(handle, number)
        return handle

    def _check_number(self, handle, number):
        """A node may be left over from another device of the same name."""
        if self._kernel.number(handle) != number:
            self._kernel.close(handle)
            raise errors.NotReady(self.address, 'being replaced')

    def _driver(self) -> str | None:
        return nvme_facts.binding(self._roots, self.address).driver

    # The hold.

    def hold(self) -> tuple[nvme_port.Held, ...]:
        facts = nvme_facts.await_touchable(self.facts)
        began = not self._holding
        try:
            self._hold_group(facts)
            if facts.binding.driver != _NVME:
                binding.move(self._kernel, self.address, records.Binding(
                    _NVME, facts.binding.override))
            self._wait(self._live, 'not live')
            self._hold_blocks()
        except errors.NvmeError:
            if began:
                self._back_out(facts.binding)
            raise
        self._holding = True
        return tuple(nvme_port.Held(nsid, each.block.name, each.block.size)
                     for nsid, each in sorted(self._open.items()))

    def _back_out(self, before):
        self._close_blocks()
        if nvme_facts.binding(self._roots, self.address) != before:
            binding.move(self._kernel, self.address, before)
        self.release()

    def _hold_group(self, facts):
        """Keep guests from the disk: one opener of a group at a time."""
        if self._group is not None:
            return
        for form in _GROUPS:
            name = form % facts.iommu_group
            if facts.iommu_group is not None and os.path.exists(
                    os.path.join(self._roots.dev, name)):
                try:
                    self._group = self._kernel.open_group(name)
                except OSError as error:
                    self._refuse(error, name, 'vfio')
                return
        if facts.vfio_device is not None:
            # Its character device, opened by us, would let the unbind wait
            # for ourselves; without a group there is no other lock.
            raise errors.InUse(self.address, (records.Use(
                'vfio', 'it has the driver %s and no /dev/vfio group that '
                'could be held; bind it to the nvme driver'
                % facts.binding.driver),))

    def _refuse(self, error: OSError, name: str, kind: str):
        if error.errno != errno.EBUSY:
            raise errors.DiskFailed(self.address, 'opening /dev/%s' % name,
                                    error) from None
        raise errors.InUse(self.address, self.facts().uses or (records.Use(
            kind, '/dev/%s is open elsewhere' % name),)) from None

    def _hold_blocks(self):
        """Take what is there; let go of what went or can't be written."""
        present = {each.nsid: each for each in self._blocks()}
        for nsid, each in tuple(self._open.items()):
            gone = nsid not in present or (
                present[nsid].number != each.block.number)
            if gone or not each.writable:
                self._kernel.close(self._open.pop(nsid).handle)
        for shown, block in present.items():
            if shown is None:
                raise errors.NotReady(
                    self.address, 'silent about the id of %s' % block.name)
            if shown in self._open:
                self._open[shown].block = block
            else:
                self._open[shown] = self._await_block(block)

    def _blocks(self) -> tuple[records.BlockDevice, ...]:
        return nvme_facts.block_devices(self._roots, self.address)

    def _await_block(self, block) -> _Open:
        """Hold it, once those who have it for a moment are gone."""
        limit = time.monotonic() + nvme_facts.OPENER_SECONDS
        while True:
            try:
                return self._hold_block(block)
            except errors.InUse as error:
                if (not nvme_facts.passing(error.uses)
                        or time.monotonic() > limit):
                    raise
            time.sleep(_PAUSE)

    def _hold_block(self, block) -> _Open:
        try:
            handle, writable = self._kernel.open_block(block.name,
                                                       True), True
        except OSError as error:
            # One that is write-protected can be held all the same.
            if error.errno not in (errno.EACCES, errno.EROFS, errno.EPERM):
                self._refuse(error, block.name, 'exclusive opener')
            try:
                handle, writable = self._kernel.open_block(block.name,
                                                           False), False
            except OSError as second:
                self._refuse(second, block.name, 'exclusive opener')
        self._check_number(handle, block.number)
        return _Open(block, handle, writable)

    def check_hold(self) -> None:
        if not self._holding:
            raise errors.NotHeld(self.address, 'what destroys data')
        driver = self._driver()
        if driver != _NVME:
            raise errors.LockBroken(self.address, 'its driver is %s' % (
                driver or 'gone'))
        present = {each.nsid: each.number for each in self._blocks()}
        held = {nsid: each.block.number
                for nsid, each in self._open.items()}
        if present != held:
            raise errors.LockBroken(
                self.address, 'namespaces %s are held, and %s are there' % (
                    _numbers(held), _numbers(present)))
        for nsid, each in self._open.items():
            if not self._size(each.handle):
                raise errors.LockBroken(
                    self.address, 'namespace %d has no size any more' % nsid)

    def _size(self, handle) -> int:
        try:
            return self._kernel.size(handle)
        except OSError:
            # The disk is gone: nothing can be read of it.
            return 0

    def release(self) -> None:
        self._holding = False
        self._close_blocks()
        if self._group is not None:
            self._kernel.close(self._group)
            self._group = None

    def _close_blocks(self):
        while self._open:
            self._kernel.close(self._open.popitem()[1].handle)

    # Blocks.

    def read(self, nsid: int, offset: int, length: int) -> bytes:
        what = 'reading byte %d of namespace %d' % (offset, nsid)
        try:
            data = self._kernel.read(self._held(nsid, what), offset, length)
        except OSError as error:
            raise errors.DiskFailed(self.address, what, error) from None
        if len(data) != length:
            raise errors.ShortTransfer(self.address, what, len(data), length)
        return data

    def write(self, nsid: int, offset: int, data: bytes) -> None:
        what = 'writing byte %d of namespace %d' % (offset, nsid)
        try:
            put = self._kernel.write(self._held(nsid, what), offset, data)
        except OSError as error:
            raise errors.DiskFailed(self.address, what, error) from None
        if put != len(data):
            raise errors.ShortTransfer(self.address, what, put, len(data))

    def _held(self, nsid, what) -> int:
        if nsid not in self._open:
            raise errors.NotHeld(self.address, what)
        return self._open[nsid].handle

    # The host's view.

    def rescan(self, nsids: tuple[int, ...]) -> None:
        handle = self._controller()
        number = self._kernel.number(handle)
        try:
            self._kernel.rescan(handle)
        except OSError as error:
            raise self._failure('a rescan', error, number) from None
        finally:
            self._kernel.close(handle)
        self._wait(lambda: self._shows(nsids), 'not showing namespaces %s' %
                   _numbers(nsids))

    def restore_binding(self, wanted: records.Binding) -> None:
        facts = self.facts()
        if not facts.present:
            raise errors.Absent(self.address)
        if facts.binding.driver != wanted.driver:
            self._change_driver(facts, wanted)
        elif facts.binding != wanted:
            binding.move(self._kernel, self.address, wanted)

    def _change_driver(self, facts, wanted):
        if facts.uses:
            raise errors.InUse(self.address, facts.uses)
        # Nobody else has it when it begins to change hands.
        self._hold_group(facts)
        self._hold_blocks()
        self._close_blocks()
        self._holding = False
        binding.move(self._kernel, self.address, wanted)
        if self._group is not None:
            # The group was made anew with the driver.
            self._kernel.close(self._group)
            self._group = None
        self._hold_group(self.facts())

    def _shows(self, nsids) -> bool:
        return sorted(nsids) == sorted(each.nsid or 0
                                       for each in self._blocks())

    def _live(self) -> bool:
        """Live, and every active namespace has its block device."""
        name = nvme_facts.controller_name(self._roots, self.address)
        if name is None or nvme_facts.first_line(os.path.join(
                self._roots.sys, 'class/nvme', name, 'state')) != 'live':
            return False
        found = self.admin(structures.identify(
            structures.CNS_ACTIVE_NAMESPACES).pack())
        return not found.status and self._shows(
            structures.namespace_list(found.data))

    def _wait(self, condition, otherwise):
        limit = time.monotonic() + READY_SECONDS
        while not condition():
            if time.monotonic() > limit:
                raise errors.NotReady(self.address, otherwise)
            time.sleep(_PAUSE)


def _numbers(nsids) -> str:
    return ', '.join(str(each) for each in sorted(
        each or 0 for each in nsids)) or 'none'

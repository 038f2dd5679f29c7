# SPDX-License-Identifier: Apache-2.0
"""The contracts of a disk, and of the kernel below it.

A :class:`Port` is kept by ``local.Port`` and, across the border of privilege,
by ``cyborg.privsep.nvme.Port``; a :class:`Kernel` by ``linux.Kernel`` and
``simulate.kernel.Kernel``. Commands are the bytes of ``struct
nvme_passthru_cmd`` (linux/nvme_ioctl.h), so that a simulated disk decodes
what a real one would get.
"""

from collections.abc import Iterable
import dataclasses
from typing import Protocol

from cyborg.nvme import records
from cyborg.nvme import roots as nvme_roots


@dataclasses.dataclass(frozen=True)
class Completion:
    """What an admin command gave.

    :ivar status: 0, or the status field as the kernel returns it.
    :ivar result: dword 0 of the completion.
    :ivar data: what the controller transferred; as long as asked for.
    """

    status: int
    result: int = 0
    data: bytes = b''


@dataclasses.dataclass(frozen=True)
class Held:
    """A namespace that is held exclusively."""

    nsid: int
    name: str
    size: int


class Port(Protocol):
    """One PCI function that may be an NVMe controller.

    Methods raise the classes of :mod:`cyborg.nvme.errors`. One port is used
    by one thread at a time.
    """

    #: Canonical text of the PCI address.
    address: str

    def facts(self) -> records.Facts:
        """What the host's files say; opens and changes nothing."""

    def admin(self, command: bytes, data: bytes = b'') -> Completion:
        """Send one admin command.

        One that erases or changes something is refused unless all is held.

        :param command: 72 bytes, its ``addr`` zero.
        :param data: what the command sends to the controller; a buffer for
            what it receives is made from its ``data_len``.
        :raises NotHeld: it is destructive, and the disk is not held whole.
        :raises DiskFailed: the kernel refused, or the device went away.
        """

    def hold(self) -> tuple[Held, ...]:
        """Take every namespace for this process alone, or none of them.

        A disk at a VFIO driver has its group taken first, and is bound to
        the nvme driver; what it had before is the caller's to remember.
        Called again, it takes namespaces that appeared, and lets go of those
        that went.

        :raises InUse: naming each holder; nothing stays held or changed.
        """

    def check_hold(self) -> None:
        """Nothing of what is held went away, nothing was added.

        :raises LockBroken: saying what changed.
        :raises NotHeld: nothing is held.
        """

    def release(self) -> None:
        """Let go of all that is held; fine when nothing is."""

    def read(self, nsid: int, offset: int, length: int) -> bytes:
        """Bytes of a held namespace, past all caches of the host.

        :raises ShortTransfer: fewer were read.
        """

    def write(self, nsid: int, offset: int, data: bytes) -> None:
        """Write to a held namespace, past all caches of the host."""

    def rescan(self, nsids: tuple[int, ...]) -> None:
        """Let the host look for namespaces until it shows just these.

        :raises NotReady: it does not within a minute.
        """

    def restore_binding(self, binding: records.Binding) -> None:
        """Put the driver and driver_override back, and look whether it held.

        :raises BindingNotRestored: it did not.
        :raises InUse: somebody holds the disk, so nothing was unbound.
        """


class Kernel(Protocol):
    """The system calls below a port: Linux's, or simulated ones.

    Every method raises OSError as the kernel does. Names are relative to
    ``/dev``; handles are closed by :meth:`close` and by the process's end.
    """

    roots: nvme_roots.Roots

    def pids(self) -> frozenset[int]:
        """Processes whose open files are our own."""

    def open_controller(self, name: str) -> int:
        """Open ``nvme0``; keeps nobody from it."""

    def open_group(self, name: str) -> int:
        """Open ``vfio/12``; EBUSY while anybody has it open."""

    def open_block(self, name: str, writable: bool) -> int:
        """Open with O_EXCL; EBUSY while it is mounted, held or claimed.

        EACCES or EROFS: it is write-protected.
        """

    def close(self, handle: int) -> None:
        """Close any of them."""

    def number(self, handle: int) -> str:
        """``major:minor`` of what is open."""

    def size(self, handle: int) -> int:
        """Bytes of an open block device; 0 when it is gone."""

    def admin(self, handle: int, command: bytes, data: bytes) -> Completion:
        """NVME_IOCTL_ADMIN_CMD."""

    def rescan(self, handle: int) -> None:
        """NVME_IOCTL_RESCAN; namespaces change some time after it."""

    def read(self, handle: int, offset: int, length: int) -> bytes:
        """Past all caches; fewer bytes when the disk is gone."""

    def write(self, handle: int, offset: int, data: bytes) -> int:
        """Past all caches; how many bytes were written."""

    def write_file(self, path: str, text: str) -> None:
        """Write to an existing file of sysfs, in one call."""


class Host(Protocol):
    """Where ports come from."""

    def addresses(self) -> tuple[str, ...]:
        """NVMe controllers of the host, by class; in order."""

    def facts(self, addresses: Iterable[str]) -> dict[str, records.Facts]:
        """:meth:`Port.facts` of many, at the cost of hardly more than one."""

    def port(self, address: str) -> Port:
        """The port of an address, whether there is a disk or not."""

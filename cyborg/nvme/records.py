# SPDX-License-Identifier: Apache-2.0
"""Values that describe an NVMe disk. They hold plain values only.

Names in capitals are fields of the NVM Express Base Specification 2.0;
``to_plain`` and ``from_plain`` of :mod:`cyborg.nvme.plain` take each of these
to JSON and back.
"""

import dataclasses
import enum


@dataclasses.dataclass(frozen=True)
class Identity:
    """What Identify Controller (CNS 01h) says, and nothing derived.

    :ivar vid: PCI vendor id (VID), likewise ``ssvid``.
    :ivar serial: SN, without the padding.
    :ivar model: MN.
    :ivar firmware: FR, the revision that runs.
    :ivar cmic: bit 1 set: the subsystem may have several controllers; bit 2:
        this one belongs to a VF.
    :ivar mdts: largest transfer in bytes, None without a limit.
    :ivar cntrltype: 1 is an I/O controller; 0 is not reported.
    :ivar oacs: optional admin commands; bit 1 format, bit 3 namespaces.
    :ivar fna: bit 0 and 1: a format and a secure erase reach all namespaces;
        bit 2: cryptographic erase; bit 3: no broadcast namespace id.
    :ivar sanicap: bit 0 crypto, 1 block, 2 overwrite.
    :ivar nwpc: bit 0: write protection of namespaces.
    :ivar tnvmcap: capacity in bytes, 0 where the disk does not tell;
        ``unvmcap`` is the part that is in no namespace.
    :ivar nn: largest namespace id.
    """

    vid: int
    ssvid: int
    serial: str
    model: str
    firmware: str
    cmic: int = 0
    mdts: int | None = None
    cntlid: int = 0
    ver: int = 0
    cntrltype: int = 0
    oacs: int = 0
    fna: int = 0
    sanicap: int = 0
    nwpc: int = 0
    tnvmcap: int = 0
    unvmcap: int = 0
    nn: int = 1
    subnqn: str = ''

    @property
    def formats(self) -> bool:
        return bool(self.oacs & 0x2)

    @property
    def manages_namespaces(self) -> bool:
        return bool(self.oacs & 0x8)

    @property
    def several_controllers(self) -> bool:
        """Whether another controller may reach the same namespaces."""
        return bool(self.cmic & 0x2)


@dataclasses.dataclass(frozen=True)
class BlockFormat:
    """One LBA format: data and metadata bytes a block."""

    data_size: int
    metadata_size: int = 0


@dataclasses.dataclass(frozen=True)
class Namespace:
    """One allocated namespace.

    :ivar blocks: NSZE; ``capacity`` is NCAP. Both in blocks.
    :ivar lbaf: index of the LBA format in use; ``block`` is that format.
    :ivar extended: metadata lies at the end of each block (FLBAS bit 4).
    :ivar dps: end-to-end protection settings.
    :ivar nmic: bit 0: may be attached to several controllers.
    :ivar attached: to the controller that was asked.
    :ivar controllers: ids of all controllers that it is attached to; empty
        where the controller cannot tell.
    :ivar write_protected: NSATTR bit 0.
    :ivar guid: NGUID as hexadecimal digits, all zero where there is none.
    """

    nsid: int
    blocks: int
    capacity: int
    lbaf: int
    block: BlockFormat
    extended: bool = False
    dps: int = 0
    nmic: int = 0
    attached: bool = True
    controllers: tuple[int, ...] = ()
    write_protected: bool = False
    guid: str = '0' * 32
    formats: tuple[BlockFormat, ...] = ()

    @property
    def size(self) -> int:
        """Bytes of data."""
        return self.blocks * self.block.data_size


class SanitizeStatus(enum.Enum):
    """Bits 2:0 of SSTAT in the sanitize status log."""

    NEVER = 0
    SUCCEEDED = 1
    RUNNING = 2
    FAILED = 3
    SUCCEEDED_NO_DEALLOCATE = 4


@dataclasses.dataclass(frozen=True)
class SanitizeLog:
    """The sanitize status log page (81h).

    :ivar progress: SPROG as a part of 1.0; None while nothing runs.
    :ivar global_erased: nothing was written since the last success.
    :ivar action: SANACT of the operation that the log speaks of.
    :ivar scdw10: its whole command dword 10.
    :ivar estimate: seconds that such an operation takes, if it is told.
    """

    status: SanitizeStatus
    progress: float | None = None
    global_erased: bool = False
    action: int = 0
    scdw10: int = 0
    estimate: int | None = None

    @property
    def succeeded(self) -> bool:
        return self.status in (SanitizeStatus.SUCCEEDED,
                               SanitizeStatus.SUCCEEDED_NO_DEALLOCATE)

    @property
    def running(self) -> bool:
        return self.status is SanitizeStatus.RUNNING


@dataclasses.dataclass(frozen=True)
class Health:
    """The health log page (02h).

    :ivar critical_warning: 0 is well; see :data:`WARNINGS` for the bits.
    :ivar percentage_used: 0 to 255; 100 is the life that was promised.
    :ivar media_errors: unrecovered ones, over the disk's life.
    """

    critical_warning: int = 0
    percentage_used: int = 0
    media_errors: int = 0
    available_spare: int = 100

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(text for bit, text in enumerate(WARNINGS)
                     if self.critical_warning & 1 << bit)


#: Bits of ``critical_warning``, from bit 0 up.
WARNINGS = ('spare blocks run out', 'temperature out of bounds',
            'reliability degraded', 'media is read-only',
            'backup of volatile memory failed',
            'persistent memory region is read-only', 'reserved bit 6',
            'reserved bit 7')


@dataclasses.dataclass(frozen=True)
class Firmware:
    """The firmware slot log page (03h).

    :ivar active: slot that runs.
    :ivar next: slot that a reset activates; 0 for none.
    :ivar slots: revision in each slot, from slot 1 up; '' is empty.
    """

    active: int = 1
    next: int = 0
    slots: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Binding:
    """Which driver a PCI function has, and which one was asked for.

    :ivar driver: name of the bound driver; None for none.
    :ivar override: ``driver_override``; None when unset.
    """

    driver: str | None = None
    override: str | None = None


@dataclasses.dataclass(frozen=True)
class Use:
    """One reason why a disk must not be touched.

    :ivar kind: one of :data:`USES`.
    :ivar holder: who, in words for a message.
    """

    kind: str
    holder: str


#: Kinds of use: a mount, swap space, a device on top (dm, md, loop, an NVMe
#: target), a mount that the host boots from, an open VFIO group or character
#: device, a process that has a namespace open, and one that keeps it for
#: itself and that we cannot name.
USES = ('mount', 'swap', 'holder', 'boot disk', 'vfio', 'opener',
        'exclusive opener')


@dataclasses.dataclass(frozen=True)
class BlockDevice:
    """A block device of a namespace as the host has it.

    :ivar name: ``nvme0n1``.
    :ivar number: ``major:minor``.
    :ivar nsid: None where sysfs does not tell.
    :ivar size: bytes.
    """

    name: str
    number: str
    nsid: int | None = None
    size: int = 0
    partitions: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Facts:
    """What the host's files say about one PCI function; nothing was opened.

    :ivar address: the canonical text of the PCI address.
    :ivar class_code: 24 bits; 010802h is an NVMe I/O controller.
    :ivar vfs: VFs that are enabled; ``totalvfs`` the number it could have.
    :ivar controller: ``nvme0``, None unless the nvme driver has it.
    :ivar state: of that controller: ``live``, ``resetting``, ``dead``…
    :ivar serial: as sysfs shows it; None unless the nvme driver has it.
        Likewise ``model``, ``firmware``, ``subnqn``.
    :ivar neighbours: other controllers of the same NVM subsystem on this
        host, ``nvme1 (0000:02:00.0)``.
    :ivar iommu_group: number as text.
    :ivar group_members: other functions in that group.
    :ivar vfio_device: ``vfio0``, the name below ``/dev/vfio/devices``.
    :ivar uses: empty for a disk that nobody uses as far as files tell.
    """

    address: str
    present: bool
    vendor_id: str = ''
    product_id: str = ''
    class_code: int = 0
    binding: Binding = Binding()
    physfn: str | None = None
    vfs: int = 0
    totalvfs: int = 0
    controller: str | None = None
    state: str | None = None
    serial: str | None = None
    model: str | None = None
    firmware: str | None = None
    subnqn: str | None = None
    neighbours: tuple[str, ...] = ()
    iommu_group: str | None = None
    group_members: tuple[str, ...] = ()
    vfio_device: str | None = None
    blocks: tuple[BlockDevice, ...] = ()
    uses: tuple[Use, ...] = ()

    @property
    def is_nvme(self) -> bool:
        return self.class_code == 0x010802


@dataclasses.dataclass(frozen=True)
class Baseline:
    """A disk as it was when it was known to be good.

    :ivar namespaces: all of them, in the order of their ids.
    """

    identity: Identity
    namespaces: tuple[Namespace, ...]
    firmware: Firmware = Firmware()
    health: Health = Health()

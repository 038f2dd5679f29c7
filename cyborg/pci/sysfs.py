# SPDX-License-Identifier: Apache-2.0
"""What sysfs says about the PCI functions of a host. Reads only.

Source: Documentation/ABI/testing/sysfs-bus-pci of the Linux kernel. Needs no
privilege and starts no process. Whatever stands in sysfs is treated as
untrusted text: a device that vanishes while it is read, or whose required
attributes make no sense, becomes a named fault beside the good devices.
"""

from collections.abc import Callable
import dataclasses
import errno
import operator
import os
import re
from typing import Any
from typing import NamedTuple

from cyborg.pci import address as pci_address
from cyborg.pci import ids
from cyborg.pci import links
from cyborg.pci import printable
from cyborg.pci import uevent

PciAddress = pci_address.PciAddress

_READ_SIZE = 4096
# Without O_NONBLOCK, a pipe in the place of an attribute would be waited for.
_FILE = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
_DIRECTORY = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
_VANISHED = 'it vanished while it was read'
#: What the kernel answers for a device that is being removed.
_GONE = frozenset({errno.ENOENT, errno.ENODEV})
#: Troubles of this process, which say nothing about the device being read.
_OURS = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EACCES,
                   errno.EPERM})
#: False where the C library or a sandbox can't ask about a link itself: it
#: then answers "no" for everything, and a VF must not lose its PF by that.
_ASKS_ABOUT_LINKS = os.access('/', os.F_OK, follow_symlinks=False)
_ID = re.compile(r'(?:0[xX])?([0-9a-fA-F]{1,4})')
_CLASS = re.compile(r'(?:0[xX])?([0-9a-fA-F]{1,6})')
#: A number from 0 up; anything else, -1 above all, is "unknown".
_NUMBER = re.compile(r'([0-9]{1,9})')
#: Modules on which every VFIO driver for PCI devices depends.
_VFIO_MODULES = ('vfio', 'vfio_pci_core')


class SysfsUnreadable(Exception):
    """sysfs can't be read at all, or this process can't read it now.

    That says nothing about any device, so no inventory may follow from it.
    """

    def __init__(self, path: str, reason: str | None):
        super().__init__(
            'PCI devices cannot be listed in %s: %s. Check [pci] sysfs_path.'
            % (path, reason))
        self.path = path
        self.reason = reason


class PciDevice(NamedTuple):
    """One PCI function.

    A tuple, since thousands are made and compared at each report and a
    frozen dataclass takes four times as long.

    :ivar vendor_id: four hexadecimal digits, as text in lower case.
    :ivar product_id: likewise.
    :ivar class_code: 24 bits.
    :ivar driver: the bound host driver, or None.
    :ivar driver_module: kernel module of that driver; None for one that is
        built into the kernel.
    :ivar vfio: the bound driver offers the device through VFIO.
    :ivar physfn: the PF of a VF.
    :ivar totalvfs: VFs a PF could have; None for all but PFs.
    :ivar virtfns: the present VFs of a PF.
    :ivar numa_node: host NUMA node from 0 up, None when unknown.
    :ivar iommu_group: number of the group as text.
    :ivar net_names: network interfaces on top of it.
    """

    address: PciAddress
    vendor_id: str
    product_id: str
    class_code: int
    driver: str | None = None
    driver_module: str | None = None
    vfio: bool = False
    physfn: PciAddress | None = None
    totalvfs: int | None = None
    virtfns: tuple[PciAddress, ...] = ()
    numa_node: int | None = None
    iommu_group: str | None = None
    net_names: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """``VF``, ``PF`` (could have VFs), or ``PCI``."""
        if self.physfn is not None:
            return 'VF'
        return 'PF' if self.sriov else 'PCI'

    @property
    def sriov(self) -> bool:
        # A PF with VFs is one, whatever its attribute holds.
        return bool(self.totalvfs or self.virtfns)

    @property
    def class_name(self) -> str:
        """As ``lspci`` prints it."""
        return ids.class_name(self.class_code)


@dataclasses.dataclass(frozen=True)
class Fault:
    """A device that was left out, under its name in sysfs, and why."""

    name: str
    reason: str

    @property
    def address(self) -> PciAddress | None:
        try:
            return PciAddress.parse(self.name)
        except pci_address.InvalidPciAddress:
            return None


@dataclasses.dataclass(frozen=True)
class HostPci:
    """The PCI functions of a host, in the order of their addresses."""

    devices: tuple[PciDevice, ...] = ()
    faults: tuple[Fault, ...] = ()


class _Bad(Exception):
    """A required attribute that is unusable."""


class _Meanings(dict):
    """Bytes of an attribute -> what they mean.

    Thousands of functions share a few values, so each is parsed once in a
    scan. A meaning of None makes a required attribute unusable.
    """

    def __init__(self, pattern: re.Pattern, convert: Callable[[str], Any]):
        super().__init__()
        self._pattern = pattern
        self._convert = convert

    def __missing__(self, data: bytes) -> Any:
        match = self._pattern.fullmatch(_text(data))
        self[data] = self._convert(match.group(1)) if match else None
        return self[data]


def scan(sysfs_path: str) -> HostPci:
    """Read every PCI function below a sysfs mount point.

    Each attribute file is opened at most once.

    :raises SysfsUnreadable: no conclusion about any device is possible.
    """
    root = os.path.join(sysfs_path, 'bus/pci/devices')
    try:
        names = os.listdir(os.fsencode(root))
    except OSError as error:
        raise SysfsUnreadable(root, error.strerror) from None
    reader = _Reader(sysfs_path, root)
    found: dict[PciAddress, PciDevice] = {}
    faults = []
    for name in sorted(names):
        text = printable.printable(name.decode('utf-8', 'backslashreplace'))
        try:
            device = reader.device(text)
        except _Bad as bad:
            faults.append(Fault(text, str(bad)))
            continue
        if found.setdefault(device.address, device) is not device:
            faults.append(Fault(text, 'another entry has the same address'))
    return HostPci(_with_virtual_functions(found), tuple(faults))


class _Reader:
    """Reads one device after the other; keeps what many devices share."""

    def __init__(self, sysfs_path: str, root: str):
        self._sysfs = sysfs_path
        self._root = root
        self._ids = _Meanings(_ID, lambda text: '%04x' % int(text, 16))
        self._classes = _Meanings(_CLASS, lambda text: int(text, 16))
        self._numbers = _Meanings(_NUMBER, int)
        self._modules: dict[str, str | None] = {}
        # Newer kernels list registered VFIO devices, also those of a driver
        # that doesn't depend on vfio itself (a vendor's vGPU manager may
        # register them for it).
        self._on_vfio = frozenset(
            links.owners(sysfs_path, 'vfio-dev').values())
        self._vfio_modules = links.dependants(sysfs_path, _VFIO_MODULES)
        self._parents: dict[str, PciAddress] = {}
        self._net: dict[PciAddress, list[str]] = {}
        for name, owner in links.net_owners(sysfs_path).items():
            self._net.setdefault(owner, []).append(name)

    def device(self, name: str) -> PciDevice:
        """One function.

        :raises _Bad: with the reason in words.
        :raises SysfsUnreadable: the fault is not the device's.
        """
        try:
            address = PciAddress.parse(name)
        except pci_address.InvalidPciAddress as error:
            raise _Bad(str(error)) from None
        base = self._root + '/' + name
        try:
            place = os.open(base, _DIRECTORY)
            try:
                return self._device(address, place)
            finally:
                os.close(place)
        except OSError as error:
            if error.errno in _OURS:
                raise SysfsUnreadable(base, error.strerror) from None
            # Whatever was being read, the device may have gone meanwhile.
            if error.errno in _GONE and not os.path.exists(base):
                raise _Bad(_VANISHED) from None
            raise _Bad('%s: %s' % (os.path.basename(error.filename),
                                   error.strerror)) from None

    def _device(self, address, place: int) -> PciDevice:
        """:param place: descriptor of the device's directory."""
        source, summary = self._summary(place)
        driver = summary.driver
        module = self._module(driver) if driver else None
        physfn = self._physfn(place)
        device = PciDevice(
            address, *summary, module,
            (driver == 'vfio-pci' or module in self._vfio_modules
             or address in self._on_vfio),
            physfn, self._totalvfs(place, physfn), (),
            self._number(place, 'numa_node'),
            _link_name(place, 'iommu_group'),
            tuple(self._net.get(address, ())))
        # An attribute that is absent may have gone with the device, whose
        # removal (device_del() of the kernel) begins with its uevent. A VF
        # loses its physfn before (pci_iov_remove_virtfn()), and stays like
        # that for as long as a guest keeps its driver from letting go: it
        # looks like any function then, see cyborg.pci.held.
        if _gone(place, source):
            raise _Bad(_VANISHED)
        return device

    def _summary(self, place: int) -> tuple[str, uevent.Summary]:
        """The file that shows whether the device is there, and what it is."""
        source = 'uevent'
        try:
            found = uevent.parse(_read(place, source))
        except FileNotFoundError:
            source, found = 'vendor', None
        return source, found or uevent.Summary(
            _required(place, 'vendor', self._ids),
            _required(place, 'device', self._ids),
            _required(place, 'class', self._classes),
            _link_name(place, 'driver'))

    def _totalvfs(self, place: int, physfn) -> int | None:
        # Most functions have no such file; asking first is cheaper than an
        # exception.
        if physfn is not None or not _exists(place, 'sriov_totalvfs'):
            return None
        return self._number(place, 'sriov_totalvfs')

    def _number(self, place: int, name: str) -> int | None:
        """None when absent, negative or garbage."""
        try:
            return self._numbers[_read(place, name)]
        except OSError as error:
            if error.errno in _OURS or error.errno == errno.ENODEV:
                raise
            return None

    def _physfn(self, place: int) -> PciAddress | None:
        if not _exists(place, 'physfn'):
            return None
        target = os.path.basename(os.readlink('physfn', dir_fd=place))
        if target not in self._parents:
            try:
                self._parents[target] = PciAddress.parse(target)
            except pci_address.InvalidPciAddress as error:
                raise _Bad('physfn: %s' % error) from None
        return self._parents[target]

    def _module(self, driver: str) -> str | None:
        if driver not in self._modules:
            self._modules[driver] = os.path.basename(links.link_text(
                os.path.join(self._sysfs, 'bus/pci/drivers', driver,
                             'module'))) or None
        return self._modules[driver]


def _with_virtual_functions(found: dict[PciAddress, PciDevice]):
    """Give each PF its VFs, derived from what the VFs say.

    The ``virtfnN`` links say the same; reading them again could disagree
    when VFs come or go meanwhile.
    """
    children: dict[PciAddress, list[PciAddress]] = {}
    for device in found.values():
        if device.physfn is not None:
            children.setdefault(device.physfn, []).append(device.address)
    for parent, addresses in children.items():
        if parent in found:
            found[parent] = found[parent]._replace(
                virtfns=tuple(sorted(addresses)))
    return tuple(sorted(found.values(), key=operator.attrgetter('address')))


def _exists(place: int, name: str) -> bool:
    """Whether a directory has an entry, also a link that leads nowhere."""
    if _ASKS_ABOUT_LINKS:
        return os.access(name, os.F_OK, dir_fd=place, follow_symlinks=False)
    try:
        os.lstat(name, dir_fd=place)
    except OSError:
        return False
    return True


def _gone(place: int, name: str) -> bool:
    """Whether a file that was read is there no more.

    :raises OSError: there is no telling.
    """
    try:
        os.stat(name, dir_fd=place)
    except OSError as error:
        # A lack of memory, say, is no fault of the device.
        if error.errno not in _GONE:
            raise
        return True
    return False


def _link_name(place: int, name: str) -> str | None:
    """Last component of what a link in a directory points to."""
    try:
        target = os.readlink(name, dir_fd=place)
    except OSError:
        return None
    return printable.printable(target.rpartition('/')[2]) or None


def _read(place: int, name: str) -> bytes:
    """:raises OSError: ENOENT and ENODEV when the device goes away."""
    descriptor = os.open(name, _FILE, dir_fd=place)
    try:
        return os.read(descriptor, _READ_SIZE)
    except OSError as error:
        error.filename = name
        raise
    finally:
        os.close(descriptor)


def _text(data: bytes) -> str:
    return data.decode('utf-8', 'backslashreplace').strip()


def _required(place: int, name: str, meanings: _Meanings) -> Any:
    data = _read(place, name)
    value = meanings[data]
    if value is None:
        raise _Bad('%s holds %r' % (name, _text(data)[:40]))
    return value

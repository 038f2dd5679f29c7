# SPDX-License-Identifier: Apache-2.0
"""What sysfs says about the PCI functions of a host. Reads only.

Source: Documentation/ABI/testing/sysfs-bus-pci of the Linux kernel. Needs no
privilege and starts no process. Whatever stands in sysfs is treated as
untrusted text: a device that vanishes while it is read, or whose required
attributes make no sense, becomes a named fault beside the good devices.
"""

import dataclasses
import os
import re

from cyborg.pci import address as pci_address
from cyborg.pci import classes

PciAddress = pci_address.PciAddress

_READ_SIZE = 4096
_ID = re.compile(r'(?:0[xX])?([0-9a-fA-F]{1,4})')
_CLASS = re.compile(r'(?:0[xX])?([0-9a-fA-F]{1,6})')
_NUMBER = re.compile(r'[0-9]{1,9}')
_ADDRESS_IN_PATH = re.compile(
    r'[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7](?=/|$)')
#: Modules on which every VFIO driver for PCI devices depends.
_VFIO_MODULES = ('vfio', 'vfio_pci_core')


class SysfsUnreadable(Exception):
    """The list of PCI devices itself can't be read.

    That says nothing about any device, so no inventory may follow from it.
    """

    def __init__(self, path: str, reason: str):
        super().__init__(
            'PCI devices cannot be listed in %s: %s. Check [pci] sysfs_path.'
            % (path, reason))
        self.path = path
        self.reason = reason


@dataclasses.dataclass(frozen=True, slots=True)
class PciDevice:
    """One PCI function.

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
    :ivar link: where sysfs hangs the device, which tells what is upstream.
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
    link: str = ''

    @property
    def kind(self) -> str:
        """``VF``, ``PF`` (could have VFs), or ``PCI``."""
        if self.physfn is not None:
            return 'VF'
        return 'PF' if self.sriov else 'PCI'

    @property
    def sriov(self) -> bool:
        return bool(self.totalvfs)

    @property
    def class_name(self) -> str:
        return classes.name(self.class_code)

    @property
    def upstream(self) -> tuple[PciAddress, ...]:
        """Bridges between the host and this device, the root port first."""
        found = addresses_in(self.link)
        return tuple(a for a in found if a != self.address)


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


def scan(sysfs_path: str) -> HostPci:
    """Read every PCI function below a sysfs mount point.

    Each attribute file is opened at most once.

    :raises SysfsUnreadable: the list of devices can't be read.
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
        text = name.decode('utf-8', 'backslashreplace')
        try:
            device = reader.device(text)
        except _Bad as bad:
            faults.append(Fault(text, str(bad)))
            continue
        if device.address in found:
            faults.append(Fault(text, 'another entry has the same address'))
        else:
            found[device.address] = device
    return HostPci(_with_virtual_functions(found), tuple(faults))


def addresses_in(path: str) -> tuple[PciAddress, ...]:
    """PCI addresses among the components of a sysfs path, in order."""
    return tuple(PciAddress.parse(text)
                 for text in _ADDRESS_IN_PATH.findall(path))


def owner_of(path: str) -> PciAddress | None:
    """The PCI function that a class device's sysfs path hangs below."""
    found = _ADDRESS_IN_PATH.findall(path)
    return PciAddress.parse(found[-1]) if found else None


def list_names(path: str) -> list[str]:
    """Names in a directory, sorted; empty when it can't be read."""
    try:
        return sorted(os.listdir(path))
    except OSError:
        return []


def link_text(path: str) -> str:
    """Where a link points; empty when it is no link."""
    try:
        return os.readlink(path)
    except OSError:
        return ''


def net_owners(sysfs_path: str) -> dict[str, PciAddress]:
    """Network interface -> PCI function it stands on."""
    owners = {}
    root = os.path.join(sysfs_path, 'class/net')
    for name in list_names(root):
        path = os.path.join(root, name)
        owner = owner_of(link_text(path)) or owner_of(
            link_text(os.path.join(path, 'device')))
        if owner is not None:
            owners[name] = owner
    return owners


class _Reader:
    """Reads one device after the other; keeps what many devices share."""

    def __init__(self, sysfs_path: str, root: str):
        self._sysfs = sysfs_path
        self._root = root
        self._modules: dict[str, str | None] = {}
        self._vfio_modules: frozenset[str] | None = None
        self._parents: dict[str, PciAddress] = {}
        self._net: dict[PciAddress, list[str]] = {}
        for name, owner in net_owners(sysfs_path).items():
            self._net.setdefault(owner, []).append(name)

    def device(self, name: str) -> PciDevice:
        """:raises _Bad: with the reason in words."""
        try:
            address = PciAddress.parse(name)
        except pci_address.InvalidPciAddress as error:
            raise _Bad(str(error)) from None
        base = self._root + '/' + name + '/'
        vendor_id = '%04x' % _required(base, 'vendor', _ID)
        product_id = '%04x' % _required(base, 'device', _ID)
        class_code = _required(base, 'class', _CLASS)
        driver = os.path.basename(link_text(base + 'driver')) or None
        module = self._module(driver) if driver else None
        physfn = self._physfn(base)
        return PciDevice(
            address, vendor_id, product_id, class_code, driver, module,
            driver is not None and self._vfio(base, driver, module), physfn,
            None if physfn else _number(base + 'sriov_totalvfs'), (),
            _number(base + 'numa_node'),
            os.path.basename(link_text(base + 'iommu_group')) or None,
            tuple(self._net.get(address, ())),
            link_text(base[:-1]))

    def _physfn(self, base: str) -> PciAddress | None:
        try:
            target = os.path.basename(os.readlink(base + 'physfn'))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _Bad('physfn: %s' % error.strerror) from None
        if target not in self._parents:
            try:
                self._parents[target] = PciAddress.parse(target)
            except pci_address.InvalidPciAddress as error:
                raise _Bad('physfn: %s' % error) from None
        return self._parents[target]

    def _module(self, driver: str) -> str | None:
        if driver not in self._modules:
            self._modules[driver] = os.path.basename(link_text(os.path.join(
                self._sysfs, 'bus/pci/drivers', driver, 'module'))) or None
        return self._modules[driver]

    def _vfio(self, base: str, driver: str, module: str | None) -> bool:
        if driver == 'vfio-pci':
            return True
        if self._vfio_modules is None:
            self._vfio_modules = _dependants(self._sysfs, _VFIO_MODULES)
        # Newer kernels show a registered VFIO device below the function,
        # also where the driver itself doesn't depend on vfio (a vendor's
        # vGPU manager may register it for the driver).
        return (module in self._vfio_modules
                or os.path.exists(base + 'vfio-dev'))


def _dependants(sysfs_path: str, modules) -> frozenset[str]:
    """Loaded modules that use one of the given ones, directly or not."""
    found: set[str] = set()
    todo = list(modules)
    while todo:
        holders = list_names(os.path.join(
            sysfs_path, 'module', todo.pop(), 'holders'))
        todo.extend(set(holders) - found)
        found.update(holders)
    return frozenset(found)


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
            found[parent] = dataclasses.replace(
                found[parent], virtfns=tuple(sorted(addresses)))
    return tuple(found[address] for address in sorted(found))


def _read(path: str) -> str:
    """:raises OSError: ENOENT and ENODEV when the device goes away."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = os.read(descriptor, _READ_SIZE)
    finally:
        os.close(descriptor)
    return data.decode('utf-8', 'backslashreplace').strip()


def _required(base: str, name: str, pattern: re.Pattern) -> int:
    try:
        text = _read(base + name)
    except OSError as error:
        if os.path.exists(base):
            raise _Bad('%s: %s' % (name, error.strerror)) from None
        raise _Bad('it vanished while it was read') from None
    match = pattern.fullmatch(text)
    if match is None:
        raise _Bad('%s holds %r' % (name, text[:40]))
    return int(match.group(1), 16)


def _number(path: str) -> int | None:
    """A number from 0 up; None when absent, negative or garbage."""
    try:
        text = _read(path)
    except OSError:
        return None
    return int(text) if _NUMBER.fullmatch(text) else None

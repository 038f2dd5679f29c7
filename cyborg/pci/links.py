# SPDX-License-Identifier: Apache-2.0
"""What the names and links of sysfs say about PCI functions.

Paths of the kernel name the functions that a device hangs below
(Documentation/admin-guide/sysfs-rules.rst of the Linux kernel). What can't
be read says nothing here; :mod:`cyborg.pci.sysfs` tells of devices.
"""

from collections.abc import Iterable
import os
import re

from cyborg.pci import address as pci_address
from cyborg.pci import printable

PciAddress = pci_address.PciAddress

#: A part of a path that has the shape of an address, and may be none.
_ADDRESS_IN_PATH = re.compile(
    '(?<![^/])(?i:%s)(?=/|$)' % pci_address.EXPRESSION)


def upstream(sysfs_path: str, address: PciAddress) -> tuple[PciAddress, ...]:
    """Bridges between the host and a device, the root port first."""
    link = link_text(os.path.join(
        sysfs_path, 'bus/pci/devices', str(address)))
    found = [_address(text) for text in _ADDRESS_IN_PATH.findall(link)]
    return tuple(bridge for bridge in found
                 if bridge is not None and bridge != address)


def owner_of(path: str) -> PciAddress | None:
    """The PCI function that a class device's sysfs path hangs below.

    None when the last part that could name it doesn't: what stands above is
    a bridge.
    """
    found = _ADDRESS_IN_PATH.findall(path)
    return _address(found[-1]) if found else None


def functions_on(path: str) -> tuple[PciAddress, ...]:
    """All functions on a path, the root port first; none when its end is no
    address although it looks like one."""
    found = [_address(text) for text in _ADDRESS_IN_PATH.findall(path)]
    if not found or found[-1] is None:
        return ()
    return tuple(address for address in found if address is not None)


def below(sysfs_path: str) -> dict[PciAddress, tuple[PciAddress, ...]]:
    """Function -> the functions that hang below it, in order."""
    root = os.path.join(sysfs_path, 'bus/pci/devices')
    found: dict[PciAddress, list[PciAddress]] = {}
    for name in list_names(root):
        on_the_way = functions_on(link_text(os.path.join(root, name)))
        for each in on_the_way[:-1]:
            found.setdefault(each, []).append(on_the_way[-1])
    return {address: tuple(sorted(each)) for address, each in found.items()}


def _address(text: str) -> PciAddress | None:
    """None for a text that is no address."""
    try:
        return PciAddress.parse(text)
    except pci_address.InvalidPciAddress:
        return None


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
    return owners(sysfs_path, 'net')


def owners(sysfs_path: str, kind: str) -> dict[str, PciAddress]:
    """Device of a class, by name -> PCI function it stands on."""
    found = {}
    root = os.path.join(sysfs_path, 'class', kind)
    for name in list_names(root):
        path = os.path.join(root, name)
        owner = owner_of(link_text(path)) or owner_of(
            link_text(os.path.join(path, 'device')))
        if owner is not None:
            found[printable.printable(name)] = owner
    return found


def dependants(sysfs_path: str, modules: Iterable[str]) -> frozenset[str]:
    """Loaded modules that use one of the given ones, directly or not."""
    found: set[str] = set()
    todo = list(modules)
    while todo:
        holders = list_names(os.path.join(
            sysfs_path, 'module', todo.pop(), 'holders'))
        todo.extend(set(holders) - found)
        found.update(holders)
    return frozenset(found)

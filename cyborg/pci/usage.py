# SPDX-License-Identifier: Apache-2.0
"""What the host itself uses its PCI devices for.

A device that carries the host's default route or a mounted file system is
seldom meant to go to a guest. Sources: proc(5) for ``net/route``,
``net/ipv6_route`` and ``self/mountinfo``, and the kernel's sysfs rules.
"""

import os

from cyborg.pci import address as pci_address
from cyborg.pci import links
from cyborg.pci import printable

PciAddress = pci_address.PciAddress

_ALL_ZERO = '0' * 32


def host_uses(sysfs_path: str) -> dict[PciAddress, tuple[str, ...]]:
    """Function -> what the host does with it, in words.

    ``/proc`` is taken from beside the sysfs tree, so that another host's
    tree is never compared with this one's routes and mounts. What can't be
    read says nothing.
    """
    proc = os.path.join(os.path.dirname(os.path.abspath(sysfs_path)), 'proc')
    uses: dict[PciAddress, list[str]] = {}
    owners = links.net_owners(sysfs_path)
    for interface in sorted(_default_route_interfaces(proc)):
        below = _lower_interfaces(sysfs_path, interface)
        for owner in {owners[name] for name in below if name in owners}:
            uses.setdefault(owner, []).append(
                'carries the default route of the host (%s)'
                % printable.name(interface))
    mounted: dict[PciAddress, str] = {}
    for device, place in _mounts(proc):
        for owner in _disk_owners(sysfs_path, device):
            # The first alone: containers mount one disk a hundred times.
            mounted.setdefault(owner, place)
    for owner, place in mounted.items():
        uses.setdefault(owner, []).append(
            'holds the mounted file system %s' % printable.name(place))
    return {address: tuple(texts) for address, texts in uses.items()}


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding='utf-8', errors='backslashreplace') as file:
            return file.read().splitlines()
    except OSError:
        return []


def _default_route_interfaces(proc: str) -> set[str]:
    found = set()
    for line in _lines(os.path.join(proc, 'net/route')):
        words = line.split()
        if len(words) > 7 and words[1] == words[7] == '00000000':
            found.add(words[0])
    for line in _lines(os.path.join(proc, 'net/ipv6_route')):
        words = line.split()
        if len(words) > 9 and words[0] == _ALL_ZERO and words[1] == '00':
            found.add(words[9])
    return found


def _lower_interfaces(sysfs_path: str, name: str) -> set[str]:
    """An interface and all it stands on."""
    found, todo = {name}, [name]
    while todo:
        names = links.list_names(
            os.path.join(sysfs_path, 'class/net', todo.pop()))
        below = {each.removeprefix('lower_') for each in names
                 if each.startswith('lower_')} - found
        found |= below
        todo.extend(below)
    return found


def _mounts(proc: str) -> list[tuple[str, str]]:
    """(``major:minor`` or device name, mount point) of each mount."""
    found = []
    for line in _lines(os.path.join(proc, 'self/mountinfo')):
        head, _dash, tail = line.partition(' - ')
        words, source = head.split(), tail.split()[1:2]
        if len(words) < 5:
            continue
        if not words[2].startswith('0:'):
            found.append((words[2], words[4]))
        elif source and source[0].startswith('/dev/'):
            # Some file systems (btrfs) have a number of their own; the
            # source still names the disk.
            found.append((os.path.basename(source[0]), words[4]))
    return found


def _disk_owners(sysfs_path: str, device: str) -> set[PciAddress]:
    """PCI functions below a block device, seen through its layers."""
    kind = 'dev/block' if ':' in device else 'class/block'
    path = os.path.join(sysfs_path, kind, device)
    found, todo = {path}, [path]
    while todo:
        below = {os.path.join(sysfs_path, 'class/block', name) for name in
                 links.list_names(os.path.join(todo.pop(), 'slaves'))} - found
        found |= below
        todo.extend(below)
    owners = {links.owner_of(links.link_text(path)) for path in found}
    return {owner for owner in owners if owner is not None}

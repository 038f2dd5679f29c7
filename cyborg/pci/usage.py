# SPDX-License-Identifier: Apache-2.0
"""What the host itself uses its PCI devices for.

A device that carries the host's default route, a mounted file system or
active swap space is seldom meant to go to a guest, and neither is what it
hangs below: a guest that gets the controller gets everything behind it.
Sources: proc(5) for ``net/route``, ``net/ipv6_route``, ``self/mountinfo`` and
``swaps``, and the kernel's sysfs rules.
"""

from collections.abc import Iterator
import os
import re

from cyborg.pci import address as pci_address
from cyborg.pci import links
from cyborg.pci import printable

PciAddress = pci_address.PciAddress

_ALL_ZERO = '0' * 32
#: What the kernel calls the switch that Open vSwitch keeps in it.
_OVS = 'ovs-system'
#: An NVMe drive that native multipath presents, and its subsystem.
_MULTIPATH = re.compile(r'.*/nvme-subsystem/[^/]+(?=/)')
_CONTROLLER = re.compile(r'nvme[0-9]+')


def host_uses(sysfs_path: str) -> dict[PciAddress, tuple[str, ...]]:
    """Function -> what the host does with it, in words.

    ``/proc`` is taken from beside the sysfs tree, so that another host's
    tree is never compared with this one's routes and mounts. What can't be
    read says nothing.
    """
    proc = os.path.join(os.path.dirname(os.path.abspath(sysfs_path)), 'proc')
    uses: dict[PciAddress, dict[str, None]] = {}
    for place, text in (*_routes(sysfs_path, proc),
                        *_disks(sysfs_path, proc)):
        # The function itself and those that it hangs below.
        for where in place:
            below = '' if where == place[-1] else (
                ', on %s below it' % place[-1])
            uses.setdefault(where, {})[text + below] = None
    return {address: tuple(texts) for address, texts in uses.items()}


def _routes(sysfs_path: str, proc: str) -> Iterator[tuple]:
    """(functions from the root down, use) of each default route."""
    places = _net_places(sysfs_path)
    masters = _masters(sysfs_path, places)
    for interface in sorted(_default_route_interfaces(proc)):
        name = printable.name(interface)
        below = _lower_interfaces(sysfs_path, interface, masters)
        text = 'carries the default route of the host (%s)' % name
        if not below & places.keys() and _is_port_of_ovs(
                sysfs_path, interface):
            # sysfs does not tell which ports of the switch lead outside.
            below = _lower_interfaces(sysfs_path, _OVS, masters)
            text = ('may carry the default route of the host (%s, a port of '
                    'Open vSwitch)' % name)
        for each in sorted(below & places.keys()):
            yield places[each], text


def _disks(sysfs_path: str, proc: str) -> Iterator[tuple]:
    """(functions from the root down, use) of mounts and swap space."""
    mounted: set[tuple] = set()
    for device, where in _mounts(proc):
        for place in _disk_places(sysfs_path, device):
            # The first alone: containers mount one disk a hundred times.
            if place not in mounted:
                mounted.add(place)
                yield place, 'holds the mounted file system %s' % (
                    printable.name(where))
    for device in _swaps(proc):
        for place in _disk_places(sysfs_path, device):
            yield place, 'holds swap space in use (%s)' % printable.name(
                device)


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


def _net_places(sysfs_path: str) -> dict[str, tuple[PciAddress, ...]]:
    """Network interface -> functions from the root down to its own."""
    root = os.path.join(sysfs_path, 'class/net')
    found = {}
    for name in links.list_names(root):
        path = os.path.join(root, name)
        place = links.functions_on(links.link_text(path)) or (
            links.functions_on(links.link_text(
                os.path.join(path, 'device'))))
        if place:
            found[name] = place
    return found


def _masters(sysfs_path: str, names) -> dict[str, set[str]]:
    """Interface -> those that name it as their master (bond, switch)."""
    found: dict[str, set[str]] = {}
    for name in names:
        master = os.path.basename(links.link_text(os.path.join(
            sysfs_path, 'class/net', name, 'master')))
        found.setdefault(master, set()).add(name)
    return found


def _is_port_of_ovs(sysfs_path: str, name: str) -> bool:
    """A virtual interface beside a switch of Open vSwitch.

    The kernel links no internal port (``br-ex``) with its switch.
    """
    net = os.path.join(sysfs_path, 'class/net')
    link = links.link_text(os.path.join(net, name))
    return '/virtual/' in link and os.path.lexists(os.path.join(net, _OVS))


def _lower_interfaces(sysfs_path: str, name: str,
                      masters: dict[str, set[str]]) -> set[str]:
    """An interface and all it stands on."""
    found, todo = {name}, [name]
    while todo:
        upper = todo.pop()
        names = links.list_names(
            os.path.join(sysfs_path, 'class/net', upper))
        below = {each.removeprefix('lower_') for each in names
                 if each.startswith('lower_')}
        below = (below | masters.get(upper, set())) - found
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


def _swaps(proc: str) -> list[str]:
    """Names of the block devices with swap space in use.

    A swap file is on a file system that is mounted anyway.
    """
    return [os.path.basename(words[0]) for words in
            map(str.split, _lines(os.path.join(proc, 'swaps')))
            if len(words) > 1 and words[0].startswith('/dev/')]


def _disk_places(sysfs_path: str, device: str) -> list[tuple]:
    """Functions, from the root down, below a block device.

    Seen through its layers, from a partition to its disk, and through the
    paths of native multipath.
    """
    kind = 'dev/block' if ':' in device else 'class/block'
    path = os.path.join(sysfs_path, kind, device)
    found, todo = {path}, [path]
    places = set()
    while todo:
        path = todo.pop()
        link = links.link_text(path)
        places |= _places_of(path, link)
        names = links.list_names(os.path.join(path, 'slaves'))
        whole = os.path.basename(os.path.dirname(link))
        if os.path.lexists(os.path.join(sysfs_path, 'class/block', whole)):
            names.append(whole)
        below = {os.path.join(sysfs_path, 'class/block', name)
                 for name in names if name} - found
        found |= below
        todo.extend(below)
    return sorted(places)


def _places_of(path: str, link: str) -> set[tuple]:
    """Where a block device stands; several places for a multipath one."""
    subsystem = _MULTIPATH.match(link)
    if subsystem is None:
        place = links.functions_on(link)
        return {place} if place else set()
    folder = os.path.join(os.path.dirname(path), subsystem.group())
    controllers = [links.functions_on(links.link_text(os.path.join(
        folder, name))) for name in links.list_names(folder)
        if _CONTROLLER.fullmatch(name)]
    return {place for place in controllers if place}

# SPDX-License-Identifier: Apache-2.0
"""The names of those who use a disk: mounts, layers on top, processes.

A disk with data of a tenant must not be parsed by the host, but LVM or MD may
have done so already. Then it is in use like any other.
"""

from collections.abc import Iterator
from collections.abc import Mapping
import os
import re

from cyborg.nvme import records
from cyborg.nvme import roots as nvme_roots
from cyborg.pci import links
from cyborg.pci import printable

Use = records.Use

#: Mounts without which the host does not start again.
_BOOT = frozenset({'/', '/boot', '/boot/efi', '/efi', '/usr'})


#: Device nodes of disks and of VFIO, as links of /proc name them.
_NODES = ('/dev/nvme', '/dev/ng', '/dev/vfio/')


def opened(roots: nvme_roots.Roots, own_pids: frozenset[int]
           ) -> dict[str, tuple[str, ...]]:
    """Device node -> the processes that have it open, those we may look into.

    One pass over all processes serves all disks of a host.

    :param own_pids: processes whose open files are no use by others.
    """
    found: dict[str, list[str]] = {}
    for pid in sorted((name for name in links.list_names(roots.proc)
                       if name.isdecimal()), key=int):
        if int(pid) in own_pids:
            continue
        place = os.path.join(roots.proc, pid, 'fd')
        nodes = {links.link_text(os.path.join(place, name))
                 for name in links.list_names(place)}
        for node in nodes:
            if node.startswith(_NODES):
                found.setdefault(node, []).append(process_name(roots, pid))
    return {node: tuple(names) for node, names in found.items()}


def uses(roots: nvme_roots.Roots, facts: records.Facts,
         open_nodes: Mapping[str, tuple[str, ...]]) -> Iterator[Use]:
    """Every use of a disk that files show.

    :param open_nodes: see :func:`opened`.
    """
    names = [name for each in facts.blocks
             for name in (each.name, *each.partitions)]
    above = _above(roots, names)
    for name, owner in above.items():
        if owner is not None:
            yield Use('holder', '%s on %s' % (_layer(roots, name), owner))
    every = [*names, *above]
    yield from _mounts(roots, every)
    yield from _swaps(roots, every)
    yield from _exports(roots, every)
    yield from _processes(facts, names, open_nodes)


def _above(roots, names) -> dict[str, str | None]:
    """Block device on top -> the disk or partition that it stands on.

    The value is None for what stands higher still.
    """
    found: dict[str, str | None] = {}
    todo = list(names)
    while todo:
        name = todo.pop()
        for holder in links.list_names(os.path.join(
                roots.sys, 'class/block', name, 'holders')):
            if holder not in found:
                found[holder] = name if name in names else None
                todo.append(holder)
    return found


def _layer(roots, name):
    """``dm-0 (vg-root)`` or just the name."""
    label = _first_line(os.path.join(roots.sys, 'class/block', name,
                                     'dm/name'))
    text = printable.name(name)
    return '%s (%s)' % (text, printable.name(label)) if label else text


def _mounts(roots, names) -> Iterator[Use]:
    numbers = {_first_line(os.path.join(roots.sys, 'class/block', name,
                                        'dev')): name for name in names}
    told = set()
    # Process 1 has the host's own mounts, also where we run in a container.
    for process in ('self', '1'):
        for line in _lines(os.path.join(roots.proc, process, 'mountinfo')):
            head, _dash, tail = line.partition(' - ')
            words, source = head.split(), tail.split()[1:2]
            if len(words) < 5:
                continue
            # Some file systems (btrfs) have a number of their own; the
            # source still names the disk.
            name = numbers.get(words[2]) or _named(source, names)
            if name is None or (name, words[4]) in told:
                continue
            told.add((name, words[4]))
            yield Use('boot disk' if words[4] in _BOOT else 'mount',
                      '%s on %s' % (printable.name(words[4]), name))


def _named(source, names):
    name = os.path.basename(source[0]) if source else ''
    return name if name in names and source[0].startswith('/dev/') else None


def _swaps(roots, names) -> Iterator[Use]:
    for line in _lines(os.path.join(roots.proc, 'swaps'))[1:]:
        name = os.path.basename((line.split() or [''])[0])
        if name in names:
            yield Use('swap', '/dev/%s' % name)


def _exports(roots, names) -> Iterator[Use]:
    """Loop devices and NVMe targets, which open without any process."""
    devices = {'/dev/' + name for name in names}
    root = os.path.join(roots.sys, 'block')
    for name in links.list_names(root):
        if not name.startswith('loop'):
            continue
        backing = _first_line(os.path.join(root, name, 'loop/backing_file'))
        if backing in devices:
            yield Use('holder', '%s on %s' % (name, backing[len('/dev/'):]))
    root = os.path.join(roots.sys, 'kernel/config/nvmet/subsystems')
    for subsystem in links.list_names(root):
        place = os.path.join(root, subsystem, 'namespaces')
        for number in links.list_names(place):
            path = _first_line(os.path.join(place, number, 'device_path'))
            if path in devices and _first_line(os.path.join(
                    place, number, 'enable')) == '1':
                yield Use('holder', 'NVMe target %s on %s' % (
                    printable.name(subsystem), path[len('/dev/'):]))


def _processes(facts, names, open_nodes) -> Iterator[Use]:
    nodes = {}
    if facts.iommu_group is not None:
        for form in ('/dev/vfio/%s', '/dev/vfio/noiommu-%s'):
            nodes[form % facts.iommu_group] = 'vfio'
    if facts.vfio_device is not None:
        nodes['/dev/vfio/devices/' + facts.vfio_device] = 'vfio'
    nodes |= {'/dev/' + name: 'opener' for name in names}
    for each in facts.blocks:
        nodes['/dev/' + re.sub('^nvme', 'ng', each.name)] = 'opener'
    for node, kind in nodes.items():
        for process in open_nodes.get(node, ()):
            yield Use(kind, '%s has %s' % (process, node))


def process_name(roots: nvme_roots.Roots, pid: str) -> str:
    """``qemu-system-x86 (process 1234)``."""
    name = _first_line(os.path.join(roots.proc, pid, 'comm'))
    return '%s (process %s)' % (printable.name(name or '?'), pid)


def _first_line(path):
    found = _lines(path)
    return found[0].strip() if found else None


def _lines(path):
    try:
        with open(path, encoding='utf-8', errors='backslashreplace') as file:
            return file.read().splitlines()
    except OSError:
        return []

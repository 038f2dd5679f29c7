# SPDX-License-Identifier: Apache-2.0
"""Who uses a disk, from what the host's files say. Opens no device.

Sources: the kernel's sysfs rules and ABI documents (sysfs-bus-pci,
sysfs-block, vfio), proc(5), and Documentation/nvme. What can't be read says
nothing here; the exclusive hold of :mod:`cyborg.nvme.linux` is what protects,
and this gives the names for the refusal.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
import dataclasses
import os
import re
import time

from cyborg.nvme import errors
from cyborg.nvme import holders
from cyborg.nvme import records
from cyborg.nvme import roots as nvme_roots
from cyborg.pci import address as pci_address
from cyborg.pci import links
from cyborg.pci import printable

_HEX = re.compile(r'(?:0[xX])?([0-9a-fA-F]{1,6})')
#: A path of a shared namespace (``nvme0c1n1``) belongs to ``nvme0n1``.
_NAMESPACE = re.compile(r'(nvme\d+)(?:c\d+)?(n\d+)')
_CONTROLLER = re.compile(r'nvme\d+')
_SECTOR = 512
#: How long an opener of a block device may be one who only looks.
OPENER_SECONDS = 5
_PAUSE = 0.1
#: What an unset driver_override reads.
_UNSET = '(null)'


def addresses(roots: nvme_roots.Roots) -> tuple[str, ...]:
    """NVMe I/O controllers of a host, whatever driver they have."""
    found = []
    for name in links.list_names(os.path.join(roots.sys, 'bus/pci/devices')):
        if _number(roots.pci(name, 'class')) == 0x010802:
            try:
                found.append(pci_address.PciAddress.parse(name))
            except pci_address.InvalidPciAddress:
                continue
    return tuple(str(each) for each in sorted(found))


def read_all(roots: nvme_roots.Roots, addresses: Iterable[str], *,
             own_pids: frozenset[int] = frozenset()
             ) -> dict[str, records.Facts]:
    """Address -> everything that files say about that function.

    The processes of the host are looked through once.

    :param own_pids: processes whose open files are no use by others.
    """
    open_nodes = holders.opened(roots, own_pids)
    return {address: _read(roots, address, open_nodes)
            for address in addresses}


def read(roots: nvme_roots.Roots, address: str, *,
         own_pids: frozenset[int] = frozenset()) -> records.Facts:
    """The same of one function."""
    return read_all(roots, [address], own_pids=own_pids)[address]


def _read(roots, address, open_nodes) -> records.Facts:
    if not os.path.exists(roots.pci(address)):
        return records.Facts(address, present=False)
    controller = controller_name(roots, address)
    blocks = block_devices(roots, address)
    group = _link_name(roots.pci(address, 'iommu_group'))
    cdevs = links.list_names(roots.pci(address, 'vfio-dev'))
    facts = records.Facts(
        address=address, present=True,
        vendor_id=_hex_text(roots.pci(address, 'vendor')),
        product_id=_hex_text(roots.pci(address, 'device')),
        class_code=_number(roots.pci(address, 'class')) or 0,
        binding=binding(roots, address),
        physfn=_link_name(roots.pci(address, 'physfn')),
        vfs=len([name for name in links.list_names(roots.pci(address))
                 if name.startswith('virtfn')]),
        totalvfs=_decimal(roots.pci(address, 'sriov_totalvfs')),
        controller=controller, iommu_group=group,
        group_members=_group_members(roots, address, group),
        vfio_device=cdevs[0] if cdevs else None, blocks=blocks)
    if controller is not None:
        facts = dataclasses.replace(facts, **_controller_facts(
            roots, controller))
    return dataclasses.replace(
        facts, uses=tuple(holders.uses(roots, facts, open_nodes)))


def binding(roots: nvme_roots.Roots, address: str) -> records.Binding:
    """The driver that a function has, and the one asked for."""
    override = first_line(roots.pci(address, 'driver_override'))
    return records.Binding(
        _link_name(roots.pci(address, 'driver')),
        None if override in (None, '', _UNSET) else override)


def controller_name(roots: nvme_roots.Roots, address: str) -> str | None:
    """``nvme0``; None unless the nvme driver has the function."""
    names = [name for name in links.list_names(roots.pci(address, 'nvme'))
             if _CONTROLLER.fullmatch(name)]
    return names[0] if names else None


def block_devices(roots: nvme_roots.Roots, address: str) -> tuple[
        records.BlockDevice, ...]:
    """The block devices of a controller's namespaces, in order."""
    names = set()
    for name in _below(roots, address):
        match = _NAMESPACE.fullmatch(name)
        if match:
            # nvme<S>c<C>n<N> is a path to nvme<S>n<N>, which can be opened.
            names.add(match.group(1) + match.group(2))
    found = [_block_device(roots, name) for name in names]
    return tuple(sorted((each for each in found if each is not None),
                        key=lambda each: (each.nsid or 0, each.name)))


def _below(roots: nvme_roots.Roots, address: str) -> Iterator[str]:
    """Names that can be namespaces, from both places that kernels have."""
    yield from links.list_names(roots.pci(address, 'block'))
    for name in links.list_names(roots.pci(address, 'nvme')):
        yield from links.list_names(roots.pci(address, 'nvme', name))


def _block_device(roots: nvme_roots.Roots, name: str
                  ) -> records.BlockDevice | None:
    place = os.path.join(roots.sys, 'class/block', name)
    number = first_line(os.path.join(place, 'dev'))
    if number is None:
        return None
    nsid = first_line(os.path.join(place, 'nsid'))
    parts = tuple(each for each in links.list_names(place)
                  if os.path.exists(os.path.join(place, each, 'partition')))
    return records.BlockDevice(
        name=name, number=number,
        nsid=int(nsid) if nsid and nsid.isdecimal() else None,
        size=_decimal(os.path.join(place, 'size')) * _SECTOR,
        partitions=parts)


def _controller_facts(roots: nvme_roots.Roots, controller: str) -> dict:
    place = os.path.join(roots.sys, 'class/nvme', controller)
    subnqn = first_line(os.path.join(place, 'subsysnqn'))
    return {'state': first_line(os.path.join(place, 'state')),
            'serial': first_line(os.path.join(place, 'serial')),
            'model': first_line(os.path.join(place, 'model')),
            'firmware': first_line(os.path.join(place, 'firmware_rev')),
            'subnqn': subnqn,
            'neighbours': _neighbours(roots, controller, subnqn)}


def _neighbours(roots: nvme_roots.Roots, controller: str,
                subnqn: str | None) -> tuple[str, ...]:
    found = []
    root = os.path.join(roots.sys, 'class/nvme')
    for name in links.list_names(root):
        if name == controller or not subnqn:
            continue
        if first_line(os.path.join(root, name, 'subsysnqn')) == subnqn:
            owner = links.owner_of(links.link_text(os.path.join(root, name)))
            found.append('%s (%s)' % (printable.name(name), owner)
                         if owner else printable.name(name))
    return tuple(found)


def _group_members(roots: nvme_roots.Roots, address: str,
                   group: str | None) -> tuple[str, ...]:
    if group is None:
        return ()
    return tuple(name for name in links.list_names(os.path.join(
        roots.sys, 'kernel/iommu_groups', group, 'devices'))
        if name != address)


def _link_name(path: str) -> str | None:
    return printable.printable(
        os.path.basename(links.link_text(path))) or None


def first_line(path: str) -> str | None:
    """The first line of a file, None when it can't be read."""
    try:
        with open(path, encoding='utf-8', errors='backslashreplace') as file:
            return printable.printable(file.readline(4096).strip())
    except OSError:
        return None


def _number(path: str) -> int | None:
    match = _HEX.fullmatch(first_line(path) or '')
    return int(match.group(1), 16) if match else None


def _hex_text(path: str) -> str:
    number = _number(path)
    return '' if number is None else '%04x' % number


def _decimal(path: str) -> int:
    text = first_line(path) or ''
    return int(text) if text.isdecimal() else 0


def check_touchable(facts: records.Facts) -> None:
    """See that nothing the host's files say forbids to hold a disk: pure.

    :raises Absent: there is no such function.
    :raises NotNvme: it is something else.
    :raises IsVirtualFunction: its memory is shared with others.
    :raises HasVirtualFunctions: others share its memory.
    :raises SharedSubsystem: another controller reaches its namespaces.
    :raises InUse: somebody has it; each one is named.
    """
    if not facts.present:
        raise errors.Absent(facts.address)
    if not facts.is_nvme:
        raise errors.NotNvme(facts.address, facts.class_code)
    if facts.physfn is not None:
        raise errors.IsVirtualFunction(facts.address, facts.physfn)
    if facts.vfs:
        raise errors.HasVirtualFunctions(facts.address, facts.vfs)
    if facts.neighbours:
        raise errors.SharedSubsystem(facts.address, facts.subnqn or '',
                                     facts.neighbours)
    if facts.uses:
        raise errors.InUse(facts.address, facts.uses)


def passing(uses: tuple[records.Use, ...]) -> bool:
    """Whether all that stands in the way mostly goes by itself.

    udev, and what it starts, looks into each block device that appears or
    was written to.
    """
    return bool(uses) and all(use.kind in ('opener', 'exclusive opener')
                              for use in uses)


def await_touchable(look: Callable[[], records.Facts],
                    seconds: float | None = None) -> records.Facts:
    """See the same, but let those who open a disk for a moment finish.

    :param look: gives the facts of now.
    :param seconds: how long; OPENER_SECONDS by default.
    :returns: the last ones that it gave.
    """
    limit = time.monotonic() + (
        OPENER_SECONDS if seconds is None else seconds)
    while True:
        facts = look()
        if not passing(facts.uses) or time.monotonic() > limit:
            check_touchable(facts)
            return facts
        time.sleep(_PAUSE)

# SPDX-License-Identifier: Apache-2.0
"""Which of the found functions must not be offered beside what is allocated.

One function of a host is one device under whatever name (ID-1), and a PF and
its VFs are one piece of hardware (ID-3). What a driver says of the PF of a
function stands in the standard board information, which the database keeps;
where a device has functions beside its own (the Intel drivers report a PF
with deployables of its VFs), its control path is the PF.

Pure: values in, values out.
"""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import functools
import json
from typing import Any

from cyborg.inventory import attach_info
from cyborg.inventory import changes
from cyborg.inventory import identity
from cyborg.inventory import values
from cyborg.pci import address as pci_address
from cyborg.pci import families

PciAddress = pci_address.PciAddress

#: Key of the standard board information that holds the PF of a VF, as text.
PARENT = 'physfn'


@functools.lru_cache(maxsize=16384)
def parent(board: str | None) -> PciAddress | None:
    """The PF that a device's standard board information names, or None."""
    if board is None or PARENT not in board:
        return None
    try:
        return PciAddress.parse(json.loads(board)[PARENT])
    except (ValueError, KeyError, TypeError):
        return None


def with_parent_of(board: str | None, stored: str | None) -> str | None:
    """``board``, with the PF that ``stored`` names if it names none itself.

    While a VF waits for its guest to be removed the kernel has dropped its
    link to the PF, and an agent of an earlier release never told of it.
    """
    kept = parent(stored)
    if kept is None or parent(board) is not None:
        return board
    try:
        info = json.loads(board or '{}')
    except ValueError:
        return board
    if not isinstance(info, dict):
        return board
    return json.dumps(info | {PARENT: str(kept)})


def without_parent(board: str | None) -> str | None:
    """``board`` as a reader of 2026.2 knows it."""
    if board is None or parent(board) is None:
        return board
    info = json.loads(board)
    del info[PARENT]
    return json.dumps(info)


@dataclasses.dataclass(frozen=True)
class Function:
    """What an attach handle gives to a guest.

    :ivar parent: its PF, where that is known and in another deployable.
    :ivar part: a mediated device is a part of a function only.
    """

    address: PciAddress
    parent: PciAddress | None = None
    part: bool = False


def functions(handles: Iterable[tuple[str, str]], cpid_type: str | None,
              cpid_info: str | None, board: str | None
              ) -> list[Function | None]:
    """The function of each handle of a deployable; None without an address.

    :param handles: all of the deployable, as (attach type, attach info)
    :param cpid_type: of the device's control path, as ``cpid_info``
    :param board: standard board information of the device
    """
    found = [(attach_type, _handle_address(attach_type, info))
             for attach_type, info in handles]
    here = {address for _, address in found}
    named, path = parent(board), _path(cpid_type, cpid_info)
    # All functions of one deployable may belong to one card that is handed
    # out as a whole, its first one no PF of the others.
    whole = named or path
    parents = {'PCI': None if whole in here else whole,
               'MDEV': None if named in here else named}
    return [None if address is None else Function(
        address, parents.get(attach_type), attach_type == 'MDEV')
        for attach_type, address in found]


def _handle_address(attach_type: str, info: str) -> PciAddress | None:
    try:
        return attach_info.AttachInfo.read(info).key(attach_type)[1]
    except identity.InvalidInfo:
        return None


def _path(cpid_type: str | None, cpid_info: str | None) -> PciAddress | None:
    if cpid_type != 'PCI' or cpid_info is None:
        return None
    try:
        return identity.controlpath_key(cpid_type, cpid_info)[1]
    except identity.InvalidInfo:
        return None


def clash(one: Function, other: Function) -> bool:
    """Whether both give away the same: parts of a function can be several."""
    return one.address == other.address and not (one.part and other.part)


@dataclasses.dataclass(frozen=True)
class _Owner:
    """A deployable that guests have something of, or that is offered."""

    name: str
    functions: tuple[Function, ...]


class _Occupied:
    """Functions that are given away, by address."""

    def __init__(self):
        self._by_address: dict[PciAddress, list[tuple[_Owner, Function]]] = {}

    def add(self, owner: _Owner) -> None:
        for each in owner.functions:
            self._by_address.setdefault(each.address, []).append(
                (owner, each))

    def by(self, owner: _Owner) -> tuple[PciAddress, str] | None:
        """The first function that another has, and the other's name."""
        for each in owner.functions:
            for other, function in self._by_address.get(each.address, ()):
                if clash(each, function):
                    return each.address, other.name
        return None

    def addresses(self) -> frozenset[PciAddress]:
        return frozenset(self._by_address)

    def parents(self) -> dict[PciAddress, PciAddress]:
        return {address: function.parent
                for address, given in self._by_address.items()
                for _, function in given if function.parent is not None}


def _found_functions(device, deployable) -> tuple[Function, ...]:
    return tuple(each for each in functions(
        [(h.attach_type, h.attach_info) for h in deployable.handles],
        device.cpid_type, device.cpid_info, device.std_board_info) if each)


def persisted_functions(device: values.PersistedDevice,
                        deployable: values.PersistedDeployable
                        ) -> list[tuple[values.PersistedHandle, Function]]:
    """The handles of a deployable that have a readable address."""
    path = device.controlpath
    found = functions(
        [(h.attach_type, h.attach_info) for h in deployable.handles],
        path.cpid_type if path else None, path.cpid_info if path else None,
        device.std_board_info)
    return [(handle, function) for handle, function in zip(
        deployable.handles, found, strict=True) if function is not None]


def _allocated_functions(device, deployable) -> tuple[Function, ...]:
    if not any(h.allocated for h in deployable.handles):
        return ()
    return tuple(function for handle, function in persisted_functions(
        device, deployable) if handle.allocated)


def _allocated(persisted: values.PersistedHost) -> Iterator[tuple[
        values.PersistedDevice, _Owner]]:
    for device in persisted.devices:
        for deployable in device.deployables:
            found = _allocated_functions(device, deployable)
            if found:
                yield device, _Owner(deployable.name, found)


def screened(found: Mapping[Any, values.DiscoveredDevice],
             persisted: values.PersistedHost
             ) -> tuple[dict, list[changes.Fault]]:
    """What may be offered of a discovery, and why the rest may not.

    :param found: devices by the key of their control path.
    :returns: the devices without the deployables that are in the way of
        others; a device of which nothing is left is left out.
    """
    given, offered = _Occupied(), _Occupied()
    kept = set()
    for device, owner in _allocated(persisted):
        given.add(owner)
        kept.add((device.key, owner.name))
    faults: dict[tuple, changes.Fault] = {}
    candidates = []
    # What is allocated stays, and goes before what only could be.
    for key, device, deployable in _deployables(found, kept):
        owner = _Owner(deployable.name, _found_functions(device, deployable))
        place = (key, deployable.name)
        if place not in kept:
            taken = given.by(owner)
            double = taken or offered.by(owner)
            if double:
                faults[place] = _fault(
                    double, 'allocated' if taken else 'offered already')
                continue
            candidates.append((place, owner))
        offered.add(owner)
    faults |= _relatives(candidates, offered, given)
    return _left(found, faults), list(faults.values())


def with_stored_names(found: Mapping[Any, values.DiscoveredDevice],
                      persisted: values.PersistedHost) -> dict:
    """The devices, allocated deployables called what their rows call them.

    Drivers make the names from the name of the host. A deployable that a
    guest has something of keeps row, provider and presence whatever it is
    called now; it gets its new name once it is free.
    """
    result = dict(found)
    for stored in persisted.devices:
        device = result.get(stored.key) if stored.allocated else None
        if device is None:
            continue
        names = {d.name for d in stored.deployables}
        lost = [d for d in stored.deployables if d.allocated
                and d.name not in {each.name for each in device.deployables}]
        deployables = list(device.deployables)
        for row in lost:
            mine = {function.address for handle, function in
                    persisted_functions(stored, row) if handle.allocated}
            for index, each in enumerate(deployables):
                if each.name not in names and mine & {
                        function.address for function in
                        _found_functions(device, each)}:
                    deployables[index] = dataclasses.replace(
                        each, name=row.name)
                    break
        if lost:
            result[stored.key] = dataclasses.replace(
                device, deployables=tuple(deployables))
    return result


def _deployables(found, kept) -> list[tuple]:
    everything = [(key, device, deployable) for key, device in found.items()
                  if not device.stub for deployable in device.deployables]
    return sorted(everything, key=lambda each: (
        (each[0], each[2].name) not in kept))


def _fault(double: tuple[PciAddress, str], how: str) -> changes.Fault:
    address, name = double
    return changes.Fault(str(address), 'it is %s under the name %s' % (
        how, name))


def _relatives(candidates, offered, given) -> dict[tuple, changes.Fault]:
    withheld = families.withheld(
        sorted(offered.addresses()), offered.parents() | given.parents(),
        given.addresses())
    faults = {}
    for place, owner in candidates:
        for each in owner.functions:
            if each.address in withheld:
                faults[place] = changes.Fault(
                    str(each.address),
                    families.reason(withheld[each.address]))
                break
    return faults


def _left(found, faults) -> dict:
    left = dict(found)
    for key in {key for key, _name in faults}:
        device = found[key]
        deployables = tuple(d for d in device.deployables
                            if (key, d.name) not in faults)
        if deployables:
            left[key] = dataclasses.replace(device, deployables=deployables)
        else:
            del left[key]
    return left


def shared(persisted: values.PersistedHost) -> list[changes.Shared]:
    """Pieces of hardware that two guests have, as 2026.2 let them."""
    given = _Occupied()
    for _device, owner in _allocated(persisted):
        given.add(owner)
    both = families.both_allocated(given.parents(), given.addresses())
    return [changes.Shared(persisted.hostname, str(pf),
                           tuple(str(vf) for vf in vfs))
            for pf, vfs in sorted(both.items())]

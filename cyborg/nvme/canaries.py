# SPDX-License-Identifier: Apache-2.0
"""Blocks written before an erase that must be gone after it.

Disks lie: some answer "success" and erase nothing. What a canary holds
follows from a seed, so that a journal need keep only the plan, and a process
that was started anew can still look for what its predecessor wrote.
"""

import dataclasses
import hashlib
import random

from cyborg.nvme import errors
from cyborg.nvme import port as nvme_port
from cyborg.nvme import records

#: Bytes of a canary, where the block is not larger.
SIZE = 4096
#: Bytes that are compared one by one with the canary's: a disk that kept one
#: sector of a block has not erased it.
_SECTOR = 512


@dataclasses.dataclass(frozen=True)
class Place:
    """Where a canary stands: bytes of a namespace."""

    nsid: int
    offset: int
    length: int


@dataclasses.dataclass(frozen=True)
class Canaries:
    """All canaries of one erase.

    :ivar seed: 32 hexadecimal digits; new for each erase.
    """

    seed: str
    places: tuple[Place, ...]


def plan(disk: str, seed: str, namespaces: tuple[records.Namespace, ...],
         samples: int) -> Canaries:
    """Choose where canaries stand: pure, the same for the same seed.

    :param samples: canaries in each namespace, at least 1; the first and the
        last block are among them.
    :raises NothingToVerify: no namespace, or one that can't be read.
    """
    places: list[Place] = []
    for namespace in namespaces:
        if (not namespace.attached or namespace.extended
                and namespace.block.metadata_size):
            raise errors.NothingToVerify(disk)
        length = max(SIZE, namespace.block.data_size)
        slots = namespace.size // length
        if not slots:
            length = namespace.block.data_size
            slots = namespace.size // length
        chooser = random.Random('%s/%d' % (seed, namespace.nsid))
        chosen = {0, slots - 1}
        while len(chosen) < min(max(samples, 2), slots):
            chosen.add(chooser.randrange(slots))
        places += [Place(namespace.nsid, slot * length, length)
                   for slot in sorted(chosen)]
    if not places:
        raise errors.NothingToVerify(disk)
    return Canaries(seed, tuple(places))


def content(seed: str, place: Place) -> bytes:
    """The bytes of one canary; no two sectors are alike."""
    return hashlib.shake_256(b'%s/%d/%d' % (
        seed.encode(), place.nsid, place.offset)).digest(place.length)


def write(disk: str, port: nvme_port.Port, canaries: Canaries) -> None:
    """Write all canaries and see that each is there.

    :raises WriteLost: a canary was read back otherwise.
    :raises ShortTransfer: likewise, and see :meth:`Port.write`.
    """
    for place in canaries.places:
        port.write(place.nsid, place.offset, content(canaries.seed, place))
    for place in canaries.places:
        found = _read(disk, port, place)
        if found != content(canaries.seed, place):
            raise errors.WriteLost(disk, place.nsid, place.offset)


def verify(disk: str, port: nvme_port.Port, canaries: Canaries) -> None:
    """See that no sector of any canary is left.

    :raises NotErased: one is.
    :raises ShortTransfer: fewer bytes were read, which proves nothing.
    :raises DiskFailed: a block can't be read, which proves nothing either.
    """
    for place in canaries.places:
        found = _read(disk, port, place)
        left = surviving(found, content(canaries.seed, place))
        if left is not None:
            raise errors.NotErased(disk, place.nsid, place.offset + left,
                                   'a block written before')


def surviving(found: bytes, before: bytes) -> int | None:
    """Where the first sector stands that is as it was; None for none."""
    for start in range(0, len(before), _SECTOR):
        if found[start:start + _SECTOR] == before[start:start + _SECTOR]:
            return start
    return None


def _read(disk, port, place):
    found = port.read(place.nsid, place.offset, place.length)
    if len(found) != place.length:
        raise errors.ShortTransfer(
            disk, 'reading byte %d of namespace %d' % (
                place.offset, place.nsid), len(found), place.length)
    return found

# SPDX-License-Identifier: Apache-2.0
"""Attributes of a deployable: pairs of key and value, in which keys repeat.

The FPGA driver of 2026.2 numbers the traits of virtual functions from the
last number of the physical one again, so that two rows can have one key and
both count. What is a trait is known by the beginning of its key; its number
means nothing.
"""

import collections
from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses

#: How the keys of traits begin.
TRAIT = 'trait'

Pair = tuple[str, str]


@dataclasses.dataclass(frozen=True)
class Difference:
    """What has to be done to stored attributes; rows go by their place.

    :ivar added: pairs without a row, in the order of the report.
    :ivar changed: (place, new value) of rows that keep their key.
    :ivar removed: places of rows that have no pair any more.
    """

    added: tuple[Pair, ...]
    changed: tuple[tuple[int, str], ...]
    removed: tuple[int, ...]


def difference(stored: Sequence[Pair],
               wanted: Sequence[Pair]) -> Difference | None:
    """Compare two bags of pairs; None when they mean the same.

    The number in a trait's key doesn't count as long as the traits are the
    same, so that rows of another release or driver stay as they are.
    """
    if tuple(stored) == tuple(wanted) or _meaning(stored) == _meaning(wanted):
        return None
    open_pairs = list(wanted)
    others = []
    for place, pair in enumerate(stored):
        if pair in open_pairs:
            open_pairs.remove(pair)
        else:
            others.append(place)
    changed, removed = [], []
    for place in others:
        key = stored[place][0]
        match = next((pair for pair in open_pairs if pair[0] == key), None)
        if match is None:
            removed.append(place)
        else:
            open_pairs.remove(match)
            changed.append((place, match[1]))
    return Difference(tuple(open_pairs), tuple(changed), tuple(removed))


def _meaning(pairs: Iterable[Pair]) -> collections.Counter:
    return collections.Counter(
        (TRAIT if key.startswith(TRAIT) else key, value)
        for key, value in pairs)

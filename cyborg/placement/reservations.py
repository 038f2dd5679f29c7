# SPDX-License-Identifier: Apache-2.0
"""Who has reserved units of a provider: one number, several owners.

Placement keeps ``reserved`` as a number without a name. Three write it here,
and others may: an operator's *disable*, a *missing* device that is still
allocated, and *others*, which is whatever was there before (a script, a tool
that wipes the device, an operator). Each owner leaves a trait on the provider
that says what is its own, and lifts no more than that. Pure: values in,
values out.
"""

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import re

from cyborg.common import constants
from cyborg.placement import client

Inventories = Mapping[str, client.Inventory]

_DISABLED = re.compile(
    re.escape(constants.DISABLED_TRAIT_PREFIX) + '([0-9]{1,9})')


@dataclasses.dataclass(frozen=True)
class Owners:
    """What the traits of a provider say of its reservation.

    :ivar others: units that others had reserved when the device was
        disabled; None when no disable has left its mark.
    :ivar missing: units are reserved for a device that is missing.
    """

    others: int | None = None
    missing: bool = False

    @property
    def disabled(self) -> bool:
        return self.others is not None


def owners(traits: Iterable[str]) -> Owners:
    """The owners that have left their marks."""
    names = set(traits)
    numbers = [int(match.group(1))
               for match in map(_DISABLED.fullmatch, names) if match]
    # Of two marks the one that gives out less.
    return Owners(max(numbers, default=None),
                  constants.MISSING_TRAIT in names)


def disabled_mark(others: int) -> str:
    """The trait of a disable that found units reserved by others."""
    return '%s%d' % (constants.DISABLED_TRAIT_PREFIX, others)


def without_disabled_mark(traits: Iterable[str]) -> frozenset[str]:
    return frozenset(name for name in traits
                     if not _DISABLED.fullmatch(name))


def of_others(inventories: Inventories, found: Owners) -> int:
    """Units that others have reserved, at most of any one class.

    What a missing device has reserved is not theirs.
    """
    if found.others is not None:
        return found.others
    if found.missing:
        return 0
    return max((record.reserved for record in inventories.values()),
               default=0)


def everything(inventories: Inventories) -> dict[str, client.Inventory]:
    """All units reserved; allocations stay, and nothing else changes."""
    return {name: dataclasses.replace(record, reserved=record.total)
            for name, record in inventories.items()}


def lifted(inventories: Inventories, found: Owners
           ) -> dict[str, client.Inventory]:
    """The reservation of a disable taken away, and nobody else's.

    Where allocated units are missing, all stay reserved: the next report
    knows how many those are.
    """
    if found.others is None or found.missing:
        return dict(inventories)
    return {name: dataclasses.replace(record, reserved=min(
                found.others, record.reserved))
            for name, record in inventories.items()}

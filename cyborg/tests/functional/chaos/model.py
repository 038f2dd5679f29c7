# SPDX-License-Identifier: Apache-2.0
"""What one clean report has to lead to, worked out without our own code.

From what the host shows, what is kept of it and who has what, by the words
of MIS-1..6 and REC-3, REC-4, REC-6.
"""

import dataclasses

from cyborg.tests.functional.chaos import hardware

OWNER, MISSING = 'OWNER_CYBORG', 'CUSTOM_CYBORG_MISSING'


@dataclasses.dataclass(frozen=True)
class Handle:
    """:ivar arq: UUID of the request that has it, or None."""

    managed: bool
    arq: str | None = None


@dataclasses.dataclass(frozen=True)
class Kept:
    """The rows of one device.

    :ivar total: accelerators that were there when it was last seen.
    :ivar handles: by number of the function.
    """

    vendor: str
    traits: frozenset[str]
    total: int
    handles: dict[int, Handle]
    disabled: bool = False

    @property
    def allocated(self) -> dict[int, Handle]:
        return {part: handle for part, handle in self.handles.items()
                if handle.arq is not None}


@dataclasses.dataclass(frozen=True)
class Provider:
    """:ivar marked: None where either is right."""

    total: int
    reserved: int
    traits: frozenset[str]
    marked: bool | None


@dataclasses.dataclass(frozen=True)
class Outcome:
    """:ivar waits: Nova has to give something back before all is as it should
        be, and each report asks whether it did.
    """

    kept: dict[int, Kept]
    providers: dict[int, Provider]
    waits: bool = False


def refused(host: hardware.Host, kept: dict[int, Kept]) -> list[int]:
    """Buses whose allocated devices would change their managed mode."""
    return [bus for bus, card in host.cards.items() if bus in kept
            and kept[bus].vendor == card.vendor and any(
                part in card.parts and handle.managed != card.mode_of(part)
                for part, handle in kept[bus].allocated.items())]


def report(host: hardware.Host, kept: dict[int, Kept],
           used: dict[int, int]) -> Outcome:
    """:param used: units that Placement has given away, by bus."""
    after, providers, waits = {}, {}, False
    for bus in sorted(kept.keys() | host.cards.keys()):
        before, card = kept.get(bus), host.cards.get(bus)
        units, free = used.get(bus, 0), 0
        if card is not None and (
                before is None or before.vendor == card.vendor
                or not before.allocated):
            after[bus] = _present(card, before)
            total = len(after[bus].handles)
            lost = total - len(card.parts)
            free = sum(part not in after[bus].allocated
                       for part in card.parts)
            # What is missing in part depends on what is given away.
            waits |= bool(lost and free)
        elif before.allocated:
            after[bus] = before
            total = lost = max(before.total, len(before.allocated))
        elif units:
            # Nova holds what no request of ours explains (MIS-4).
            after[bus] = before
            total = lost = before.total
            waits = True
        else:
            continue
        waits |= units > total
        providers[bus] = _provider(after[bus], total, lost, units,
                                   free)
        if after[bus].disabled and not before.allocated and lost:
            providers[bus] = dataclasses.replace(providers[bus], marked=None)
    return Outcome(after, providers, waits)


def _present(card: hardware.Card, before: Kept | None) -> Kept:
    handles = {} if before is None else dict(before.allocated)
    for part in card.parts:
        handles.setdefault(part, Handle(card.mode_of(part)))
    return Kept(card.vendor, frozenset('CUSTOM_' + t for t in card.traits),
                len(card.parts), handles,
                before is not None and before.disabled)


def _provider(kept: Kept, total: int, lost: int, units: int,
              free: int) -> Provider:
    """:param free: units of it that are there and nobody has."""
    # Never below what is given away (B02).
    lost, total = lost + max(0, units - total), max(total, units)
    lost = min(lost, total)
    held = max(0, min(lost, total - units - free)) if free else lost
    return Provider(total, total if kept.disabled else held,
                    kept.traits | {OWNER}, lost > 0)

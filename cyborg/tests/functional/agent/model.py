# SPDX-License-Identifier: Apache-2.0
"""What the specification says becomes of a host, without any of our code.

A model to hold the services up against: it knows the sentences of "Persisted
state and reconciliation" and "Startup and periodic reporting", and nothing
of plans, rows or providers.
"""

import dataclasses


class Refused(Exception):
    """The configuration conflicts with an allocation; ``address`` names it."""

    def __init__(self, addresses):
        super().__init__(sorted(addresses))
        self.addresses = sorted(addresses)


@dataclasses.dataclass(frozen=True)
class Card:
    """Hardware in a slot."""

    vendor: int
    product: int


@dataclasses.dataclass(frozen=True)
class Configuration:
    """``managed`` by address; what is not in it matches no rule.

    :ivar managed: None where the rule does not say, which means true.
    """

    managed: dict[str, bool | None]
    excluded: frozenset[str] = frozenset()

    def offers(self, slots: dict[str, Card]) -> dict[str, bool]:
        """Effective managed mode of each device that is found."""
        return {address: self.managed[address] is not False
                for address in slots if address in self.managed
                and address not in self.excluded}


@dataclasses.dataclass
class Handle:
    """One device as the service keeps it."""

    card: Card
    managed: bool
    arq: str | None = None
    disabled: bool = False
    missing: bool = False

    @property
    def reserved(self) -> int:
        return int(self.missing or self.disabled)


class Model:
    """A host: what is in its slots, and what is kept of it."""

    def __init__(self):
        self.slots: dict[str, Card] = {}
        self.kept: dict[str, Handle] = {}

    def report(self, configuration: Configuration) -> None:
        """One report under a configuration.

        :raises Refused: and nothing is any different.
        """
        offered = configuration.offers(self.slots)
        refused = [address for address, managed in offered.items()
                   if self._is_allocated_here(address)
                   and self.kept[address].managed != managed]
        if refused:
            raise Refused(refused)
        for address in list(self.kept):
            handle = self.kept[address]
            if address in offered and (
                    handle.arq is None
                    or handle.card == self.slots[address]):
                continue
            if handle.arq is None:
                del self.kept[address]
            else:
                handle.missing = True
        for address, managed in offered.items():
            handle = self.kept.get(address)
            if handle is None:
                self.kept[address] = Handle(self.slots[address], managed)
            elif handle.arq is None:
                handle.card, handle.managed = self.slots[address], managed
                handle.missing = False
            elif handle.card == self.slots[address]:
                handle.missing = False

    def _is_allocated_here(self, address: str) -> bool:
        handle = self.kept.get(address)
        return (handle is not None and handle.arq is not None
                and handle.card == self.slots[address])

    def free(self) -> list[str]:
        """Addresses that Placement offers to Nova."""
        return sorted(address for address, handle in self.kept.items()
                      if handle.arq is None and not handle.reserved)

    def bound(self) -> list[str]:
        return sorted(address for address, handle in self.kept.items()
                      if handle.arq is not None)

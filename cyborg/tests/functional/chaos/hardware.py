# SPDX-License-Identifier: Apache-2.0
"""A small host: what is in its slots, and how the operator wants it used."""

import dataclasses
import random

from cyborg.tests.functional.conductor import base

#: By bus number: attach type, and how many functions at most.
SLOTS = {1: ('PCI', 1), 2: ('PCI', 1), 3: ('PCI', 3), 4: ('MDEV', 2)}
_VENDORS = ('10de', '8086')
_TRAITS = (('A',), ('B',), ('A', 'B'), ())


def name(bus: int) -> str:
    """Of deployable and provider."""
    return '%s_0000:%02x:00.0' % (base.HOST, bus)


@dataclasses.dataclass(frozen=True)
class Card:
    """Hardware in a slot, with what the configuration says of it.

    :ivar parts: numbers of the functions that are there.
    :ivar managed: None where no rule says, which means true.
    :ivar modes: (part, managed) where a rule says otherwise of that part.
    """

    bus: int
    vendor: str
    parts: tuple[int, ...]
    managed: bool | None = None
    traits: tuple[str, ...] = ('A',)
    modes: tuple[tuple[int, bool], ...] = ()

    def mode_of(self, part: int) -> bool:
        """Effective managed mode."""
        return dict(self.modes).get(part, self.managed) is not False

    def _handle(self, part: int):
        mode = dict(self.modes).get(part, self.managed)
        settings = {} if mode is None else {'managed': mode}
        kind = SLOTS[self.bus][0]
        if kind == 'MDEV':
            settings |= {'asked_type': 'nvidia-35', 'vgpu_mark': str(part)}
            part = 0
        return base.handle(kind, **base.address(self.bus, 0, part),
                           **settings)

    def device(self):
        """As a driver reports it."""
        return base.device(
            self.bus, vendor=self.vendor, traits=self.traits,
            handles=[self._handle(part) for part in self.parts])


@dataclasses.dataclass(frozen=True)
class Host:
    """All cards that the rules select, by bus."""

    cards: dict[int, Card]

    def devices(self) -> list:
        return [card.device() for card in self.cards.values()]

    def with_card(self, card: Card) -> 'Host':
        return Host(dict(sorted((self.cards | {card.bus: card}).items())))

    def without(self, bus: int) -> 'Host':
        return Host({b: c for b, c in self.cards.items() if b != bus})


def new_card(dice: random.Random, bus: int, but: str = '') -> Card:
    """:param but: a vendor that it is not of."""
    return Card(bus, dice.choice([v for v in _VENDORS if v != but]),
                _some_parts(dice, bus), dice.choice((None, True, False)),
                dice.choice(_TRAITS))


def _some_parts(dice: random.Random, bus: int) -> tuple[int, ...]:
    most = SLOTS[bus][1]
    return tuple(sorted(dice.sample(range(most), dice.randint(1, most))))


def changed(dice: random.Random, host: Host, allocated: set[int],
            flips: bool = False) -> Host:
    """The host after one to three changes of devices or configuration.

    :param allocated: buses whose mode had better stay, or all is refused.
        Only now and then it changes.
    :param flips: the mode changes on all others, and nothing else does.
    """
    fixed = allocated if dice.random() < 0.8 else set()
    if flips:
        return Host({bus: card if bus in fixed else dataclasses.replace(
            card, managed=card.managed is False, modes=())
            for bus, card in host.cards.items()})
    for _ in range(dice.randint(1, 3)):
        bus = dice.choice(list(SLOTS))
        card = host.cards.get(bus)
        what = dice.choice(('pull', 'replace', 'mode', 'traits', 'parts'))
        if card is None:
            host = host.with_card(new_card(dice, bus))
        elif what == 'pull':
            host = host.without(bus)
        elif what == 'replace':
            host = host.with_card(new_card(dice, bus, card.vendor))
        elif what == 'mode' and bus not in fixed:
            host = host.with_card(dataclasses.replace(
                card, managed=card.managed is False, modes=()))
        elif what == 'parts':
            host = host.with_card(dataclasses.replace(
                card, parts=_some_parts(dice, bus)))
        else:
            host = host.with_card(dataclasses.replace(
                card, traits=dice.choice(_TRAITS)))
    return host

# SPDX-License-Identifier: Apache-2.0
"""The values a rule of ``[pci] device_spec`` may hold, and how they match.

Each ``parse_*`` function raises ``ValueError`` with a reason that an operator
can read. What they accept is what the 2026.2 release understood.
"""

import dataclasses
import re

from cyborg.pci import address as pci_address
from cyborg.pci import printable

PciAddress = pci_address.PciAddress

#: Parts of an address as rules name them, in order, with the largest value
#: and the number of digits of each. Rules end at 16 bit domains: what lies
#: beyond is never offered.
PARTS = (('domain', 0xffff, 4), ('bus', 0xff, 2), ('slot', 0x1f, 2),
         ('function', 0x7, 1))
FIELDS = tuple(name for name, _largest, _digits in PARTS)


@dataclasses.dataclass(frozen=True)
class AddressPattern:
    """``*:3b:00.*``: each part is a number, or None for any.

    :ivar parts: in the order of :data:`PARTS`.
    """

    parts: tuple[int | None, ...]

    def matches(self, address: PciAddress) -> bool:
        return all(want is None or want == have for want, have in zip(
            self.parts, dataclasses.astuple(address), strict=True))

    @property
    def exact(self) -> PciAddress | None:
        """The one function meant, when every part is given."""
        return None if None in self.parts else PciAddress(*self.parts)


@dataclasses.dataclass(frozen=True)
class AddressRegex:
    """One regular expression a part, anchored at its start only."""

    parts: tuple[re.Pattern, ...]

    def matches(self, address: PciAddress) -> bool:
        values = address.fields()
        values['slot'] = values['device']
        return all(pattern.match(values[name]) for name, pattern in zip(
            FIELDS, self.parts, strict=True))

    @property
    def exact(self) -> PciAddress | None:
        """The one function meant, when all parts are written out in full."""
        text = '%s:%s:%s.%s' % tuple(part.pattern for part in self.parts)
        try:
            address = PciAddress.parse(text)
        except pci_address.InvalidPciAddress:
            return None
        return address if str(address) == text else None


def parse_id(text: str) -> str | None:
    """A vendor or product id: four lower case digits, or None for any."""
    value = _hex(text, 0xffff)
    return None if value is None else '%04x' % value


def parse_address(text: str) -> AddressPattern:
    """``[[domain:]bus:]slot.function``; an empty or absent part is any."""
    head, _dot, function = text.partition('.')
    parts = head.split(':')
    if len(parts) > 3:
        raise ValueError('%s has too many parts: write domain:bus:slot.'
                         'function' % printable.quoted(text))
    parts = [''] * (3 - len(parts)) + parts + [function]
    values = []
    for (name, largest, _digits), part in zip(PARTS, parts, strict=True):
        try:
            values.append(_hex(part, largest) if part.strip() else None)
        except ValueError as error:
            raise ValueError('%s %s' % (name, error)) from None
    return AddressPattern(tuple(values))


def parse_regex(text: str) -> re.Pattern:
    try:
        return re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError('%s is no regular expression: %s'
                         % (printable.quoted(text), error)) from None


def parse_boolean(value: bool | str) -> bool:
    """true or false, as a JSON boolean or as text in any case (CFG-3)."""
    if isinstance(value, bool):
        return value
    known = {'true': True, 'false': False}
    if value.lower() not in known:
        raise ValueError('%s is neither true nor false'
                         % printable.quoted(value))
    return known[value.lower()]


def _hex(text: str, largest: int) -> int | None:
    """A number up to ``largest``; None for ``*``."""
    text = text.strip()
    if text == '*':
        return None
    try:
        value = int(text, 16)
    except ValueError:
        value = -1
    if value < 0:
        raise ValueError('%s is neither a hexadecimal number nor *'
                         % printable.quoted(text))
    if value > largest:
        raise ValueError('%s is larger than %x' % (
            printable.quoted(text), largest))
    return value

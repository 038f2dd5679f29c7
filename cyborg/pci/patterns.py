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
#: What is wrong with an address that is given, and says nothing.
NO_RESTRICTION = 'restricts nothing: leave the key out, or write "*"'
_NUMBER = re.compile(r'(?:0[xX])?[0-9a-fA-F]+')


@dataclasses.dataclass(frozen=True)
class AddressPattern:
    """``*:3b:00.*``: each part is a number, or None for any.

    :ivar parts: in the order of :data:`PARTS`.
    """

    parts: tuple[int | None, ...]

    def matches(self, address: PciAddress) -> bool:
        return all(want is None or want == have for want, have in zip(
            self.parts, dataclasses.astuple(address), strict=True))


@dataclasses.dataclass(frozen=True)
class AddressRegex:
    """One regular expression a part, anchored at its start only."""

    parts: tuple[re.Pattern, ...]

    def matches(self, address: PciAddress) -> bool:
        values = address.fields()
        values['slot'] = values['device']
        return all(pattern.match(values[name]) for name, pattern in zip(
            FIELDS, self.parts, strict=True))


def parse_id(text: str) -> str | None:
    """A vendor or product id: four lower case digits, or None for any."""
    value = _hex(text, 0xffff)
    return None if value is None else '%04x' % value


def parse_address(text: str) -> AddressPattern:
    """``[[domain:]bus:]slot.function``; an empty or absent part is any."""
    if not text.strip():
        raise ValueError('%s %s' % (printable.quoted(text), NO_RESTRICTION))
    parts = _address_parts(text)
    if len(parts) > len(PARTS):
        raise ValueError('%s has too many parts: write domain:bus:slot.'
                         'function' % printable.quoted(text))
    parts = [''] * (len(PARTS) - len(parts)) + parts
    values = []
    for (name, largest, _digits), part in zip(PARTS, parts, strict=True):
        try:
            values.append(_hex(part, largest) if part.strip() else None)
        except ValueError as error:
            raise ValueError('%s %s' % (name, error)) from None
    return AddressPattern(tuple(values))


def empty_parts(text: str) -> list[str]:
    """Names of the parts that an address names, and gives no value."""
    parts = _address_parts(text)
    if '.' not in text:
        parts[-1] = '*'
    return [name for name, part in zip(
        FIELDS[-len(parts):], parts, strict=True) if not part.strip()]


def _address_parts(text: str) -> list[str]:
    head, _dot, function = text.partition('.')
    return [*head.split(':'), function]


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
    # int() takes more: "1_0", "+10", digits of other scripts.
    if _NUMBER.fullmatch(text) is None:
        raise ValueError('%s is neither a hexadecimal number nor *'
                         % printable.quoted(text))
    value = int(text, 16)
    if value > largest:
        raise ValueError('%s is larger than %x' % (
            printable.quoted(text), largest))
    return value

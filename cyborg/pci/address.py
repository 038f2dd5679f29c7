# SPDX-License-Identifier: Apache-2.0
"""The address of a PCI function: one value, one text form.

Linux writes ``domain:bus:device.function`` with at least four hexadecimal
digits for the domain. Domains of more than 16 bits exist (Linux numbers the
domains behind Intel VMD from 10000 up); libvirt and Nova can't address them.
"""

from collections.abc import Mapping
import dataclasses
import functools
import re
from typing import Any

from cyborg.pci import printable

#: Largest value of each part, as the PCI specification and Linux have it.
LIMITS = {'domain': 0xffffffff, 'bus': 0xff, 'device': 0x1f, 'function': 0x7}
#: Largest domain that libvirt and Nova can name.
MAX_ADDRESSABLE_DOMAIN = 0xffff

#: The form Linux writes, for expressions that hold an address.
EXPRESSION = r'[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]'

_TEXT = re.compile(r'([0-9a-fA-F]{4,8}):([0-9a-fA-F]{2}):([0-9a-fA-F]{2})'
                   r'\.([0-9a-fA-F])')
_DIGITS = re.compile('[0-9a-fA-F]+')


class InvalidPciAddress(ValueError):
    """A text that is no complete PCI address; ``reason`` says why."""

    def __init__(self, text: str, reason: str):
        super().__init__('%s is no PCI address: %s' % (
            printable.quoted(text), reason))
        self.text = text
        self.reason = reason


@dataclasses.dataclass(frozen=True, order=True, slots=True)
class PciAddress:
    """Sorts as ``lspci`` does: by domain, bus, device, function."""

    domain: int
    bus: int
    device: int
    function: int

    def __post_init__(self):
        if (0 <= self.function <= 7 and 0 <= self.device <= 0x1f
                and 0 <= self.bus <= 0xff
                and 0 <= self.domain <= 0xffffffff):
            return
        for name, largest in LIMITS.items():
            value = getattr(self, name)
            if not 0 <= value <= largest:
                raise InvalidPciAddress(
                    '%x:%x:%x.%x' % dataclasses.astuple(self),
                    '%s %x is larger than %x' % (name, value, largest))

    @classmethod
    @functools.lru_cache(maxsize=16384)
    def parse(cls, text: str) -> 'PciAddress':
        """Read a complete address in the form Linux writes, in any case.

        :raises InvalidPciAddress: parts are absent, too long, too large, or
            hold anything but hexadecimal digits.
        """
        match = _TEXT.fullmatch(text)
        if match is None:
            raise InvalidPciAddress(text, _why_not(text))
        domain, bus, device, function = match.groups()
        try:
            return cls(int(domain, 16), int(bus, 16), int(device, 16),
                       int(function, 16))
        except InvalidPciAddress as error:
            raise InvalidPciAddress(text, error.reason) from None

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> 'PciAddress':
        """Read what :meth:`fields` makes, with any number of digits.

        :raises ValueError: a part is absent, no text of hexadecimal digits,
            or too large; the message names it.
        """
        return cls(*(_part(fields, name, largest)
                     for name, largest in LIMITS.items()))

    @property
    def addressable(self) -> bool:
        """Whether libvirt and Nova can name this function."""
        return self.domain <= MAX_ADDRESSABLE_DOMAIN

    def fields(self) -> dict[str, str]:
        """The parts as the attach info and control path info keep them."""
        return {'bus': '%02x' % self.bus, 'device': '%02x' % self.device,
                'domain': '%04x' % self.domain,
                'function': '%x' % self.function}

    def parts(self) -> tuple[int, int, int, int]:
        return self.domain, self.bus, self.device, self.function

    def __str__(self) -> str:
        return '%04x:%02x:%02x.%x' % (self.domain, self.bus, self.device,
                                      self.function)


def _part(fields: Mapping[str, Any], name: str, largest: int) -> int:
    value = fields.get(name)
    if not isinstance(value, str):
        raise ValueError('no text under "%s"' % name)
    # int() takes more: "0x3b", " 3b", "3_b", digits of other scripts.
    if _DIGITS.fullmatch(value) is None or int(value, 16) > largest:
        raise ValueError('"%s" under "%s" is no hexadecimal number up to %x'
                         % (value, name, largest))
    return int(value, 16)


def _why_not(text: str) -> str:
    """The most helpful reason why a text can't be an address."""
    if any(char in text for char in '*?[]|()^$+\\'):
        return 'patterns are not allowed here, write one complete address'
    head, dot, function = text.rpartition('.')
    parts = head.split(':') if dot else []
    if len(parts) != 3:
        return ('write all four parts, domain:bus:slot.function, for example '
                '0000:3b:00.0')
    parts.append(function)
    for name, part in zip(('domain', 'bus', 'slot', 'function'), parts,
                          strict=True):
        if not _DIGITS.fullmatch(part):
            return '%s %s is not a hexadecimal number' % (
                name, printable.quoted(part))
    return ('the parts have 4 to 8, 2, 2 and 1 digits, for example '
            '0000:3b:00.0')

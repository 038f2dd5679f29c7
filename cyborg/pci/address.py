# SPDX-License-Identifier: Apache-2.0
"""The address of a PCI function: one value, one text form.

Linux writes ``domain:bus:device.function`` with at least four hexadecimal
digits for the domain. Domains of more than 16 bits exist (Linux numbers the
domains behind Intel VMD from 10000 up); libvirt and Nova can't address them.
"""

import dataclasses
import functools
import re

from cyborg.pci import printable

#: Largest value of each part, as the PCI specification and Linux have it.
LIMITS = {'domain': 0xffffffff, 'bus': 0xff, 'device': 0x1f, 'function': 0x7}
#: Largest domain that libvirt and Nova can name.
MAX_ADDRESSABLE_DOMAIN = 0xffff

_TEXT = re.compile(r'([0-9a-fA-F]{4,8}):([0-9a-fA-F]{2}):([0-9a-fA-F]{2})'
                   r'\.([0-9a-fA-F])')


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
        if not re.fullmatch('[0-9a-fA-F]+', part):
            return '%s %s is not a hexadecimal number' % (
                name, printable.quoted(part))
    return ('the parts have 4 to 8, 2, 2 and 1 digits, for example '
            '0000:3b:00.0')

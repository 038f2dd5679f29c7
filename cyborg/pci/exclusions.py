# SPDX-License-Identifier: Apache-2.0
"""The addresses of ``[pci] exclude_list``."""

from collections.abc import Sequence
import dataclasses

from cyborg.pci import address as pci_address
from cyborg.pci import printable

PciAddress = pci_address.PciAddress


@dataclasses.dataclass(frozen=True)
class Fault:
    """An entry that is no complete address.

    :ivar position: counts from 1.
    :ivar entry: as a message can show it.
    """

    position: int
    entry: str
    reason: str

    def __str__(self):
        return 'entry %d, "%s": %s' % (self.position, self.entry, self.reason)


class InvalidExcludeList(ValueError):
    """``faults`` holds every entry that is wrong, in order."""

    def __init__(self, faults: Sequence[Fault]):
        super().__init__('\n'.join(str(fault) for fault in faults))
        self.faults = tuple(faults)


def load(entries: Sequence[str]) -> frozenset[PciAddress]:
    """Complete addresses, in either case, with up to 32 bit domains.

    :raises InvalidExcludeList: one or more entries are anything else.
    """
    found, faults = set(), []
    for position, entry in enumerate(entries, 1):
        try:
            found.add(PciAddress.parse(entry.strip()))
        except pci_address.InvalidPciAddress as error:
            faults.append(Fault(position, printable.one_line(entry),
                                error.reason))
    if faults:
        raise InvalidExcludeList(faults)
    return frozenset(found)

# SPDX-License-Identifier: Apache-2.0
"""The PCI device that ``cyborg-standalone`` proposes to offer."""

from collections.abc import Collection
from collections.abc import Sequence
import json

from cyborg.pci import address as pci_address
from cyborg.pci import classes
from cyborg.pci import sysfs

PciAddress = pci_address.PciAddress

_BRIDGES = 0x06


def rule(address: PciAddress) -> str:
    """A rule that selects one device, as ``--device-spec`` takes it."""
    return json.dumps({'address': str(address)})


def device(devices: Sequence[sysfs.PciDevice],
           exclude: Collection[PciAddress],
           in_use: Collection[PciAddress]) -> PciAddress | None:
    """One that the service would accept, and the host can do without.

    A VF if there is one: it is what guests mostly get. None where every
    device is a bridge, in use, excluded, or of a class that is refused.

    :param in_use: what carries the network or the disk of the host.
    """
    unfit = {*in_use, *exclude}
    for each in devices:
        if (not each.address.addressable or each.address in exclude
                or classes.excluded(each.class_code)):
            # A PF takes its VFs along when a guest has it.
            unfit |= {each.address, each.physfn}
    fit = [each for each in devices if each.address not in unfit
           and each.class_code >> 16 != _BRIDGES]
    best = max(fit, default=None, key=lambda each: (
        each.physfn is not None, each.address))
    return best.address if best else None

# SPDX-License-Identifier: Apache-2.0
"""The PCI device that ``cyborg-standalone`` proposes to offer."""

from collections.abc import Collection
from collections.abc import Sequence
import json

from cyborg.pci import address as pci_address
from cyborg.pci import device_spec
from cyborg.pci import selection
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
    fit = [each for each in devices
           if each.address.addressable
           and each.class_code >> 16 != _BRIDGES
           and each.address not in in_use]
    for each in sorted(fit, reverse=True, key=lambda each: (
            each.physfn is not None, each.address)):
        # The class of a PF's VFs counts, too: its rule selects them.
        verdicts = selection.select(
            devices, device_spec.load([rule(each.address)]).rules, exclude,
            allow_unsafe=False)
        taken = [verdict for verdict in verdicts if verdict.rule]
        if taken and all(verdict.offered for verdict in taken):
            return each.address
    return None

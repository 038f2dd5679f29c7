# SPDX-License-Identifier: Apache-2.0
"""What is stored of functions that guests have.

Using a device changes what a rule may have selected it by: its network
interface goes, and a VF whose removal waits for a guest has lost its link to
the PF already. What is stored stays, so it decides until the guest lets go
(ID-4).
"""

from collections.abc import Mapping
from typing import NamedTuple

from cyborg.pci import address as pci_address
from cyborg.pci import sysfs

PciAddress = pci_address.PciAddress


class Held(NamedTuple):
    """An allocated function, by its rows.

    :ivar ids: vendor and product id, four digits each; None if a driver
        stored something else.
    :ivar managed: how it was attached; absent counts as true.
    :ivar parent: the PF of a VF, where that is stored.
    """

    ids: tuple[str, str] | None = None
    managed: bool = True
    parent: PciAddress | None = None

    def is_of(self, device: sysfs.PciDevice) -> bool:
        """Whether the device is the one that was allocated (MIS-6)."""
        return self.ids in (None, (device.vendor_id, device.product_id))


Holdings = Mapping[PciAddress, Held]


def restored(device: sysfs.PciDevice, held: Held | None
             ) -> sysfs.PciDevice:
    """The device as it was when it was allocated."""
    if (held is None or held.parent is None or device.physfn is not None
            or not held.is_of(device)):
        return device
    return device._replace(physfn=held.parent)

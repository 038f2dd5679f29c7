# SPDX-License-Identifier: Apache-2.0
"""Whether what a machine shows is what is stored under another host name.

A device stands at an address and has ids; both together tell machines apart,
unless two of them are equipped alike. What names they have is the caller's
business.
"""

from collections.abc import Iterable

from cyborg.inventory import identity
from cyborg.inventory import plan as planner
from cyborg.inventory import values


def shared(found: Iterable[values.DiscoveredDevice],
           persisted: values.PersistedHost
           ) -> list[values.PersistedDevice]:
    """The stored devices that stand where one with the same ids was found."""
    places = set(_places(found))
    return [device for device in persisted.devices
            if device.key is not None and (device.key, *planner.hardware(
                device.vendor, device.model, device.std_board_info))
            in places]


def _places(found: Iterable[values.DiscoveredDevice]):
    for device in found:
        if any(handle.attach_type == 'TEST_PCI' for deployable in
               device.deployables for handle in deployable.handles):
            # The fake driver has the same on every machine.
            continue
        try:
            yield (device.key, *planner.hardware(
                device.vendor, device.model, device.std_board_info))
        except identity.InvalidInfo:
            continue

# SPDX-License-Identifier: Apache-2.0
"""What guests have of a host, from its rows, in the words of PCI (ID-4)."""

from cyborg.inventory import identity
from cyborg.inventory import plan as planner
from cyborg.inventory import relatives
from cyborg.inventory import values
from cyborg.pci import address as pci_address
from cyborg.pci import held


def of(persisted: values.PersistedHost
       ) -> dict[pci_address.PciAddress, held.Held]:
    """Allocated functions by address; a damaged handle is left out."""
    found = {}
    for device in persisted.devices:
        for deployable in device.deployables:
            for handle, function in relatives.persisted_functions(
                    device, deployable):
                if not handle.allocated:
                    continue
                try:
                    managed = handle.info.settings.managed
                except identity.InvalidInfo:
                    continue
                found[function.address] = held.Held(
                    _ids(device, function), managed, function.parent)
    return found


def _ids(device: values.PersistedDevice, function: relatives.Function
         ) -> tuple[str, str] | None:
    """None for a function beside its device's own, or odd ids."""
    if device.key != ('PCI', function.address):
        return None
    ids = tuple(each.removeprefix('0x') for each in planner.hardware(
        device.vendor, device.model, device.std_board_info))
    return ids if all(len(each) == 4 for each in ids) else None

# SPDX-License-Identifier: Apache-2.0
"""Devices of one kind that are allocated with different managed modes.

An agent of an earlier build changed the modes of a host one by one; ended in
the middle, and some of the devices allocated since, it left a host of which
no single value for its devices is accepted. What is accepted is a rule for
each.
"""

import dataclasses

from cyborg.inventory import changes
from cyborg.inventory import identity
from cyborg.inventory import plan as planner
from cyborg.inventory import values


@dataclasses.dataclass(frozen=True)
class Kept:
    """An allocated function, in the form ``[pci] device_spec`` has it."""

    address: str
    managed: bool


def mixed(plan: changes.Plan) -> tuple[Kept, ...]:
    """Where a plan refuses a mode and the opposite would be refused, too.

    :returns: the modes of all allocated PCI functions with the ids of a
        refused one, by address; empty where they all have the same.
    """
    ids = {_ids(change.device) for change in plan.refused}
    found = {}
    for device, deployable, _now in plan.present:
        if _ids(device) in ids:
            found.update(_modes(deployable))
    if len(set(found.values())) < 2:
        return ()
    return tuple(Kept(str(address), found[address])
                 for address in sorted(found))


def _ids(device: values.PersistedDevice) -> tuple[str, str]:
    return planner.hardware(device.vendor, device.model,
                            device.std_board_info)


def _modes(deployable: values.PersistedDeployable):
    for handle in deployable.handles:
        if not handle.allocated or handle.attach_type != 'PCI':
            continue
        try:
            yield handle.key[1], handle.info.settings.managed
        except identity.InvalidInfo:
            continue  # a refusal of its own

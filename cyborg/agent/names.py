# SPDX-License-Identifier: Apache-2.0
"""Under which other names the devices of this machine may be stored (ID-2).

A host name is no identity: it changes from short to long, or in its letter
case, and then every device of the machine would be found anew and be offered
beside itself. So the agent asks before its first report.
"""

from collections.abc import Iterable
from collections.abc import Sequence
import os
import socket

from oslo_log import log as logging

from cyborg.agent import root_provider
from cyborg.common import exception
from cyborg.inventory import identity
from cyborg.inventory import plan as planner
from cyborg.inventory import values
from cyborg.objects import host_inventory
from cyborg.objects import inventory_values

LOG = logging.getLogger(__name__)


def of_machine() -> list[str]:
    """Names this machine could have reported under, in any of its lives.

    Those that it looks for in Placement, and what the operating system calls
    it; each with its short form.
    """
    names = [*root_provider.candidate_names(), os.uname().nodename,
             socket.getfqdn()]
    names += [name.partition('.')[0] for name in names
              if not name.replace('.', '').isdigit()]
    return list(dict.fromkeys(
        name for name in names if name and not _is_local(name)))


def _is_local(name: str) -> bool:
    """What every machine may call itself is the name of none."""
    return name.lower().partition('.')[0] in ('localhost', 'localhost4',
                                              'localhost6')


def check(context, hostname: str,
          found: Sequence[values.DiscoveredDevice]) -> None:
    """Refuse to report while this machine has devices under another name.

    :param hostname: the name of the host's provider.
    :param found: what the drivers found.
    :raises exception.HostNameChanged: names both, and the ways out.
    """
    stored = host_inventory.HostInventory.get_names(
        context, [hostname, *of_machine()])
    for other, (devices, allocated) in sorted(stored.items()):
        if other == hostname:
            continue
        if not is_configured(other) and not _same_devices(
                found, host_inventory.HostInventory.get_by_host(
                    context, other)):
            # A machine of another domain may have the same short name.
            LOG.info('Host %s and host %s are different machines: none of '
                     'the devices stored of that one is here.', hostname,
                     other)
            continue
        raise changed(hostname, other, devices, allocated)


def is_configured(name: str) -> bool:
    """Whether an agent with this configuration may report under a name."""
    return name.lower() in {
        each.lower() for each in root_provider.candidate_names()}


def changed(hostname: str, other: str, devices: int, allocated: int
            ) -> exception.HostNameChanged:
    return exception.HostNameChanged(
        host=hostname, other=other, devices=devices, allocated=allocated)


def _same_devices(found: Iterable[values.DiscoveredDevice],
                  inventory: host_inventory.HostInventory) -> bool:
    persisted = inventory_values.persisted_host(inventory)
    stored = {(device.key, *planner.hardware(
        device.vendor, device.model, device.std_board_info))
        for device in persisted.devices if device.key is not None}
    return not stored.isdisjoint(_places(found))


def _places(found: Iterable[values.DiscoveredDevice]) -> set:
    places = set()
    for device in found:
        if any(handle.attach_type == 'TEST_PCI' for deployable in
               device.deployables for handle in deployable.handles):
            # The fake driver has the same on every machine.
            continue
        try:
            places.add((device.key, *planner.hardware(
                device.vendor, device.model, device.std_board_info)))
        except identity.InvalidInfo:
            continue
    return places

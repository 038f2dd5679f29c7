# SPDX-License-Identifier: Apache-2.0
"""Under which other names the devices of this machine may be stored (ID-2).

A host name is no identity: it changes from short to long, or in its letter
case, and then every device of the machine would be found anew and be offered
beside itself. So the agent asks before its first report.
"""

from collections.abc import Sequence
import os
import socket

from oslo_log import log as logging

from cyborg.agent import machine
from cyborg.agent import root_provider
from cyborg.common import context as cyborg_context
from cyborg.common import exception
from cyborg.conf import CONF
from cyborg.inventory import places
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


def check(context: cyborg_context.RequestContext, hostname: str,
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
        if not is_configured(other) and not places.shared(
                found, inventory_values.persisted_host(
                    host_inventory.HostInventory.get_by_host(
                        context, other))):
            # A machine of another domain may have the same short name.
            LOG.info('Host %s and host %s are different machines: none of '
                     'the devices stored of that one is here.', hostname,
                     other)
            continue
        if not is_configured(other) and _is_another(context, other):
            LOG.info('Host %s and host %s are different machines: that one '
                     'has reported since this one was booted.', hostname,
                     other)
            continue
        raise changed(hostname, other, devices, allocated)


def _is_another(context, other: str) -> bool:
    try:
        last = host_inventory.HostInventory.get_last_machine(context, other)
    except exception.RemoteMethodRefused:
        return False
    return last is not None and machine.is_another(
        machine.mark(CONF.pci.sysfs_path),
        machine.uptime(CONF.pci.sysfs_path), *last)


def is_configured(name: str) -> bool:
    """Whether an agent with this configuration may report under a name."""
    return name.lower() in {
        each.lower() for each in root_provider.candidate_names()}


def changed(hostname: str, other: str, devices: int, allocated: int
            ) -> exception.HostNameChanged:
    return exception.HostNameChanged(
        host=hostname, other=other, devices=devices, allocated=allocated)

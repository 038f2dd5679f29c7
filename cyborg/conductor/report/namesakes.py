# SPDX-License-Identifier: Apache-2.0
"""Refuses new devices that a host has under another of its names (ID-1, ID-2).

An agent of this release asks for itself before its first report. One of
2026.2, or one whose ``[upgrade_levels] conductor`` keeps it from asking, would
have every device of a renamed host stored and offered a second time. Here
only the rows tell: the short and the long form of a name, and its letter
case.
"""

from collections.abc import Sequence

from cyborg.common import context as cyborg_context
from cyborg.common import exception
from cyborg.db import host_inventory
from cyborg.db import host_names
from cyborg.inventory import places
from cyborg.inventory import values


def check(context: cyborg_context.RequestContext, hostname: str,
          new: Sequence[values.DiscoveredDevice]) -> None:
    """Return unless one of the new devices is known under another name.

    :param new: devices of a report that are not stored for ``hostname``; the
        first report under a new name has all of them here, most have none.
    :raises exception.HostNameChanged: names both, and the ways out.
    """
    if not new:
        return
    for stored in host_names.like(context, [hostname, *_short(hostname)]):
        if stored.name == hostname or not is_like(hostname, stored.name):
            continue
        if places.shared(new, host_inventory.load(context, stored.name)):
            raise exception.HostNameChanged(
                host=hostname, other=stored.name, devices=stored.devices,
                allocated=stored.allocated)


def is_like(hostname: str, other: str) -> bool:
    """Whether one machine may be called both.

    ``c1`` and ``c1.example.org``, in any letters. Two long names are those of
    two machines.
    """
    one, two = hostname.lower(), other.lower()
    return one == two or two in _short(one) or one in _short(two)


def _short(name: str) -> list[str]:
    """The short form of a long name; an address has none."""
    short, dot, _domain = name.partition('.')
    return [short] if dot and not name.replace('.', '').isdigit() else []

# SPDX-License-Identifier: Apache-2.0
"""Under which names hosts have devices, without regard to letter case."""

import collections
from collections.abc import Sequence
import dataclasses

import sqlalchemy as sa

from cyborg.common import context as cyborg_context
from cyborg.db import api
from cyborg.db import attach_handles
from cyborg.db import query
from cyborg.db.sqlalchemy import models


@dataclasses.dataclass(frozen=True)
class StoredName:
    """A host name exactly as rows have it.

    :ivar devices: how many devices have it.
    :ivar allocated: attach handles of theirs that are allocated.
    """

    name: str
    devices: int
    allocated: int


def like(context: cyborg_context.RequestContext,
         names: Sequence[str]) -> list[StoredName]:
    """The stored host names that are one of the names, or its long form.

    ``c1`` finds ``C1`` and ``c1.example.org``; ``c1.example.org`` finds only
    itself, in whatever letters. All databases answer alike: names are
    compared in lower case, and told apart in Python, where no collation
    makes one of two.

    Two statements; where ``cyborg-dbsync indexes`` was not called, the first
    looks through the names of all devices.
    """
    device, deployable = models.Device, models.Deployable
    handle = models.AttachHandle
    lowered = {name.lower() for name in names}
    with api.reader(context) as session:
        stored = query.host_column(session, device.hostname)
        matches = sa.or_(stored.in_(lowered), *(
            stored.startswith(name + '.', autoescape=True)
            for name in sorted(lowered) if '.' not in name))
        host_of: dict[int, str] = dict(session.execute(
            sa.select(device.id, device.hostname).where(matches)
        ).tuples().all())
        allocated = collections.Counter(
            host_of[device_id] for device_id in session.scalars(
                sa.select(deployable.device_id)
                .join(handle, handle.deployable_id == deployable.id)
                .where(query.among(deployable.device_id, host_of),
                       ~sa.and_(*attach_handles.is_free()))))
    devices = collections.Counter(host_of.values())
    return [StoredName(name, devices[name], allocated[name])
            for name in sorted(devices)]

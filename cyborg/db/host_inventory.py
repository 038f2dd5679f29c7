# SPDX-License-Identifier: Apache-2.0
"""All rows of one host, read as a whole.

Five statements, however many devices there are, in one transaction that sees
one state of the database (PERF-1).
"""

from collections.abc import Iterable
import dataclasses
import types
from typing import Any

import sqlalchemy as sa

from cyborg.db import api
from cyborg.db.sqlalchemy import models
from cyborg.inventory import assemble
from cyborg.inventory import values


@dataclasses.dataclass(frozen=True)
class Rows:
    """Flat records in the order of their ids; see ``assemble.HostRows``."""

    hostname: str
    devices: tuple[Any, ...]
    controlpaths: tuple[Any, ...]
    deployables: tuple[Any, ...]
    attributes: tuple[Any, ...]
    attach_handles: tuple[Any, ...]


def load(context, hostname: str) -> values.PersistedHost:
    """What the database holds of a host; an unknown host has no devices."""
    return assemble.persisted_host(rows(context, hostname))


def rows(context, hostname: str) -> Rows:
    """As :func:`load`, but flat, with all columns."""
    device, deployable = models.Device, models.Deployable
    path, handle = models.ControlpathID, models.AttachHandle
    attribute, arq = models.Attribute, models.ExtARQ
    here = device.hostname == hostname
    fresh = not api.in_transaction(context)
    with api.reader(context) as session:
        if fresh:
            _see_one_state(session)

        def read(entity, *below):
            select = _columns(entity)
            for table, condition in below:
                select = select.join(table, condition)
            return select.where(here).order_by(entity.id)

        def with_arqs(select, entity, reference):
            select = select.add_columns(arq.uuid.label('arq_uuid'))
            select = select.outerjoin(arq, reference == entity.id)
            return _merged(session.execute(select.order_by(arq.id)))

        of_device = (device, device.id == deployable.device_id)
        return Rows(
            hostname,
            tuple(session.execute(read(device))),
            tuple(session.execute(
                read(path, (device, device.id == path.device_id)))),
            with_arqs(read(deployable, of_device), deployable,
                      arq.deployable_id),
            tuple(session.execute(read(
                attribute, (deployable,
                            deployable.id == attribute.deployable_id),
                of_device))),
            with_arqs(read(handle,
                           (deployable, deployable.id == handle.deployable_id),
                           of_device), handle, arq.attach_handle_id))


def _see_one_state(session) -> None:
    """Keep later statements from seeing what others commit meanwhile.

    MariaDB and SQLite do so by themselves.
    """
    if session.get_bind().dialect.name == 'postgresql':
        session.connection(
            execution_options={'isolation_level': 'REPEATABLE READ'})


def _columns(entity) -> sa.Select:
    # Columns rather than entities: nothing here is changed through the
    # session, and a host can have thousands of rows.
    return sa.select(*entity.__table__.columns)


def _merged(result: Iterable[sa.Row]) -> tuple[Any, ...]:
    """One record for the rows that differ in ``arq_uuid`` alone."""
    records: dict[int, Any] = {}
    for row in result:
        record = records.get(row.id)
        if record is None:
            fields = dict(row._mapping)
            del fields['arq_uuid']
            record = types.SimpleNamespace(**fields, arq_uuids=[])
            records[row.id] = record
        if row.arq_uuid is not None:
            record.arq_uuids.append(row.arq_uuid)
    return tuple(records.values())

# SPDX-License-Identifier: Apache-2.0
"""All rows of one host, read as a whole.

Four statements, however many devices there are, in one transaction that sees
one state of the database (PERF-1).
"""

from collections.abc import Iterable
import dataclasses
import types
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from cyborg.common import context as cyborg_context
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


def load(context: cyborg_context.RequestContext,
         hostname: str) -> values.PersistedHost:
    """What the database holds of a host; an unknown host has no devices."""
    return assemble.persisted_host(rows(context, hostname))


def rows(context: cyborg_context.RequestContext, hostname: str) -> Rows:
    """As :func:`load`, but flat, with all columns."""
    device, deployable = models.Device, models.Deployable
    path, handle = models.ControlpathID, models.AttachHandle
    attribute, arq = models.Attribute, models.ExtARQ
    fresh = not api.in_transaction(context)
    with api.reader(context) as session:
        if fresh:
            see_one_state(session)

        devices, paths = _with_paths(session.execute(
            _columns(device).add_columns(*_PATH)
            .outerjoin(path, path.device_id == device.id)
            .where(device.hostname == hostname)
            .order_by(device.id, path.id)))
        deployables = _with_arqs(
            session, _below(deployable.device_id, devices), arq.deployable_id)
        return Rows(
            hostname, devices, paths, deployables,
            tuple(session.execute(_below(attribute.deployable_id,
                                         deployables))),
            _with_arqs(session, _below(handle.deployable_id, deployables),
                       arq.attach_handle_id))


#: The columns of a control path beside those of its device.
_PATH = tuple(column.label('path_' + column.name)
              for column in models.ControlpathID.__table__.columns)


def _with_paths(result: Iterable[sa.Row]) -> tuple[tuple[Any, ...],
                                                   tuple[Any, ...]]:
    """The devices, and the control paths, each once.

    :param result: rows of a device and one of its paths, or of none.
    """
    devices: dict[int, Any] = {}
    paths = []
    for row in result:
        devices.setdefault(row.id, row)
        if row.path_id is not None:
            paths.append(types.SimpleNamespace(**{
                column.name.removeprefix('path_'): value
                for column, value in zip(_PATH, row[-len(_PATH):],
                                         strict=True)}))
    paths.sort(key=lambda path: path.id)
    return tuple(devices.values()), tuple(paths)


def _below(reference, parents: Iterable) -> sa.Select:
    """Rows whose ``reference`` column names one of the parents.

    By ids rather than by a join: whatever the planner thinks of the other
    hosts, only rows of this one are looked at (PERF-4).
    """
    # Written into the statement: a host with thousands of rows has more ids
    # than a database takes as parameters.
    ids: sa.BindParameter = sa.bindparam(
        'ids', [row.id for row in parents], expanding=True,
        literal_execute=True)
    entity = reference.class_
    return _columns(entity).where(reference.in_(ids)).order_by(entity.id)


def _with_arqs(session, select: sa.Select, reference) -> tuple[Any, ...]:
    """The rows, each with the ARQs whose ``reference`` is its id."""
    arq = models.ExtARQ
    key = select.get_final_froms()[0].c.id
    return _merged(session.execute(
        select.add_columns(arq.uuid.label('arq_uuid'))
        .outerjoin(arq, reference == key).order_by(arq.id)))


def see_one_state(session: orm.Session) -> None:
    """Keep later statements from seeing what others commit meanwhile.

    For the beginning of a transaction. MariaDB and SQLite do so by
    themselves.
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

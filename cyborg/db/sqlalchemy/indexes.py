# SPDX-License-Identifier: Apache-2.0
"""Indexes that large fleets need, beside the schema (PERF-4).

The schema is 2026.2's to the letter: no revision adds them, and a database
with them can go back to 2026.2 as it is. Without them everything works; then
each report of a host, and each bind, looks through the devices of all hosts.
"""

import sqlalchemy as sa

from cyborg.db import api
from cyborg.db.sqlalchemy import models

#: (column, name); names as 2026.2 gives them.
WANTED = (
    (models.Device.hostname, 'devices_hostname_idx'),
    (models.Deployable.rp_uuid, 'deployables_rp_uuid_idx'),
)


def missing() -> list[str]:
    """Names of those that the database lacks.

    Another index that begins with the same column serves as well.

    :raises sqlalchemy.exc.NoSuchTableError: the database has no tables
    """
    inspector = sa.inspect(api.get_engine())
    names = []
    for column, name in WANTED:
        table = column.class_.__tablename__
        served = {index['column_names'][0]
                  for index in inspector.get_indexes(table)
                  if index['column_names']}
        if column.key not in served:
            names.append(name)
    return names


def add() -> list[str]:
    """Make those that are missing; services may run meanwhile.

    :returns: names of those that were made
    :raises sqlalchemy.exc.NoSuchTableError: the database has no tables
    """
    names = missing()
    for column, name in WANTED:
        if name in names:
            _index(column, name).create(api.get_engine())
    return names


def drop() -> list[str]:
    """Remove them; returns the names of those that were there."""
    engine = api.get_engine()
    inspector = sa.inspect(engine)
    names = []
    for column, name in WANTED:
        if name in {index['name'] for index in inspector.get_indexes(
                column.class_.__tablename__)}:
            _index(column, name).drop(engine)
            names.append(name)
    return names


def _index(column, name: str) -> sa.Index:
    # Of a table of its own: what ``models`` has, create_schema would make.
    table = sa.Table(column.class_.__tablename__, sa.MetaData(),
                     sa.Column(column.key, sa.String(255)))
    return sa.Index(name, table.c[column.key])

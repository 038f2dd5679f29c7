# SPDX-License-Identifier: Apache-2.0
"""Indexes that large fleets need, beside the schema (PERF-4).

The schema is 2026.2's to the letter: no revision adds them, and a database
with them can go back to 2026.2 as it is. Without them everything works; then
each report of a host, and each bind, looks through the devices of all hosts.
"""

import dataclasses

import sqlalchemy as sa
from sqlalchemy import orm

from cyborg.db import api
from cyborg.db.sqlalchemy import models


@dataclasses.dataclass(frozen=True)
class _Wanted:
    """An index, named as 2026.2 names them.

    :ivar lower: of the column in lower case, for PostgreSQL: host names are
        the same in whatever letters, and MariaDB compares them so by itself.
    """

    column: orm.InstrumentedAttribute
    name: str
    lower: bool = False

    @property
    def table(self) -> str:
        return self.column.class_.__tablename__

    def index(self) -> sa.Index:
        # Of a table of its own: what ``models`` has, create_schema would
        # make.
        column = sa.Table(self.table, sa.MetaData(), sa.Column(
            self.column.key, sa.String(255))).c[self.column.key]
        if not self.lower:
            return sa.Index(self.name, column)
        # Of this class it is also used for the beginning of a name, whatever
        # the collation of the database.
        return sa.Index(self.name, sa.func.lower(column).label('name'),
                        postgresql_ops={'name': 'varchar_pattern_ops'})


_ALL = (
    _Wanted(models.Device.hostname, 'devices_hostname_idx'),
    _Wanted(models.Device.hostname, 'devices_lower_hostname_idx', True),
    _Wanted(models.Deployable.rp_uuid, 'deployables_rp_uuid_idx'),
)


def _wanted(engine: sa.Engine) -> list[_Wanted]:
    return [each for each in _ALL
            if not each.lower or engine.dialect.name == 'postgresql']


def _there(engine: sa.Engine, wanted: _Wanted) -> bool:
    return wanted.name in {
        index['name']
        for index in sa.inspect(engine).get_indexes(wanted.table)}


def missing() -> list[str]:
    """Names of those that the database lacks.

    :raises sqlalchemy.exc.NoSuchTableError: the database has no tables
    """
    engine = api.get_engine()
    return [each.name for each in _wanted(engine)
            if not _there(engine, each)]


def add() -> list[str]:
    """Make those that are missing; services may run meanwhile.

    :returns: names of those that were made
    :raises sqlalchemy.exc.NoSuchTableError: the database has no tables
    """
    engine = api.get_engine()
    names = missing()
    made = [each for each in _wanted(engine) if each.name in names]
    with engine.begin() as connection:
        for each in made:
            each.index().create(connection)
            if each.lower:
                # Nothing is known yet of what the index is about, and
                # without that it is not used.
                connection.execute(sa.text('ANALYZE ' + each.table))
    return names


def drop() -> list[str]:
    """Remove them; returns the names of those that were there."""
    engine = api.get_engine()
    there = [each for each in _wanted(engine) if _there(engine, each)]
    for each in there:
        each.index().drop(engine)
    return [each.name for each in there]

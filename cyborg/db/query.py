# SPDX-License-Identifier: Apache-2.0
"""What the query modules share: one row, a page of rows, whose rows."""

from collections.abc import Iterable
from collections.abc import Sequence
from typing import Any

from oslo_db import exception as db_exc
from oslo_db.sqlalchemy import utils
import sqlalchemy as sa
from sqlalchemy import orm

from cyborg.common import exception

# Of MariaDB, PostgreSQL and SQLite, the last accepts the fewest parameters.
_MAX_PARAMETERS = 10000
#: Of statements whose rows no object of the session stands for.
UNSYNCHRONIZED = {'synchronize_session': False}


def changed(session: orm.Session, statement: sa.Update | sa.Delete) -> int:
    """Run a conditional UPDATE or DELETE; how many rows it matched."""
    return session.execute(statement,
                           execution_options=UNSYNCHRONIZED).rowcount


def one(session: orm.Session, model: type, resource: str,
        **values: Any) -> Any:
    """The only row with these column values.

    :param resource: what to call it in the error.
    :raises exception.ResourceNotFound: there is none.
    :raises exception.ExpectedOneObject: there are several, as a
        ``create_schema`` database allows for profile UUIDs.
    """
    rows: Sequence[Any] = session.scalars(
        sa.select(model).filter_by(**values).limit(2)).all()
    if not rows:
        raise not_found(resource, **values)
    if len(rows) > 1:
        raise exception.ExpectedOneObject(
            obj='%s with %s' % (resource, _words(values)), count='several')
    return rows[0]


def not_found(resource: str, **values: Any) -> exception.ResourceNotFound:
    return exception.ResourceNotFound(
        resource=resource, msg='with %s' % _words(values))


def _words(values: dict) -> str:
    return ', '.join('%s=%s' % item for item in sorted(values.items()))


def page(session: orm.Session, select: sa.Select, model: type, resource: str,
         *, limit: int | None = None, marker: str | None = None,
         sort_key: str | None = None,
         sort_dir: str | None = None) -> sa.Select:
    """``select`` restricted to a page, as the 2026.2 API sorts it.

    :param limit: most rows wanted; None for all.
    :param marker: UUID of the last row of the page before.
    :param sort_key: column name, ``created_at`` unless given.
    :param sort_dir: ``asc`` or ``desc``, ``desc`` unless given.
    :raises exception.InvalidParameterValue: no such column or direction.
    :raises exception.ResourceNotFound: no row has the marker.
    """
    direction = sort_dir or 'desc'
    if direction not in ('asc', 'desc'):
        raise exception.InvalidParameterValue(
            err='sort_dir is "%s"; it can be asc or desc.' % sort_dir)
    after = marker and one(session, model, resource, uuid=marker)
    keys = [sort_key or 'created_at']
    if keys != ['id']:
        keys.append('id')
    try:
        return utils.paginate_query(select, model, limit, keys, marker=after,
                                    sort_dir=direction)
    except db_exc.InvalidSortKey:
        raise exception.InvalidParameterValue(
            err='sort_key is "%s", which is not a field.' % sort_key
        ) from None


def contains(column: sa.SQLColumnExpression,
             values: Iterable) -> sa.ColumnElement[bool]:
    """``column IN values`` for as many values as there may be."""
    values = list(values)
    if len(values) <= _MAX_PARAMETERS:
        return column.in_(values)
    return sa.or_(*(column.in_(values[start:start + _MAX_PARAMETERS])
                    for start in range(0, len(values), _MAX_PARAMETERS)))


def same_host(session: orm.Session, column: sa.SQLColumnExpression,
              names: Iterable[str]) -> sa.ColumnElement[bool]:
    """Whether a column holds one of these host names, in whatever letters.

    MariaDB compares without regard to letter case by itself, and can use its
    index for that only where the column stands alone (PERF-4).
    """
    return host_column(session, column).in_({name.lower() for name in names})


def host_column(session: orm.Session, column: sa.SQLColumnExpression[str]
                ) -> sa.SQLColumnExpression[str]:
    """A column of host names, to compare with names in lower case."""
    if session.get_bind().dialect.name in ('mysql', 'mariadb'):
        return column
    return sa.func.lower(column)


def among(column: sa.SQLColumnExpression,
          ids: Iterable[int]) -> sa.ColumnElement[bool]:
    """``column IN ids``, for numbers of ours.

    They are written into the statement: a host with thousands of rows has
    more of them than a database takes as parameters.
    """
    return column.in_(sa.bindparam(None, [int(each) for each in ids],
                                   expanding=True, literal_execute=True))


def as_text(column: sa.SQLColumnExpression) -> sa.ColumnElement[str]:
    """An enum column to compare with text that may be none of its values.

    PostgreSQL refuses to compare the enum itself with such a text.
    """
    return sa.cast(column, sa.String(255))

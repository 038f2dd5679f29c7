# SPDX-License-Identifier: Apache-2.0
"""Transactions: the one way from a request context to the database.

``reader(context)`` and ``writer(context)`` open a transaction for the
context, or join the one the same context object has open in this thread, so
that small query functions compose into one transaction::

    with api.writer(context):
        attach_handles.claim(context, deployable_id, arq_id)
        arqs.change(context, ...)

A function that starts a transaction and may be repeated as a whole carries
``retry_on_deadlock``.
"""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import contextvars
import functools
from typing import Any
from typing import cast
from typing import TypeVar

from oslo_db import api as oslo_db_api
from oslo_db import exception as db_exc
from oslo_db import options as db_options
from oslo_db.sqlalchemy import enginefacade
from oslo_db.sqlalchemy import exc_filters
import sqlalchemy as sa
from sqlalchemy import orm

from cyborg.common import context as cyborg_context
from cyborg.common import deadline
from cyborg.common import exception
from cyborg.common import paths
from cyborg.conf import CONF
from cyborg.db.sqlalchemy import row_digest

_F = TypeVar('_F', bound=Callable)
_InTransaction = contextlib.AbstractContextManager[orm.Session]

#: Times one call is repeated after deadlocks before the error goes up.
MAX_RETRIES = 10
# Milliseconds a SQLite statement waits for another connection's lock.
_SQLITE_BUSY_TIMEOUT = 30000

db_options.set_defaults(
    CONF, connection='sqlite:///' + paths.state_path_def('cyborg.sqlite'))

_writing = contextvars.ContextVar('cyborg_db_writing', default=False)


def _prepare_sqlite(engine: sa.Engine) -> None:
    """Make a SQLite writer take its lock when its transaction starts.

    A transaction that reads first and writes later fails at once when
    another one wrote in between; no busy timeout helps there. MariaDB and
    PostgreSQL wait at the row instead.
    """
    if engine.dialect.name != 'sqlite':
        return

    @sa.event.listens_for(engine, 'connect')
    def set_timeout(connection, _record):
        connection.execute('PRAGMA busy_timeout = %d' % _SQLITE_BUSY_TIMEOUT)
        row_digest.add_to_sqlite(connection)

    # oslo.db's listener, which comes first, has started a deferred
    # transaction; nothing is in it yet.
    @sa.event.listens_for(engine, 'begin')
    def begin_immediate(connection):
        if _writing.get():
            connection.exec_driver_sql('ROLLBACK')
            connection.exec_driver_sql('BEGIN IMMEDIATE')


# Errors of MariaDB about a value with characters that a column's encoding
# lacks, and about comparisons with one, of two, three or more operands.
# Tables are in its utf8mb3, as since the first release.
@exc_filters.filters('mysql', sa.exc.DBAPIError, r'^\(\S+\) \(1366,')
@exc_filters.filters('mysql', sa.exc.OperationalError,
                     r'^\(\S+\) \((1267|1270|1271),')
def _refuse_text(error, match, engine_name, is_disconnect):
    raise exception.TextNotStorable() from error


def new_manager(connection: str | None = None) -> Any:
    """A transaction manager of its own.

    :param connection: SQLAlchemy URL; None takes ``[database] connection``
        when the first transaction starts.
    """
    manager = enginefacade.transaction_context()
    manager.configure(sqlite_fk=True)
    if connection is not None:
        manager.configure(connection=connection)
    manager.append_on_engine_create(_prepare_sqlite)
    return manager


# Connects at its first use. Tests put one of new_manager() in its place.
_manager = new_manager()


def get_engine() -> sa.Engine:
    return _manager.writer.get_engine()


def in_transaction(context: cyborg_context.RequestContext) -> bool:
    """True while this thread has a transaction open for ``context``."""
    by_thread = getattr(context, '_enginefacade_context', None)
    return getattr(by_thread, 'current', None) is not None


@contextlib.contextmanager
def _transaction(manager, context, writing: bool) -> Iterator[orm.Session]:
    if in_transaction(context):
        with manager.using(context) as session:
            yield session
        return
    token = _writing.set(writing)
    condition = getattr(context, 'write_condition', None)
    try:
        if writing:
            deadline.check(context)
        with manager.using(context) as session:
            if writing and condition is not None:
                condition(session)
            yield session
            if writing:
                # With all locks held: whatever the caller did since it gave
                # up waits for them, so nothing of it can be undone here.
                session.flush()
                deadline.check(context)
    finally:
        _writing.reset(token)


def reader(context: cyborg_context.RequestContext) -> _InTransaction:
    """Context manager for a read transaction; gives a SQLAlchemy session.

    Everything read inside comes from one transaction.
    """
    return _transaction(_manager.reader, context, False)


def writer(context: cyborg_context.RequestContext) -> _InTransaction:
    """Context manager for a write transaction; gives a SQLAlchemy session.

    Commits when the outermost block ends, rolls back on any exception. What
    the context says of writing (``write_condition``) is looked at first, and
    whether anybody still waits (``not_after``) first and last.

    :raises exception.CallTooLate: nobody waits; nothing was written.
    """
    return _transaction(_manager.writer, context, True)


def _sqlite_is_locked(error: Exception) -> bool:
    return (isinstance(error, (db_exc.DBError, sa.exc.OperationalError))
            and 'database is locked' in str(error))


def retry_on_deadlock(function: _F) -> _F:
    """Repeat ``function(context, ...)`` when the database chose it to fail.

    Inside a transaction that the caller opened there is no repeating: the
    database has rolled back all of it, so only its owner can start again.
    """
    retrying = oslo_db_api.wrap_db_retry(
        retry_interval=0.05, max_retries=MAX_RETRIES, inc_retry_interval=True,
        max_retry_interval=2, retry_on_deadlock=True,
        exception_checker=_sqlite_is_locked)(function)

    @functools.wraps(function)
    def wrapper(context, *args, **kwargs):
        if in_transaction(context):
            return function(context, *args, **kwargs)
        return retrying(context, *args, **kwargs)

    return cast(_F, wrapper)

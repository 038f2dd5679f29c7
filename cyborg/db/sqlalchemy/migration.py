# SPDX-License-Identifier: Apache-2.0
"""The schema's revisions: what ``cyborg-dbsync`` does to a database.

Registered as ``sqlalchemy`` under ``cyborg.database.migration_backend``.
"""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import os
from typing import Any

from alembic import command
from alembic import config as alembic_config
from alembic import migration as alembic_migration
from alembic import script
from alembic import util as alembic_util
from oslo_db import exception as db_exc
import sqlalchemy as sa

from cyborg.conf import CONF
from cyborg.db import api
from cyborg.db.sqlalchemy import models

_HERE = os.path.dirname(os.path.abspath(__file__))


def _config() -> alembic_config.Config:
    return alembic_config.Config(os.path.join(_HERE, 'alembic.ini'))


@contextlib.contextmanager
def _connection() -> Iterator[sa.Connection]:
    """A connection on which tables can be made and replaced.

    SQLite changes a column by copying the table, and dropping the old one
    would violate the foreign keys that point at it. The pragma does nothing
    once a transaction is open, so it goes to the driver.
    """
    engine = api.get_engine()
    with engine.connect() as connection:
        if engine.dialect.name in ('mysql', 'mariadb'):
            connection.execute(
                sa.text('SET SESSION default_storage_engine = :engine'),
                {'engine': CONF.database.mysql_engine})
        if engine.dialect.name != 'sqlite':
            yield connection
            return
        driver: Any = connection.connection.dbapi_connection
        driver.execute('PRAGMA foreign_keys = OFF')
        try:
            yield connection
        finally:
            connection.rollback()
            driver.execute('PRAGMA foreign_keys = ON')


def _run(action: Callable, *args, **kwargs):
    config = _config()
    with _connection() as connection:
        config.attributes['connection'] = connection
        try:
            action(config, *args, **kwargs)
        except alembic_util.CommandError as error:
            raise db_exc.DBMigrationError(str(error)) from error
        connection.commit()


def head() -> str | None:
    """The newest revision there is."""
    return script.ScriptDirectory.from_config(_config()).get_current_head()


def version() -> str | None:
    """The revision of the database; None when it has none."""
    with api.get_engine().connect() as connection:
        return alembic_migration.MigrationContext.configure(
            connection).get_current_revision()


def upgrade(revision: str | None = None) -> None:
    """Bring the database to a revision, the newest by default.

    A database that is there already, by upgrade or by ``create_schema``, is
    left alone.

    :raises oslo_db.exception.DBMigrationError: no such revision.
    """
    _run(command.upgrade, revision or 'head')


def create_schema() -> None:
    """Create all tables in an empty database, and stamp it.

    :raises oslo_db.exception.DBMigrationError: the database has a revision.
    """
    current = version()
    if current is not None:
        raise db_exc.DBMigrationError(
            'The database has revision %s already: use "cyborg-dbsync '
            'upgrade".' % current)
    with _connection() as connection:
        models.Base.metadata.create_all(connection)
        connection.commit()
    stamp('head')


def stamp(revision: str | None = None) -> None:
    """Record a revision without running anything.

    :raises oslo_db.exception.DBMigrationError: no such revision.
    """
    _run(command.stamp, revision or 'head')


def revision(message: str | None = None, autogenerate: bool = False) -> None:
    """Write a new revision file into this tree, for developers."""
    _run(command.revision, message=message, autogenerate=autogenerate)

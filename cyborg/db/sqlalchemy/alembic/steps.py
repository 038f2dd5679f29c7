# SPDX-License-Identifier: Apache-2.0
"""What the revisions have in common, on each of the databases.

A revision describes tables of its own time, so nothing here looks at
``models``.
"""

from alembic import op
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

# The character set that these tables got when they were made on MySQL.
CHARSET = {'mysql_charset': 'utf8mb3'}


def on(dialect: str) -> bool:
    return op.get_bind().dialect.name == dialect


def timestamps() -> tuple[sa.Column, sa.Column]:
    return (sa.Column('created_at', sa.DateTime),
            sa.Column('updated_at', sa.DateTime))


def key() -> sa.Column:
    return sa.Column('id', sa.Integer, primary_key=True)


def reference(name: str, target: str, ondelete: str | None = 'RESTRICT',
              nullable: bool = False, **kwargs) -> sa.Column:
    return sa.Column(name, sa.Integer,
                     sa.ForeignKey(target, ondelete=ondelete),
                     nullable=nullable, **kwargs)


def enum(name: str, *values: str) -> sa.Enum:
    """An enum type; the name matters on PostgreSQL alone."""
    return sa.Enum(*values, name=name)


def widen(table: str, column: str, name: str, old: tuple[str, ...],
          new: tuple[str, ...]) -> None:
    """Give an enum column, which is NOT NULL, more values."""
    if on('postgresql'):
        _replace_type(table, column, name, new)
        return
    with op.batch_alter_table(table) as batch:
        batch.alter_column(column, existing_type=enum(name, *old),
                           type_=enum(name, *new), existing_nullable=False)


def _replace_type(table: str, column: str, name: str,
                  values: tuple[str, ...]) -> None:
    # ADD VALUE can't place the values in their order in one transaction.
    op.execute('ALTER TYPE %s RENAME TO %s_before' % (name, name))
    postgresql.ENUM(*values, name=name).create(op.get_bind())
    op.execute('ALTER TABLE %(table)s ALTER COLUMN %(column)s '
               'TYPE %(name)s USING %(column)s::text::%(name)s'
               % {'table': table, 'column': column, 'name': name})
    op.execute('DROP TYPE %s_before' % name)


def add_filled(table: str, column: str, type_: sa.types.TypeEngine,
               value: str) -> None:
    """Add a NOT NULL column in which the rows that exist have ``value``.

    The column has no server default afterwards.
    """
    if isinstance(type_, sa.Enum) and on('postgresql'):
        type_.create(op.get_bind())
    with op.batch_alter_table(table) as batch:
        batch.add_column(sa.Column(column, type_, nullable=False,
                                   server_default=value))
    with op.batch_alter_table(table) as batch:
        batch.alter_column(column, existing_type=type_,
                           existing_nullable=False, server_default=None)

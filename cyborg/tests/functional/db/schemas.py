# SPDX-License-Identifier: Apache-2.0
"""Describes the tables of a database, in the form of ``schemas.json``.

``schemas.json`` holds what ``cyborg-dbsync`` of release 2026.2 made on
MariaDB (by ``upgrade`` and by ``create_schema``) and SQLite (by
``create_schema``). On PostgreSQL that release could make neither.
"""

import json
import pathlib

import sqlalchemy as sa

#: What a later revision has added: by database and table, columns as
#: ``describe`` says. Enums and Booleans are not called the same on both.
ADDED: dict[str, dict[str, list[dict]]] = {'mariadb': {}, 'sqlite': {}}
_RECORDED = pathlib.Path(__file__).with_name('schemas.json')


def recorded(name: str) -> dict:
    """One recorded schema and ``ADDED``, without the order of its columns."""
    tables = json.loads(_RECORDED.read_text())[name]
    for table, columns in ADDED[name.partition('_')[0]].items():
        tables[table]['columns'] += columns
    for table in tables.values():
        table['columns'].sort(key=lambda column: column['name'])
    return tables


def describe(engine: sa.Engine) -> dict:
    """The tables of a database, without the order of their columns."""
    inspector = sa.inspect(engine)
    return {name: _table(inspector, name, engine.dialect)
            for name in sorted(inspector.get_table_names())}


def _table(inspector, name: str, dialect) -> dict:
    return {
        'columns': sorted(
            (_column(column, dialect)
             for column in inspector.get_columns(name)),
            key=lambda column: column['name']),
        'primary_key': inspector.get_pk_constraint(name)[
            'constrained_columns'],
        'foreign_keys': sorted((
            {'name': key['name'], 'columns': key['constrained_columns'],
             'ref_table': key['referred_table'],
             'ref_columns': key['referred_columns'],
             'options': key['options']}
            for key in inspector.get_foreign_keys(name)),
            key=lambda key: key['columns']),
        'indexes': sorted((
            {'name': index['name'], 'columns': index['column_names'],
             'unique': bool(index['unique'])}
            for index in inspector.get_indexes(name)),
            key=lambda index: index['name']),
        'unique_constraints': sorted((
            {'name': unique['name'], 'columns': unique['column_names']}
            for unique in inspector.get_unique_constraints(name)),
            key=lambda unique: unique['columns']),
        'check_constraints': inspector.get_check_constraints(name),
    }


def _column(column: dict, dialect) -> dict:
    type_ = column['type']
    described = {
        'name': column['name'],
        'type': (type_.dialect_impl(dialect).compile(dialect)),
        'nullable': column['nullable'],
        'server_default': column['default'],
    }
    if getattr(type_, 'enums', None):
        described['enum'] = list(type_.enums)
    return described

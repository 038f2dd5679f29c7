# SPDX-License-Identifier: Apache-2.0
"""``RowDigest``: an SQL function that makes a number of a row's values.

The sum of the numbers of many rows tells whether they are the same rows as
before, without one of them leaving the database. Numbers have 60 bits and
more (40 with SQLite, whose sums end at 63), and differ for every pair of
values, NULL and texts with quotes in them included.
"""

import hashlib
import sqlite3

import sqlalchemy as sa
from sqlalchemy.ext import compiler
from sqlalchemy.sql import functions

_SQLITE_FUNCTION = 'cyborg_row_digest'
_SQLITE_BYTES = 5


class RowDigest(functions.FunctionElement):
    """``RowDigest(*columns)``; compare sums of one database server only."""

    type = sa.Numeric()
    name = 'row_digest'
    inherit_cache = True


def _quoted(element, process, template: str, **kw) -> str:
    # Quoted, with something between: no two lists of values give one text.
    return ", ',', ".join(template % process(clause, **kw)
                          for clause in element.clauses)


@compiler.compiles(RowDigest, 'mysql')
@compiler.compiles(RowDigest, 'mariadb')
def _mysql(element, compiler_, **kw):
    return 'CAST(CONV(LEFT(SHA2(CONCAT(%s), 256), 15), 16, 10) AS UNSIGNED)' \
        % _quoted(element, compiler_.process, 'QUOTE(%s)', **kw)


@compiler.compiles(RowDigest, 'postgresql')
def _postgresql(element, compiler_, **kw):
    return 'hashtextextended(CONCAT(%s), 0)' % _quoted(
        element, compiler_.process, 'quote_nullable(CAST(%s AS TEXT))', **kw)


@compiler.compiles(RowDigest, 'sqlite')
def _sqlite(element, compiler_, **kw):
    return '%s(%s)' % (_SQLITE_FUNCTION, _quoted(
        element, compiler_.process, 'quote(%s)', **kw).replace(
            ", ',', ", " || ',' || "))


def add_to_sqlite(connection: sqlite3.Connection) -> None:
    """Give a connection of the ``sqlite3`` module what it lacks."""
    connection.create_function(_SQLITE_FUNCTION, 1, _of_text,
                               deterministic=True)


def _of_text(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode(
        'utf-8', 'surrogateescape')).digest()[:_SQLITE_BYTES], 'big')

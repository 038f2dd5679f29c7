# SPDX-License-Identifier: Apache-2.0
"""Rows that the database refuses: one of them must not cost the others."""

from collections.abc import Callable
import logging

from oslo_db import exception as db_exc
import sqlalchemy as sa

from cyborg.common import exception
from cyborg.conductor.report import notes

REFUSED = (db_exc.DBError, sa.exc.StatementError, exception.TextNotStorable)


def of(write: Callable[[], object]) -> Exception | None:
    """Run a write; what the database refused it with, or None."""
    try:
        write()
    except REFUSED as error:
        return error
    return None


def not_stored(hostname: str, what: str, error: Exception) -> notes.Note:
    """For something new that has no row."""
    return notes.Note(
        logging.ERROR, '%s of host %s was not stored, the database refused '
        'it: %s' % (what, hostname, exception.plain_text(error)))


def not_changed(hostname: str, what: str, error: Exception) -> notes.Note:
    """For a row that stays as it was."""
    return notes.Note(
        logging.ERROR, 'Changes of %s of host %s were not stored, the '
        'database refused them: %s' % (what, hostname,
                                       exception.plain_text(error)))

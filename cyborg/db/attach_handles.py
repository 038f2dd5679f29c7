# SPDX-License-Identifier: Apache-2.0
"""Queries on ``attach_handles``."""

import collections
from collections.abc import Sequence
import dataclasses

import sqlalchemy as sa
from sqlalchemy import orm

from cyborg.common import context as cyborg_context
from cyborg.common import exception
from cyborg.db import api
from cyborg.db import query
from cyborg.db.sqlalchemy import models

_NAME = 'AttachHandle'
# Handles of one statement: SQLite before 3.32 takes 999 variables.
_CHUNK = 100


def get(context: cyborg_context.RequestContext,
        uuid: str) -> models.AttachHandle:
    """:raises exception.ResourceNotFound: no such handle."""
    with api.reader(context) as session:
        return query.one(session, models.AttachHandle, _NAME, uuid=uuid)


def get_by_id(context: cyborg_context.RequestContext,
              handle_id: int) -> models.AttachHandle:
    """:raises exception.ResourceNotFound: no such handle."""
    with api.reader(context) as session:
        return query.one(session, models.AttachHandle, _NAME, id=handle_id)


def list_(context: cyborg_context.RequestContext, *,
          deployable_id: int | None = None) -> list[models.AttachHandle]:
    """Attach handles, oldest first."""
    handle = models.AttachHandle
    select = sa.select(handle).order_by(handle.id)
    if deployable_id is not None:
        select = select.where(handle.deployable_id == deployable_id)
    with api.reader(context) as session:
        return list(session.scalars(select))


def arq_uuids(context: cyborg_context.RequestContext,
              handle_id: int) -> list[str]:
    """The ARQs that point at a handle; one at most, unless damaged."""
    arq = models.ExtARQ
    with api.reader(context) as session:
        return list(session.scalars(
            sa.select(arq.uuid).where(arq.attach_handle_id == handle_id)
            .order_by(arq.id)))


def hostname(context: cyborg_context.RequestContext,
             handle_id: int) -> str | None:
    """The host of the device that a handle belongs to."""
    with api.reader(context) as session:
        return _hostname(session, handle_id)


def _hostname(session, handle_id: int) -> str | None:
    handle, deployable = models.AttachHandle, models.Deployable
    return session.scalar(
        sa.select(models.Device.hostname)
        .join(deployable, deployable.device_id == models.Device.id)
        .join(handle, handle.deployable_id == deployable.id)
        .where(handle.id == handle_id))


def is_free() -> tuple[sa.ColumnElement[bool], ...]:
    """Conditions of an UPDATE that must only touch an unallocated handle.

    Both marks count: ``in_use``, and an ARQ that points at the handle.
    """
    handle = models.AttachHandle
    return (
        sa.or_(handle.in_use == sa.false(), handle.in_use.is_(None)),
        ~sa.exists().where(models.ExtARQ.attach_handle_id == handle.id))


@dataclasses.dataclass(frozen=True)
class NewText:
    """Another attach info for a handle, if the handle is what was seen.

    :ivar stored: attach info as it was read, compared byte by byte.
    :ivar only_if_free: not for a handle that is allocated by now.
    """

    id: int
    uuid: str
    deployable_id: int
    cpid_id: int
    stored: str
    wanted: str
    only_if_free: bool


class _Changed(Exception):
    """Rolls back; ``args`` holds the texts of which one did not match."""


def replace_attach_infos(context: cyborg_context.RequestContext,
                         texts: Sequence[NewText]) -> None:
    """Change the attach info of handles that all still are what was seen.

    All or none: one transaction of conditional UPDATEs, whose row counts
    decide (REC-4). One statement for up to ``_CHUNK`` handles.

    :raises exception.AttachHandleChanged: names one that is not; nothing
        was changed.
    """
    try:
        _replace_all(context, texts)
    except _Changed as error:
        # Only now is seen what others committed meanwhile.
        raise _what_changed(context, *error.args) from None


@api.retry_on_deadlock
def _replace_all(context: cyborg_context.RequestContext,
                 texts: Sequence[NewText]) -> None:
    with api.writer(context) as session:
        for only_if_free in (True, False):
            some = [each for each in texts
                    if each.only_if_free is only_if_free]
            for start in range(0, len(some), _CHUNK):
                _replace(session, some[start:start + _CHUNK],
                         is_free() if only_if_free else ())


def _replace(session, texts: Sequence[NewText], conditions) -> None:
    handle = models.AttachHandle
    as_seen = sa.or_(*(sa.and_(
        handle.id == each.id, handle.uuid == each.uuid,
        handle.deployable_id == each.deployable_id,
        handle.cpid_id == each.cpid_id,
        same_text(session, handle.attach_info, each.stored))
        for each in texts))
    wanted = {each.id: each.wanted for each in texts}
    if query.changed(session, sa.update(handle).where(
            handle.id.in_(list(wanted)), as_seen, *conditions).values(
                attach_info=sa.case(wanted, value=handle.id))) != len(texts):
        raise _Changed(texts)


def same_text(session: orm.Session, column: sa.SQLColumnExpression,
              text: str) -> sa.ColumnElement[bool]:
    """Byte for byte: MariaDB's collations pass over case and end spaces."""
    if session.get_bind().dialect.name in ('mysql', 'mariadb'):
        return sa.cast(column, sa.BINARY) == text.encode()
    return column == text


def _what_changed(context, texts: Sequence[NewText]
                  ) -> exception.AttachHandleChanged:
    """What kept an UPDATE from matching, in words."""
    handle, arq = models.AttachHandle, models.ExtARQ
    ids = [each.id for each in texts]
    with api.reader(context) as session:
        rows = {row.id: row for row in session.execute(
            sa.select(*handle.__table__.columns).where(handle.id.in_(ids)))}
        arqs = collections.defaultdict(list)
        for row in session.execute(
                sa.select(arq.attach_handle_id, arq.uuid)
                .where(arq.attach_handle_id.in_(ids)).order_by(arq.id)):
            arqs[row.attach_handle_id].append(row.uuid)
        reasons = [(each, _difference(each, rows.get(each.id),
                                      arqs[each.id])) for each in texts]
        each, reason = next(
            ((each, reason) for each, reason in reasons if reason),
            # It is again as it was.
            (texts[0], 'one of %d was changed for a moment' % len(texts)))
        return exception.AttachHandleChanged(
            uuid=each.uuid, reason=reason,
            host=_hostname(session, each.id) or 'unknown')


def _difference(seen: NewText, row, arqs: list[str]) -> str | None:
    if row is None:
        return 'it is gone'
    if row.uuid != seen.uuid:
        return 'its id belongs to handle %s now' % row.uuid
    if (row.deployable_id, row.cpid_id) != (seen.deployable_id, seen.cpid_id):
        return 'it moved to deployable %s, control path %s' % (
            row.deployable_id, row.cpid_id)
    if row.attach_info != seen.stored:
        return 'its attach info is %s' % row.attach_info
    if seen.only_if_free and arqs:
        return 'accelerator request %s has it' % ', '.join(arqs)
    if seen.only_if_free and row.in_use:
        return 'it is in use'
    return None

# SPDX-License-Identifier: Apache-2.0
"""Queries on ``attach_handles``."""

import sqlalchemy as sa
from sqlalchemy import orm

from cyborg.common import context as cyborg_context
from cyborg.common import exception
from cyborg.db import api
from cyborg.db import query
from cyborg.db.sqlalchemy import models

_NAME = 'AttachHandle'


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
    handle, deployable = models.AttachHandle, models.Deployable
    with api.reader(context) as session:
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


@api.retry_on_deadlock
def replace_attach_info(context: cyborg_context.RequestContext, *, id: int,
                        uuid: str, deployable_id: int, cpid_id: int,
                        stored: str, wanted: str, only_if_free: bool) -> None:
    """Change a handle's attach info if the handle is still what was seen.

    One conditional UPDATE decides; its row count says whether it did
    (REC-4).

    :param stored: attach info as the caller read it, compared byte by byte.
    :param only_if_free: change nothing when the handle is allocated now.
    :raises exception.AttachHandleChanged: nothing was changed.
    """
    handle = models.AttachHandle
    conditions = [handle.id == id, handle.uuid == uuid,
                  handle.deployable_id == deployable_id,
                  handle.cpid_id == cpid_id]
    if only_if_free:
        conditions += is_free()
    with api.writer(context) as session:
        conditions.append(same_text(session, handle.attach_info, stored))
        result = session.execute(
            sa.update(handle).where(*conditions).values(attach_info=wanted)
            .execution_options(synchronize_session=False))
        if result.rowcount == 1:
            return
        raise exception.AttachHandleChanged(
            uuid=uuid, host=hostname(context, id) or 'unknown',
            reason=_difference(context, session, id, uuid, deployable_id,
                               cpid_id, stored))


def same_text(session: orm.Session, column: sa.SQLColumnExpression,
              text: str) -> sa.ColumnElement[bool]:
    """Byte for byte: MariaDB's collations pass over case and end spaces."""
    if session.get_bind().dialect.name in ('mysql', 'mariadb'):
        return sa.cast(column, sa.BINARY) == text.encode()
    return column == text


def _difference(context, session, handle_id, uuid, deployable_id, cpid_id,
                stored) -> str:
    """What kept the UPDATE from matching, in words."""
    row = session.scalars(
        sa.select(models.AttachHandle)
        .where(models.AttachHandle.id == handle_id)
        .execution_options(populate_existing=True)).first()
    if row is None:
        return 'it is gone'
    if row.uuid != uuid:
        return 'its id belongs to handle %s now' % row.uuid
    if row.deployable_id != deployable_id or row.cpid_id != cpid_id:
        return 'it moved to deployable %s, control path %s' % (
            row.deployable_id, row.cpid_id)
    if row.attach_info != stored:
        return 'its attach info is %s' % row.attach_info
    arqs = arq_uuids(context, handle_id)
    if arqs:
        return 'accelerator request %s has it' % ', '.join(arqs)
    return 'it is in use'

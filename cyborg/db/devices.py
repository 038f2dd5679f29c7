# SPDX-License-Identifier: Apache-2.0
"""Queries on ``devices``."""

from typing import Any

import sqlalchemy as sa

from cyborg.common import context as cyborg_context
from cyborg.db import api
from cyborg.db import query
from cyborg.db.sqlalchemy import models

_NAME = 'Device'


def get(context: cyborg_context.RequestContext, uuid: str) -> models.Device:
    """:raises exception.ResourceNotFound: no such device."""
    with api.reader(context) as session:
        return query.one(session, models.Device, _NAME, uuid=uuid)


def get_by_id(context: cyborg_context.RequestContext,
              device_id: int) -> models.Device:
    """:raises exception.ResourceNotFound: no such device."""
    with api.reader(context) as session:
        return query.one(session, models.Device, _NAME, id=device_id)


def list_(context: cyborg_context.RequestContext, *, type: str | None = None,
          vendor: str | None = None, hostname: str | None = None,
          **page: Any) -> list[models.Device]:
    """Devices, oldest first; the newest first once anything is asked for.

    :param page: ``limit``, ``marker``, ``sort_key``, ``sort_dir``; see
        ``cyborg.db.query.page``.
    """
    select = sa.select(models.Device)
    if type is not None:
        select = select.where(query.as_text(models.Device.type) == type)
    if vendor is not None:
        select = select.where(models.Device.vendor == vendor)
    if hostname is not None:
        select = select.where(models.Device.hostname == hostname)
    plain = (type, vendor, hostname) == (None,) * 3 and not any(page.values())
    with api.reader(context) as session:
        if plain:
            select = select.order_by(models.Device.id)
        else:
            select = query.page(session, select, models.Device, _NAME, **page)
        return list(session.scalars(select))


@api.retry_on_deadlock
def update(context: cyborg_context.RequestContext, uuid: str,
           values: dict[str, Any]) -> None:
    """:raises exception.ResourceNotFound: no such device."""
    with api.writer(context) as session:
        if not query.changed(session, sa.update(models.Device).where(
                models.Device.uuid == uuid).values(**values)):
            raise query.not_found(_NAME, uuid=uuid)


@api.retry_on_deadlock
def fill_in_state(context: cyborg_context.RequestContext,
                  limit: int | None = None) -> tuple[int, int]:
    """Give ``device_state`` to rows from before the column existed.

    A device with an allocated handle becomes ``allocated``, the others
    ``available``.

    :param limit: most rows to look at.
    :returns: rows without a state that were found, rows that were changed.
    """
    device = models.Device
    handle = models.AttachHandle
    taken = sa.exists().where(
        models.Deployable.device_id == device.id,
        handle.deployable_id == models.Deployable.id,
        sa.or_(handle.in_use == sa.true(),
               sa.exists().where(models.ExtARQ.attach_handle_id == handle.id)))
    with api.writer(context) as session:
        rows = session.execute(
            sa.select(device.id, taken).where(device.device_state.is_(None))
            .order_by(device.id).limit(limit)).all()
        changed = 0
        for state, wanted in (('allocated', True), ('available', False)):
            ids = [row.id for row in rows if bool(row[1]) is wanted]
            if ids:
                changed += query.changed(session, sa.update(device).where(
                    query.contains(device.id, ids),
                    device.device_state.is_(None)).values(
                        device_state=state))
        return len(rows), changed


def count_hosts(context: cyborg_context.RequestContext) -> int:
    """How many hosts have devices."""
    with api.reader(context) as session:
        return session.scalars(sa.select(
            sa.func.count(sa.distinct(models.Device.hostname)))).one()


def count_without_state(context: cyborg_context.RequestContext) -> int:
    """Rows from before the column existed, see :func:`fill_in_state`."""
    with api.reader(context) as session:
        return session.scalars(
            sa.select(sa.func.count()).select_from(models.Device)
            .where(models.Device.device_state.is_(None))).one()

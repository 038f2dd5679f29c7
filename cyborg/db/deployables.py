# SPDX-License-Identifier: Apache-2.0
"""Queries on ``deployables``."""

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa

from cyborg.common import context as cyborg_context
from cyborg.db import api
from cyborg.db import query
from cyborg.db.sqlalchemy import models

_NAME = 'Deployable'


def get(context: cyborg_context.RequestContext,
        uuid: str) -> models.Deployable:
    """:raises exception.ResourceNotFound: no such deployable."""
    with api.reader(context) as session:
        return query.one(session, models.Deployable, _NAME, uuid=uuid)


def get_by_rp_uuid(context: cyborg_context.RequestContext,
                   rp_uuid: str) -> models.Deployable:
    """The deployable that a Placement resource provider stands for.

    :raises exception.ResourceNotFound: no deployable has this provider.
    :raises exception.ExpectedOneObject: several have.
    """
    with api.reader(context) as session:
        return query.one(session, models.Deployable, _NAME, rp_uuid=rp_uuid)


def of_providers(context: cyborg_context.RequestContext, uuids: Iterable[str],
                 names: Iterable[str]) -> set[str]:
    """Which of these providers a deployable of whatever host stands for.

    :returns: UUIDs of providers, and names of deployables.
    """
    deployable = models.Deployable
    with api.reader(context) as session:
        rows = session.execute(
            sa.select(deployable.rp_uuid, deployable.name).where(sa.or_(
                query.contains(deployable.rp_uuid, uuids),
                query.contains(deployable.name, names)))).all()
    return {text for row in rows for text in row if text}


def list_(context: cyborg_context.RequestContext, *, name: str | None = None,
          device_id: int | None = None, device_uuid: str | None = None,
          **page: Any) -> list[models.Deployable]:
    """Deployables, oldest first; the newest first once anything is asked for.

    :param page: ``limit``, ``marker``, ``sort_key``, ``sort_dir``; see
        ``cyborg.db.query.page``.
    """
    select = sa.select(models.Deployable)
    if name is not None:
        select = select.where(models.Deployable.name == name)
    if device_id is not None:
        select = select.where(models.Deployable.device_id == device_id)
    if device_uuid is not None:
        select = select.join(
            models.Device, models.Device.id == models.Deployable.device_id
        ).where(models.Device.uuid == device_uuid)
    with api.reader(context) as session:
        if name is None and not any(page.values()):
            select = select.order_by(models.Deployable.id)
        else:
            select = query.page(session, select, models.Deployable, _NAME,
                                **page)
        return list(session.scalars(select))


@api.retry_on_deadlock
def update(context: cyborg_context.RequestContext, uuid: str,
           values: dict[str, Any]) -> None:
    """:raises exception.ResourceNotFound: no such deployable."""
    with api.writer(context) as session:
        if not query.changed(session, sa.update(models.Deployable).where(
                models.Deployable.uuid == uuid).values(**values)):
            raise query.not_found(_NAME, uuid=uuid)

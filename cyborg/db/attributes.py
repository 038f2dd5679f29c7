# SPDX-License-Identifier: Apache-2.0
"""Queries on ``attributes``."""

from collections.abc import Iterable

from oslo_db import exception as db_exc
import sqlalchemy as sa

from cyborg.common import context as cyborg_context
from cyborg.common import exception
from cyborg.db import api
from cyborg.db import query
from cyborg.db.sqlalchemy import models

_NAME = 'Attribute'


def get(context: cyborg_context.RequestContext, uuid: str) -> models.Attribute:
    """:raises exception.ResourceNotFound: no such attribute."""
    with api.reader(context) as session:
        return query.one(session, models.Attribute, _NAME, uuid=uuid)


def list_(context: cyborg_context.RequestContext, *,
          deployable_id: int | None = None,
          deployable_ids: Iterable[int] | None = None,
          key: str | None = None) -> list[models.Attribute]:
    """Attributes, oldest first."""
    attribute = models.Attribute
    select = sa.select(attribute).order_by(attribute.id)
    if deployable_id is not None:
        select = select.where(attribute.deployable_id == deployable_id)
    if deployable_ids is not None:
        select = select.where(
            query.contains(attribute.deployable_id, deployable_ids))
    if key is not None:
        select = select.where(attribute.key == key)
    with api.reader(context) as session:
        return list(session.scalars(select))


@api.retry_on_deadlock
def create(context: cyborg_context.RequestContext, *, uuid: str,
           deployable_id: int, key: str, value: str) -> models.Attribute:
    """:raises exception.AttributeAlreadyExists: the UUID is taken.
    :raises exception.ResourceNotFound: no such deployable.
    """
    row = models.Attribute(uuid=uuid, deployable_id=deployable_id, key=key,
                           value=value)
    with api.writer(context) as session:
        # Looked up because a SQLite database that came from elsewhere may
        # be open without foreign keys.
        if session.get(models.Deployable, deployable_id) is None:
            raise query.not_found('Deployable', id=deployable_id)
        session.add(row)
        try:
            session.flush()
        except db_exc.DBDuplicateEntry:
            raise exception.AttributeAlreadyExists(uuid=uuid) from None
    return row


@api.retry_on_deadlock
def delete(context: cyborg_context.RequestContext, uuid: str) -> None:
    """:raises exception.ResourceNotFound: no such attribute."""
    with api.writer(context) as session:
        if not query.changed(session, sa.delete(models.Attribute).where(
                models.Attribute.uuid == uuid)):
            raise query.not_found(_NAME, uuid=uuid)

# SPDX-License-Identifier: Apache-2.0
"""Queries on ``device_profiles``."""

from collections.abc import Iterable
import json

from oslo_db import exception as db_exc
import sqlalchemy as sa

from cyborg.common import context as cyborg_context
from cyborg.common import exception
from cyborg.db import api
from cyborg.db import query
from cyborg.db.sqlalchemy import models

_NAME = 'Device Profile'


def get_by_uuid(context: cyborg_context.RequestContext,
                uuid: str) -> models.DeviceProfile:
    """:raises exception.ResourceNotFound: no such profile."""
    with api.reader(context) as session:
        return query.one(session, models.DeviceProfile, _NAME, uuid=uuid)


def get_by_name(context: cyborg_context.RequestContext,
                name: str) -> models.DeviceProfile:
    """:raises exception.ResourceNotFound: no such profile."""
    with api.reader(context) as session:
        return query.one(session, models.DeviceProfile, _NAME, name=name)


def get_by_id(context: cyborg_context.RequestContext,
              profile_id: int) -> models.DeviceProfile:
    """:raises exception.ResourceNotFound: no such profile."""
    with api.reader(context) as session:
        return query.one(session, models.DeviceProfile, _NAME, id=profile_id)


def list_(context: cyborg_context.RequestContext,
          names: Iterable[str] | None = None) -> list[models.DeviceProfile]:
    """Profiles, oldest first.

    :param names: only profiles with one of these names.
    """
    profile = models.DeviceProfile
    select = sa.select(profile).order_by(profile.id)
    if names is not None:
        select = select.where(query.contains(profile.name, names))
    with api.reader(context) as session:
        return list(session.scalars(select))


@api.retry_on_deadlock
def create(context: cyborg_context.RequestContext, *, uuid: str, name: str,
           groups: list[dict[str, str]],
           description: str | None = None) -> models.DeviceProfile:
    """:raises exception.DuplicateDeviceProfileName: the name is taken.
    :raises exception.DeviceProfileAlreadyExists: the UUID is taken.
    """
    row = models.DeviceProfile(
        uuid=uuid, name=name, description=description,
        profile_json=json.dumps({'groups': groups}))
    try:
        with api.writer(context) as session:
            # A database made by create_schema has no unique UUIDs here.
            if _exists(session, uuid=uuid):
                raise exception.DeviceProfileAlreadyExists(uuid=uuid)
            session.add(row)
            session.flush()
    except db_exc.DBDuplicateEntry:
        # Databases tell what collided in ways of their own, so look.
        with api.reader(context) as session:
            if _exists(session, name=name):
                raise exception.DuplicateDeviceProfileName(
                    name=name) from None
        raise exception.DeviceProfileAlreadyExists(uuid=uuid) from None
    return row


def _exists(session, **values) -> bool:
    return session.scalars(
        sa.select(models.DeviceProfile.id).filter_by(**values).limit(1)
    ).first() is not None


@api.retry_on_deadlock
def delete(context: cyborg_context.RequestContext, uuid: str) -> None:
    """:raises exception.ResourceNotFound: no such profile.
    :raises exception.DeviceProfileInUse: ARQs refer to it. That is checked
        here, since SQLite need not enforce foreign keys.
    """
    with api.writer(context) as session:
        row = query.one(session, models.DeviceProfile, _NAME, uuid=uuid)
        users = _users(session, row.id)
        if users:
            raise exception.DeviceProfileInUse(name=row.name, count=users)
        try:
            session.delete(row)
            session.flush()
        except db_exc.DBReferenceError:
            # Created by another transaction since the count.
            raise exception.DeviceProfileInUse(
                name=row.name, count='some') from None


def _users(session, profile_id: int) -> int:
    return session.scalar(
        sa.select(sa.func.count(models.ExtARQ.id))
        .where(models.ExtARQ.device_profile_id == profile_id))

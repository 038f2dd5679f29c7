# SPDX-License-Identifier: Apache-2.0
"""Queries on ``extended_accelerator_requests``, with what belongs to each.

Reading one ARQ or all of them takes one statement: profile, handle and
deployable are joined, and an ARQ that points at a row which is gone is read
as one without it.
"""

from collections.abc import Iterable
from collections.abc import Sequence
from typing import Any

from oslo_db import exception as db_exc
import sqlalchemy as sa
from sqlalchemy import orm

from cyborg.common import constants
from cyborg.common import context as cyborg_context
from cyborg.common import exception
from cyborg.db import api
from cyborg.db import query
from cyborg.db.sqlalchemy import models

_NAME = 'ExtArq'
_BINDABLE = constants.ARQ_STATES_TRANSFORM_MATRIX[constants.ARQ_BIND_STARTED]


def _joined() -> sa.Select:
    """Rows of: ExtARQ, profile_name, profile_json, deployable_uuid,
    handle_uuid, attach_type, attach_info.

    ``ExtARQ`` has the columns of the model and is none: nothing is changed
    through the session, and a list can have thousands of rows.
    """
    arq, profile = models.ExtARQ, models.DeviceProfile
    deployable, handle = models.Deployable, models.AttachHandle
    return (
        sa.select(
            orm.Bundle('ExtARQ', *(getattr(arq, column.key) for column
                                   in arq.__table__.columns)),
            profile.name.label('profile_name'),
            profile.profile_json.label('profile_json'),
            deployable.uuid.label('deployable_uuid'),
            handle.uuid.label('handle_uuid'),
            handle.attach_type.label('attach_type'),
            handle.attach_info.label('attach_info'))
        .outerjoin(profile, profile.id == arq.device_profile_id)
        .outerjoin(deployable, deployable.id == arq.deployable_id)
        .outerjoin(handle, handle.id == arq.attach_handle_id))


def visible(context: cyborg_context.RequestContext) -> sa.ColumnElement[bool]:
    """Whose ARQs a caller sees: an admin all, others their project's.

    A caller that has no project and is no admin sees none.
    """
    if context.is_admin:
        return sa.true()
    if not context.project_id:
        return sa.false()
    return models.ExtARQ.project_id == context.project_id


def get(context: cyborg_context.RequestContext, uuid: str) -> sa.Row:
    """One ARQ that the caller may see.

    :returns: a row as :func:`list_` gives.
    :raises exception.ResourceNotFound: no such ARQ, or another project's.
    """
    with api.reader(context) as session:
        row = session.execute(
            _joined().where(models.ExtARQ.uuid == uuid, visible(context))
        ).first()
        if row is None:
            raise query.not_found(_NAME, uuid=uuid)
        return row


def get_stored(context: cyborg_context.RequestContext, arq_id: int) -> sa.Row:
    """One ARQ by row id, whoever may see it.

    :raises exception.ResourceNotFound: no such ARQ.
    """
    with api.reader(context) as session:
        row = session.execute(
            _joined().where(models.ExtARQ.id == arq_id)).first()
        if row is None:
            raise query.not_found(_NAME, id=arq_id)
        return row


def list_(context: cyborg_context.RequestContext, *,
          project_id: str | None = None, instance_uuid: str | None = None,
          uuids: Iterable[str] | None = None,
          beside_instance: str | None = None,
          states: Iterable[str] | None = None) -> list[sa.Row]:
    """The ARQs that the caller may see, oldest first.

    :param beside_instance: ``uuids``, and those of this instance, too.
    :returns: rows of ``ExtARQ`` (its columns), ``profile_name``,
        ``profile_json``, ``deployable_uuid``, ``handle_uuid``,
        ``attach_type`` and ``attach_info``; each of the last six is None
        when what the ARQ points at is not there.
    """
    with api.reader(context) as session:
        return list(session.execute(_filtered(
            _joined(), context, project_id, instance_uuid, uuids, states,
            beside_instance)))


def shown(context: cyborg_context.RequestContext, *,
          project_id: str | None = None,
          instance_uuid: str | None = None,
          uuids: Iterable[str] | None = None,
          states: Iterable[str] | None = None) -> Sequence[sa.Row]:
    """As :func:`list_`, of each what a user is shown alone.

    :returns: rows of ``uuid``, ``state``, ``device_profile_group_id``,
        ``hostname``, ``device_rp_uuid``, ``instance_uuid``, ``project_id``,
        ``created_at``, ``updated_at``, and of what it points at the
        profile's name and the handle's ``uuid``, ``attach_type`` and
        ``attach_info``.
    """
    with api.reader(context) as session:
        return _plain_rows(session, _filtered(
            _shown(), context, project_id, instance_uuid, uuids, states))


def shown_with(context: cyborg_context.RequestContext,
               uuids: Iterable[str]) -> Sequence[sa.Row]:
    """Rows as of :func:`shown` with these UUIDs, whoever may see them."""
    with api.reader(context) as session:
        return _plain_rows(session, _shown().where(
            query.contains(models.ExtARQ.uuid, uuids)))


def _plain_rows(session: orm.Session, select: sa.Select) -> Sequence[sa.Row]:
    # A session would make each row twice, in case there are objects in it.
    return session.connection().execute(select).all()


def _shown() -> sa.Select:
    arq, profile = models.ExtARQ, models.DeviceProfile
    handle = models.AttachHandle
    return (
        sa.select(arq.uuid, arq.state, arq.device_profile_group_id,
                  arq.hostname, arq.device_rp_uuid, arq.instance_uuid,
                  arq.project_id, arq.created_at, arq.updated_at,
                  profile.name, handle.uuid, handle.attach_type,
                  handle.attach_info)
        .outerjoin(profile, profile.id == arq.device_profile_id)
        .outerjoin(handle, handle.id == arq.attach_handle_id))


def _filtered(select: sa.Select, context, project_id, instance_uuid, uuids,
              states, beside_instance=None) -> sa.Select:
    arq = models.ExtARQ
    select = select.where(visible(context)).order_by(arq.id)
    if project_id is not None:
        select = select.where(arq.project_id == project_id)
    if instance_uuid is not None:
        select = select.where(arq.instance_uuid == instance_uuid)
    if uuids is not None:
        chosen = query.contains(arq.uuid, uuids)
        select = select.where(chosen if beside_instance is None else sa.or_(
            chosen, arq.instance_uuid == beside_instance))
    if states is not None:
        select = select.where(query.as_text(arq.state).in_(list(states)))
    return select


@api.retry_on_deadlock
def create(context: cyborg_context.RequestContext,
           values: dict[str, Any]) -> models.ExtARQ:
    """Store a new ARQ.

    :param values: columns; ``uuid``, ``state`` and ``device_profile_id`` at
        least.
    :raises exception.ExtArqAlreadyExists: the UUID is taken.
    :raises exception.ResourceNotFound: the profile is gone.
    """
    row = models.ExtARQ(**values)
    try:
        with api.writer(context) as session:
            session.add(row)
            session.flush()
    except db_exc.DBDuplicateEntry:
        raise exception.ExtArqAlreadyExists(uuid=values['uuid']) from None
    except db_exc.DBReferenceError:
        raise query.not_found(
            'Device Profile', id=values['device_profile_id']) from None
    return row


@api.retry_on_deadlock
def create_many(context: cyborg_context.RequestContext,
                device_profile_id: int,
                requests: Sequence[dict[str, Any]]) -> None:
    """Store new ARQs in state Initial, all or none, in one statement.

    :param requests: of each ``uuid``, ``device_profile_group_id`` and
        ``project_id``; other keys are passed over.
    :raises exception.ExtArqAlreadyExists: one of the UUIDs is taken.
    :raises exception.ResourceNotFound: the profile is gone.
    """
    rows = [{'uuid': request['uuid'], 'state': 'Initial',
             'device_profile_id': device_profile_id,
             'device_profile_group_id': request['device_profile_group_id'],
             'project_id': request['project_id']} for request in requests]
    if not rows:
        return
    try:
        with api.writer(context) as session:
            session.execute(sa.insert(models.ExtARQ), rows)
    except db_exc.DBDuplicateEntry:
        raise exception.ExtArqAlreadyExists(
            uuid=', '.join(row['uuid'] for row in rows)) from None
    except db_exc.DBReferenceError:
        raise query.not_found('Device Profile',
                              id=device_profile_id) from None


@api.retry_on_deadlock
def delete(context: cyborg_context.RequestContext, uuid: str) -> None:
    """Remove an ARQ that the caller may see and that holds no handle.

    :raises exception.ResourceNotFound: no such ARQ, or another project's.
    :raises exception.ARQBadState: it was bound meanwhile; removing it would
        leave its handle in use for ever.
    """
    arq = models.ExtARQ
    mine = (arq.uuid == uuid, visible(context))
    with api.writer(context) as session:
        if query.changed(session, sa.delete(arq).where(
                *mine, arq.attach_handle_id.is_(None))):
            return
        state = session.scalar(sa.select(arq.state).where(*mine))
        if state is None:
            raise query.not_found(_NAME, uuid=uuid)
        raise exception.ARQBadState(
            uuid=uuid, state=state,
            expected='Initial, Unbound, BindFailed')


@api.retry_on_deadlock
def withdraw(context: cyborg_context.RequestContext, uuid: str,
             profile_id: int) -> None:
    """See to it that there is no ARQ whose creation was not answered.

    A conductor may be storing it just now, which PostgreSQL shows to nobody
    until it is committed. But nobody else can store that UUID meanwhile: who
    tries waits, and knows then. What is not stored by now comes too late (see
    ``cyborg.common.deadline``).

    :param profile_id: row id of any device profile.
    """
    arq = models.ExtARQ
    try:
        with api.writer(context) as session:
            session.execute(sa.insert(arq).values(
                uuid=uuid, state=constants.ARQ_INITIAL, substate='Initial',
                device_profile_id=profile_id, device_profile_group_id=0))
            query.changed(session, sa.delete(arq).where(arq.uuid == uuid))
    except db_exc.DBDuplicateEntry:
        delete_without_instance(context, [uuid])
    except db_exc.DBReferenceError:
        # The profile is gone, so none of its requests can be there.
        return


@api.retry_on_deadlock
def note(context: cyborg_context.RequestContext, uuids: Iterable[str],
         instance_uuid: str, instead_of: Iterable[str] = ()) -> None:
    """Note for which instance ARQs are about to be bound.

    Before a conductor is asked to: whoever deletes the requests of the
    instance finds them, whatever became of the bind, and a bind that is
    carried out after it was withdrawn finds that out.

    :param instead_of: ARQs of which the same was noted before, and which are
        not to be bound any more.
    :raises exception.ARQBadState: one was bound or deleted meanwhile.
    """
    arq, uuids = models.ExtARQ, list(uuids)
    free = (arq.state.in_(_BINDABLE), arq.attach_handle_id.is_(None),
            visible(context))

    def change(session: orm.Session, chosen: Iterable[str],
               instance: str | None) -> int:
        return query.changed(session, sa.update(arq).where(
            query.contains(arq.uuid, chosen), *free).values(
                instance_uuid=instance))

    with api.writer(context) as session:
        instead_of = list(instead_of)
        if instead_of:
            change(session, instead_of, None)
        if change(session, uuids, instance_uuid) != len(uuids):
            states = dict.fromkeys(uuids, 'deleted') | dict(session.execute(
                sa.select(arq.uuid, arq.state).where(
                    query.contains(arq.uuid, uuids))).tuples().all())
            uuid = max(uuids, key=lambda each: states[each] not in _BINDABLE)
            raise exception.ARQBadState(uuid=uuid, state=states[uuid],
                                        expected=', '.join(_BINDABLE))


class _Changed(Exception):
    """Rolls a transaction back."""


@api.retry_on_deadlock
def delete_without_instance(context: cyborg_context.RequestContext,
                            uuids: Iterable[str]) -> bool:
    """Remove ARQs that the caller may see, if none belongs to an instance.

    One that is noted for an instance alone (:func:`note`) does not yet.

    :returns: False when one belongs to an instance, holds a handle or is not
        there (any more); nothing was removed then.
    """
    arq, uuids = models.ExtARQ, set(uuids)
    try:
        with api.writer(context) as session:
            removed = query.changed(session, sa.delete(arq).where(
                query.contains(arq.uuid, uuids), visible(context),
                sa.or_(arq.instance_uuid.is_(None),
                       arq.state.in_(_BINDABLE)),
                arq.attach_handle_id.is_(None)))
            if removed != len(uuids):
                raise _Changed()
    except _Changed:
        return False
    return True


def instances_without_project(
        context: cyborg_context.RequestContext) -> dict[str | None, int]:
    """How many ARQs have no project, by the instance they are bound to.

    Releases before 2026.2 stored none. The key None stands for those that
    belong to no instance either.
    """
    arq = models.ExtARQ
    with api.reader(context) as session:
        return dict(session.execute(
            sa.select(arq.instance_uuid, sa.func.count(arq.id))
            .where(arq.project_id.is_(None)).group_by(arq.instance_uuid)
            .order_by(arq.instance_uuid)).all())


@api.retry_on_deadlock
def fill_in_project(context: cyborg_context.RequestContext, instance_uuid: str,
                    project_id: str) -> int:
    """Give the ARQs of an instance that have no project its project.

    :returns: rows changed.
    """
    arq = models.ExtARQ
    with api.writer(context) as session:
        return query.changed(session, sa.update(arq).where(
            arq.instance_uuid == instance_uuid,
            arq.project_id.is_(None)).values(project_id=project_id))

# SPDX-License-Identifier: Apache-2.0
"""Binding: an ARQ gets an attach handle.

A handle has at most one ARQ. That is kept by conditional UPDATEs and their
row counts, never by a lock that a statement asks for: on a cluster of
databases such locks turn into deadlocks of the commit (B46). Every function
is one transaction, so a conductor that is killed leaves either all of a step
or nothing of it.
"""

from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
import random

import sqlalchemy as sa
from sqlalchemy import orm

from cyborg.common import constants
from cyborg.common import context as cyborg_context
from cyborg.common import exception
from cyborg.db import api
from cyborg.db import attach_handles
from cyborg.db import families
from cyborg.db.sqlalchemy import models
from cyborg.inventory import attach_info
from cyborg.inventory import identity

# Handles read to pick from; others may take the first ones meanwhile.
_SPARE_CANDIDATES = 64


@dataclasses.dataclass(frozen=True)
class Request:
    """Where an ARQ is to be bound.

    :ivar project_id: new owner, or None to keep the present one.
    """

    arq_uuid: str
    hostname: str
    rp_uuid: str
    instance_uuid: str
    project_id: str | None = None


@dataclasses.dataclass(frozen=True)
class Holding:
    """An ARQ and the handle it holds; without one the last fields are None.

    :ivar handle_hostname: host of the handle's device, where the agent is.
    """

    arq_uuid: str
    state: str
    instance_uuid: str | None
    handle_id: int | None = None
    handle_uuid: str | None = None
    attach_type: str | None = None
    attach_info: str | None = None
    handle_hostname: str | None = None
    deployable_id: int | None = None

    @property
    def is_mdev(self) -> bool:
        return self.attach_type == constants.AH_TYPE_MDEV

    @property
    def mdev(self) -> dict[str, str | None]:
        """Arguments of the agent's calls about a mediated device.

        :raises exception.AttachInfoInvalid: the stored text is damaged.
        """
        try:
            info = attach_info.AttachInfo.read(self.attach_info or '')
            where = str(info.address)
        except identity.InvalidInfo as error:
            raise exception.AttachInfoInvalid(
                uuid=self.handle_uuid, host=self.handle_hostname,
                key='attach_info', value=self.attach_info,
                reason=error.reason) from error
        return {'hostname': self.handle_hostname,
                'pci_addr': where,
                'asked_type': info.values.get('asked_type'),
                'ah_uuid': self.handle_uuid}


def is_done(arq: models.ExtARQ, request: Request) -> bool:
    """Whether a row of an ARQ is what binding it as asked for would make.

    Whoever asks again, since the answer was lost, gets it again.
    """
    return (arq.state == constants.ARQ_BOUND
            and arq.device_rp_uuid == request.rp_uuid
            and arq.instance_uuid == request.instance_uuid
            and (arq.hostname or '').lower() == request.hostname.lower()
            and request.project_id in (None, arq.project_id))


def execute(session: orm.Session, statement: sa.Executable) -> int:
    """Run an UPDATE or DELETE; how many rows it matched."""
    return session.execute(statement, execution_options={
        'synchronize_session': False}).rowcount


@dataclasses.dataclass(frozen=True)
class _Target:
    deployable_id: int
    device_uuid: str
    hostname: str


def _target(session, request: Request) -> _Target:
    """The deployable that a request names.

    :raises exception.ResourceNotFound: no deployable has the provider.
    :raises exception.ExpectedOneObject: several have it.
    :raises exception.BindHostMismatch: it is on another host.
    :raises exception.BindDeviceDisabled: its device is in maintenance.
    """
    deployable, device = models.Deployable, models.Device
    rows = session.execute(
        sa.select(deployable.id, device.uuid, device.hostname, device.status)
        .join(device, device.id == deployable.device_id)
        .where(deployable.rp_uuid == request.rp_uuid).limit(2)).all()
    if not rows:
        raise exception.ResourceNotFound(
            resource='Deployable',
            msg='with resource provider uuid=%s' % request.rp_uuid)
    if len(rows) > 1:
        raise exception.ExpectedOneObject(
            obj='deployable with resource provider %s' % request.rp_uuid,
            count='several')
    row = rows[0]
    # Host names are compared as DNS does.
    if row.hostname.lower() != request.hostname.lower():
        raise exception.BindHostMismatch(
            uuid=request.arq_uuid, host=request.hostname,
            rp_uuid=request.rp_uuid, actual_host=row.hostname)
    if row.status == constants.DEVICE_MAINTAINING:
        raise exception.BindDeviceDisabled(
            uuid=request.arq_uuid, device=row.uuid, host=row.hostname)
    return _Target(row.id, row.uuid, row.hostname)


def _candidates(session, target: _Target, wanted: int) -> list[sa.Row]:
    """Free handles in the order to try them.

    The oldest ones first, as 2026.2 gave them away; those behind them in
    random order, since whoever needs those has met others at the front.

    :raises exception.AttachInfoInvalid: all of them are damaged.
    """
    handle = models.AttachHandle
    found = session.execute(
        sa.select(handle.id, handle.uuid, handle.attach_type,
                  handle.attach_info)
        .where(handle.deployable_id == target.deployable_id,
               *attach_handles.is_free())
        .order_by(handle.id).limit(wanted + _SPARE_CANDIDATES)).all()
    found = _usable(found, target.hostname)
    spare = list(found[wanted:])
    random.shuffle(spare)
    return list(found[:wanted]) + spare


def _usable(found: Sequence[sa.Row], hostname: str) -> list[sa.Row]:
    """Without the handles of which nobody could tell what to attach, or how.

    :raises exception.AttachInfoInvalid: none is left; names the first.
    """
    usable, damage = [], None
    for row in found:
        try:
            info = attach_info.AttachInfo.read(row.attach_info)
            info.key(row.attach_type)
            info.settings  # noqa: B018 - raises when one is damaged
            usable.append(row)
        except identity.InvalidInfo as error:
            damage = damage or exception.AttachInfoInvalid(
                uuid=row.uuid, host=hostname, key='attach_info',
                value=row.attach_info, reason=error.reason)
    if damage is not None and not usable:
        raise damage
    return usable


def _take_one(session, candidates: list[sa.Row]) -> sa.Row | None:
    """Claim the first candidate that nobody else claimed meanwhile."""
    handle = models.AttachHandle
    while candidates:
        candidate = candidates.pop(0)
        if execute(session, sa.update(handle).where(
                handle.id == candidate.id,
                *attach_handles.is_free()).values(in_use=True)):
            return candidate
    return None


def _no_handle(session, request: Request, target: _Target, lost: bool):
    """Why there is no handle for a request.

    :param lost: there were free ones, which others took meanwhile.
    """
    bindable = constants.ARQ_STATES_TRANSFORM_MATRIX[
        constants.ARQ_BIND_STARTED]
    state = session.scalar(sa.select(models.ExtARQ.state).where(
        models.ExtARQ.uuid == request.arq_uuid))
    if state not in bindable:
        # Whoever was faster bound this very ARQ, maybe to the last handle.
        return bad_state(session, request.arq_uuid, bindable)
    if lost:
        return exception.AttachHandleTaken(
            uuid=request.arq_uuid, rp_uuid=request.rp_uuid,
            host=target.hostname)
    total = session.scalar(
        sa.select(sa.func.count(models.AttachHandle.id)).where(
            models.AttachHandle.deployable_id == target.deployable_id))
    return exception.ResourceNotFound(
        resource='A free attach handle',
        msg='for accelerator request %s: all %d of resource provider %s on '
            'host %s are taken' % (request.arq_uuid, total, request.rp_uuid,
                                   target.hostname))


@api.retry_on_deadlock
def claim(context: cyborg_context.RequestContext, requests: Sequence[Request],
          pending: frozenset[str] = frozenset()) -> list[Holding]:
    """Give each ARQ a free handle of its deployable; all get one, or none.

    ARQs become Bound, or BindStarted where the device needs work before a
    guest may have it: MDEV handles, and the ARQs named in ``pending``. As
    long as one ARQ of the set needs work, all of them stay BindStarted.

    :raises exception.ResourceNotFound: unknown provider, or no free handle.
    :raises exception.AttachHandleTaken: there were free handles, and others
        took them meanwhile.
    :raises exception.ARQBadState: an ARQ is not Initial or Unbound (any
        more).
    :raises exception.BindHostMismatch, exception.BindDeviceDisabled,
        exception.ExpectedOneObject: see :func:`_target`.
    :raises exception.AttachInfoInvalid: see :func:`_candidates`.
    :raises exception.BindFunctionShared: see
        :func:`cyborg.db.families.refuse_shared`.
    """
    # All callers go through the handles in one order: fewer deadlocks. ARQs
    # of one provider get theirs in the order of the request, as in 2026.2.
    ordered = sorted(requests, key=lambda r: r.rp_uuid)
    with api.writer(context) as session:
        targets, free, lost = {}, {}, {}
        taken = []
        for request in ordered:
            place = (request.rp_uuid, request.hostname)
            if place not in targets:
                targets[place] = _target(session, request)
        wanted = [targets[r.rp_uuid, r.hostname].deployable_id
                  for r in ordered]
        for request in ordered:
            target = targets[request.rp_uuid, request.hostname]
            where = target.deployable_id
            if where not in free:
                free[where] = _candidates(session, target,
                                          wanted.count(where))
                lost[where] = len(free[where]) >= wanted.count(where)
            handle = _take_one(session, free[where])
            if handle is None:
                raise _no_handle(session, request, target, lost[where])
            taken.append((request, target, handle))
        families.refuse_shared(session, [
            families.Claimed(handle.id, request.arq_uuid, target.hostname)
            for request, target, handle in taken])
        work = pending or any(
            handle.attach_type == constants.AH_TYPE_MDEV
            for _, _, handle in taken)
        state = (constants.ARQ_BIND_STARTED if work
                 else constants.ARQ_BOUND)
        return [_hand_over(context, session, state, *item) for item in taken]


def _hand_over(context, session, state, request, target, handle) -> Holding:
    arq = models.ExtARQ
    values = _values(request) | {
        'state': state, 'attach_handle_id': handle.id,
        'deployable_id': target.deployable_id}
    allowed = constants.ARQ_STATES_TRANSFORM_MATRIX[
        constants.ARQ_BIND_STARTED]
    if not execute(session, sa.update(arq).where(
            arq.uuid == request.arq_uuid, arq.state.in_(allowed),
            arq.attach_handle_id.is_(None)).values(values)):
        raise bad_state(session, request.arq_uuid, allowed)
    return Holding(request.arq_uuid, state, request.instance_uuid, handle.id,
                   handle.uuid, handle.attach_type, handle.attach_info,
                   target.hostname, target.deployable_id)


def _values(request: Request) -> dict:
    values = {'hostname': request.hostname,
              'device_rp_uuid': request.rp_uuid,
              'instance_uuid': request.instance_uuid}
    if request.project_id is not None:
        values['project_id'] = request.project_id
    return values


def bad_state(session: orm.Session, arq_uuid: str,
              allowed: Iterable[str]) -> exception.ARQBadState:
    """The error for an ARQ that is not in one of the allowed states."""
    state = session.scalar(sa.select(models.ExtARQ.state).where(
        models.ExtARQ.uuid == arq_uuid))
    return exception.ARQBadState(
        uuid=arq_uuid, state=state or 'deleted',
        expected=', '.join(sorted(allowed)))


@api.retry_on_deadlock
def complete(context: cyborg_context.RequestContext,
             holdings: Sequence[Holding]) -> None:
    """BindStarted -> Bound for ARQs whose devices are ready; all or none.

    :raises exception.ARQBadState: an ARQ was unbound meanwhile.
    """
    arq = models.ExtARQ
    with api.writer(context) as session:
        for holding in holdings:
            if not execute(session, sa.update(arq).where(
                    arq.uuid == holding.arq_uuid,
                    arq.state == constants.ARQ_BIND_STARTED,
                    arq.attach_handle_id == holding.handle_id).values(
                        state=constants.ARQ_BOUND)):
                raise bad_state(session, holding.arq_uuid,
                                (constants.ARQ_BIND_STARTED,))


@api.retry_on_deadlock
def fail(context: cyborg_context.RequestContext, requests: Sequence[Request],
         holdings: Sequence[Holding] = ()) -> list[str]:
    """Put the ARQs of a failed bind in BindFailed and free their handles.

    An ARQ that someone else bound or unbound meanwhile is left alone, and so
    is the handle of which it is not known any more that it was ours. Handles
    with a mediated device stay claimed until :func:`drop`, so that nobody
    else has the device when it is removed.

    :returns: UUIDs of the ARQs that are BindFailed now.
    """
    arq = models.ExtARQ
    held = {holding.arq_uuid: holding for holding in holdings}
    failed = []
    with api.writer(context) as session:
        for request in sorted(requests, key=lambda r: r.arq_uuid):
            holding = held.get(request.arq_uuid)
            if holding is None:
                mine = (arq.attach_handle_id.is_(None), arq.state.in_(
                    constants.ARQ_STATES_TRANSFORM_MATRIX[
                        constants.ARQ_BIND_STARTED]))
            else:
                mine = (arq.attach_handle_id == holding.handle_id,
                        arq.state == constants.ARQ_BIND_STARTED)
            values = _values(request) | {'state': constants.ARQ_BIND_FAILED}
            keep = holding is not None and holding.is_mdev
            if not keep:
                values |= {'attach_handle_id': None, 'deployable_id': None}
            if not execute(session, sa.update(arq).where(
                    arq.uuid == request.arq_uuid, *mine).values(values)):
                continue
            failed.append(request.arq_uuid)
            if holding is not None and not keep:
                free_handle(session, holding.handle_id)
    return failed


@api.retry_on_deadlock
def drop(context: cyborg_context.RequestContext, holding: Holding) -> None:
    """Free the handle that an ARQ in BindFailed still holds."""
    arq = models.ExtARQ
    with api.writer(context) as session:
        if execute(session, sa.update(arq).where(
                arq.uuid == holding.arq_uuid,
                arq.state == constants.ARQ_BIND_FAILED,
                arq.attach_handle_id == holding.handle_id).values(
                    attach_handle_id=None, deployable_id=None)):
            free_handle(session, holding.handle_id)


def free_handle(session: orm.Session, handle_id: int | None) -> None:
    """Mark a handle as free, unless another ARQ (damage) refers to it."""
    handle, arq = models.AttachHandle, models.ExtARQ
    execute(session, sa.update(handle).where(
        handle.id == handle_id,
        ~sa.exists().where(arq.attach_handle_id == handle.id)).values(
            in_use=False))

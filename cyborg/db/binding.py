# SPDX-License-Identifier: Apache-2.0
"""Binding: an ARQ gets an attach handle.

A handle has at most one ARQ. That is kept by conditional UPDATEs and their
row counts, never by a lock that a statement asks for: on a cluster of
databases such locks turn into deadlocks of the commit (B46). Every function
is one transaction, so a conductor that is killed leaves either all of a step
or nothing of it.
"""

import collections
from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
import random

import sqlalchemy as sa
from sqlalchemy import orm

from cyborg.common import constants
from cyborg.common import context as cyborg_context
from cyborg.common import exception
from cyborg.db import absences
from cyborg.db import api
from cyborg.db import attach_handles
from cyborg.db import bind_targets
from cyborg.db import families
from cyborg.db import query
from cyborg.db import report_order
from cyborg.db.sqlalchemy import models
from cyborg.inventory import attach_info
from cyborg.inventory import identity

# Handles read to pick from; others may take the first ones meanwhile.
_SPARE_CANDIDATES = 64


Request = bind_targets.Request


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
    return arq.state == constants.ARQ_BOUND and _is_as_asked(arq, request)


def is_under_way(arq: models.ExtARQ, request: Request) -> bool:
    """Whether an ARQ is being bound as asked for, or was when it stopped."""
    return (arq.state == constants.ARQ_BIND_STARTED
            and arq.attach_handle_id is not None
            and _is_as_asked(arq, request))


def _is_as_asked(arq, request: Request) -> bool:
    return (arq.device_rp_uuid == request.rp_uuid
            and arq.instance_uuid == request.instance_uuid
            and (arq.hostname or '').lower() == request.hostname.lower()
            and request.project_id in (None, arq.project_id))


def still_asked(context: cyborg_context.RequestContext, request: Request
                ) -> sa.ColumnElement[bool]:
    """Whether an ARQ is the instance's, or nobody's, that is to get it.

    Where the API noted it, it has to be noted still: unbinding removes the
    note, deleting the ARQ, and asking for another instance changes it.
    """
    instance = models.ExtARQ.instance_uuid
    noted = sa.func.lower(instance) == request.instance_uuid.lower()
    return noted if context.noted else sa.or_(noted, instance.is_(None))


def _candidates(session: orm.Session, targets: Sequence[bind_targets.Target]
                ) -> dict[int, list[sa.Row]]:
    """Free handles by the deployable of each target, the oldest one first.

    One statement. There is a target for each handle that is wanted; of the
    handles behind those that are wanted some are left out.
    """
    handle = models.AttachHandle
    wanted = collections.Counter(each.deployable_id for each in targets)
    select = (
        sa.select(handle.id, handle.uuid, handle.attach_type,
                  handle.attach_info, handle.deployable_id)
        .where(handle.deployable_id.in_(sorted(wanted)),
               absences.is_present({each.hostname for each in targets}),
               *attach_handles.is_free())
        .order_by(handle.id))
    if len(wanted) == 1:
        select = select.limit(len(targets) + _SPARE_CANDIDATES)
    found: dict[int, list[sa.Row]] = {where: [] for where in wanted}
    for row in session.execute(select):
        same = found[row.deployable_id]
        if len(same) < wanted[row.deployable_id] + _SPARE_CANDIDATES:
            same.append(row)
    return found


def _in_turn(found: Sequence[sa.Row], hostname: str, wanted: int
             ) -> list[sa.Row]:
    """Handles in the order to try them.

    The oldest ones first, as 2026.2 gave them away; those behind them in
    random order, since whoever needs those has met others at the front.

    :raises exception.AttachInfoInvalid: all of them are damaged.
    """
    usable = _usable(found, hostname)
    spare = usable[wanted:]
    random.shuffle(spare)
    return usable[:wanted] + spare


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
        if query.changed(session, sa.update(handle).where(
                handle.id == candidate.id,
                *attach_handles.is_free()).values(in_use=True)):
            return candidate
    return None


def _no_handle(session, request: Request, target: bind_targets.Target,
               lost: bool):
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
    missing = absences.of_deployable(session, target.deployable_id,
                                     target.hostname)
    if missing:
        info, replaced_by = missing[0]
        return exception.BindDeviceMissing(
            uuid=request.arq_uuid, rp_uuid=request.rp_uuid,
            host=target.hostname, address=attach_info.describe(info),
            reason='was replaced by %s' % replaced_by if replaced_by
            else 'is missing')
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
    :raises exception.BindWithdrawn: see :func:`still_asked`.
    :raises exception.BindHostMismatch, exception.BindDeviceDisabled,
        exception.ExpectedOneObject: see
        :func:`cyborg.db.bind_targets.targets`.
    :raises exception.AttachInfoInvalid: see :func:`_in_turn`.
    :raises exception.BindFunctionShared: see
        :func:`cyborg.db.families.refuse_shared`.
    """
    with api.writer(context) as session:
        hold(session, requests)
        return claim_held(session, context, requests, pending)


def hold(session: orm.Session, requests: Iterable[Request]) -> None:
    """Keep what is known of the hosts as it is; see ``report_order.hold``.

    Nothing is claimed for which a report has found something since it was
    read, and of a PF and its VFs nobody else claims one meanwhile.
    """
    report_order.hold(session, [request.hostname for request in requests])


def claim_held(session: orm.Session, context: cyborg_context.RequestContext,
               requests: Sequence[Request], pending: frozenset[str]
               ) -> list[Holding]:
    """:func:`claim` in a transaction that began with :func:`hold`."""
    # All callers go through the handles in one order: fewer deadlocks. ARQs
    # of one provider get theirs in the order of the request, as in 2026.2.
    ordered = sorted(requests, key=lambda r: r.rp_uuid)
    targets = bind_targets.targets(session, ordered)
    wanted = collections.Counter(each.deployable_id for each in targets)
    found = _candidates(session, targets)
    free: dict[int, list[sa.Row]] = {}
    lost = {}
    taken = []
    for request, target in zip(ordered, targets, strict=True):
        where = target.deployable_id
        if where not in free:
            free[where] = _in_turn(found[where], target.hostname,
                                   wanted[where])
            lost[where] = len(free[where]) >= wanted[where]
        handle = _take_one(session, free[where])
        if handle is None:
            raise _no_handle(session, request, target, lost[where])
        taken.append((request, target, handle))
    families.refuse_shared(session, [
        families.Claimed(handle.id, request.arq_uuid, target.hostname)
        for request, target, handle in taken])
    work = pending or any(handle.attach_type == constants.AH_TYPE_MDEV
                          for _, _, handle in taken)
    state = constants.ARQ_BIND_STARTED if work else constants.ARQ_BOUND
    return [_hand_over(context, session, state, *item) for item in taken]


def _hand_over(context, session, state, request, target, handle) -> Holding:
    arq = models.ExtARQ
    changes = values(request) | {
        'state': state, 'attach_handle_id': handle.id,
        'deployable_id': target.deployable_id}
    allowed = constants.ARQ_STATES_TRANSFORM_MATRIX[
        constants.ARQ_BIND_STARTED]
    if not query.changed(session, sa.update(arq).where(
            arq.uuid == request.arq_uuid, arq.state.in_(allowed),
            arq.attach_handle_id.is_(None),
            still_asked(context, request)).values(changes)):
        raise _not_handed_over(session, request, allowed)
    return Holding(request.arq_uuid, state, request.instance_uuid, handle.id,
                   handle.uuid, handle.attach_type, handle.attach_info,
                   target.hostname, target.deployable_id)


def _not_handed_over(session, request: Request, allowed: Iterable[str]):
    error = bad_state(session, request.arq_uuid, allowed)
    if error.kwargs['state'] in allowed:
        return exception.BindWithdrawn(uuid=request.arq_uuid,
                                       instance=request.instance_uuid)
    return error


def values(request: Request) -> dict[str, str | None]:
    """Columns of an ARQ that say what was asked for."""
    found: dict[str, str | None] = {
        'hostname': request.hostname, 'device_rp_uuid': request.rp_uuid,
        'instance_uuid': request.instance_uuid}
    if request.project_id is not None:
        found['project_id'] = request.project_id
    return found


def bad_state(session: orm.Session, arq_uuid: str,
              allowed: Iterable[str]) -> exception.ARQBadState:
    """The error for an ARQ that is not in one of the allowed states."""
    state = session.scalar(sa.select(models.ExtARQ.state).where(
        models.ExtARQ.uuid == arq_uuid))
    return exception.ARQBadState(
        uuid=arq_uuid, state=state or 'deleted',
        expected=', '.join(sorted(allowed)))


def as_read(holdings: Sequence[Holding]) -> tuple[sa.ColumnElement[bool], ...]:
    """Conditions: one of these ARQs, and it holds the handle that was read.

    :param holdings: all with a handle.
    """
    arq = models.ExtARQ
    # The first is what an index is used for.
    return (query.contains(arq.uuid, [each.arq_uuid for each in holdings]),
            sa.tuple_(arq.uuid, arq.attach_handle_id).in_(
                [(each.arq_uuid, each.handle_id) for each in holdings]))


def changed(context: cyborg_context.RequestContext,
            holdings: Sequence[Holding]) -> exception.ARQBadState:
    """The error for ARQs of which one is not as it was read any more.

    To be asked for when the transaction that found it is rolled back. Where
    one has let go of its handle it is about that one.
    """
    arq = models.ExtARQ
    with api.reader(context) as session:
        now = {row.uuid: row for row in session.execute(
            sa.select(arq.uuid, arq.state, arq.attach_handle_id).where(
                query.contains(arq.uuid,
                               [each.arq_uuid for each in holdings])))}

    def difference(each: Holding) -> int:
        row = now.get(each.arq_uuid)
        if row is None or row.attach_handle_id != each.handle_id:
            return 2
        return int(row.state != each.state)

    worst = max(holdings, key=difference)
    row = now.get(worst.arq_uuid)
    return exception.ARQBadState(
        uuid=worst.arq_uuid, state=row.state if row else 'deleted',
        expected=worst.state)


def free_handles(session: orm.Session, handle_ids: Iterable[int | None]
                 ) -> None:
    """Mark handles as free, unless another ARQ (damage) refers to one."""
    handle, arq = models.AttachHandle, models.ExtARQ
    query.changed(session, sa.update(handle).where(
        query.among(handle.id, sorted(each for each in handle_ids
                                      if each is not None)),
        ~sa.exists().where(arq.attach_handle_id == handle.id)).values(
            in_use=False))

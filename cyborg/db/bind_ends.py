# SPDX-License-Identifier: Apache-2.0
"""How a bind ends that is not over with its claim: ready, taken over, failed.

See ``cyborg.db.binding``.
"""

from collections.abc import Sequence
import datetime

from oslo_utils import timeutils
import sqlalchemy as sa

from cyborg.common import constants
from cyborg.common import context as cyborg_context
from cyborg.db import api
from cyborg.db import binding
from cyborg.db import query
from cyborg.db.sqlalchemy import models


class _NotAll(Exception):
    """Ends a transaction, nothing of which is to stay."""


@api.retry_on_deadlock
def complete(context: cyborg_context.RequestContext,
             holdings: Sequence[binding.Holding]) -> None:
    """BindStarted -> Bound for ARQs whose devices are ready; all or none.

    One statement for each instance.

    :raises exception.ARQBadState: an ARQ was unbound meanwhile.
    """
    arq = models.ExtARQ
    try:
        with api.writer(context) as session:
            for instance, same in _by_instance(holdings).items():
                if query.changed(session, sa.update(arq).where(
                        *binding.as_read(same),
                        arq.state == constants.ARQ_BIND_STARTED,
                        arq.instance_uuid == instance).values(
                            state=constants.ARQ_BOUND)) < len(same):
                    raise _NotAll
    except _NotAll:
        raise binding.changed(context, holdings) from None


def _by_instance(holdings: Sequence[binding.Holding]
                 ) -> dict[str | None, list[binding.Holding]]:
    found: dict[str | None, list[binding.Holding]] = {}
    for holding in holdings:
        found.setdefault(holding.instance_uuid, []).append(holding)
    return found


@api.retry_on_deadlock
def take_over(context: cyborg_context.RequestContext,
              holdings: Sequence[binding.Holding],
              before: datetime.datetime) -> bool:
    """Go on with ARQs that are BindStarted since before some time.

    :returns: False when somebody else does, or they are not any more.
    """
    arq = models.ExtARQ
    try:
        with api.writer(context) as session:
            if query.changed(session, sa.update(arq).where(
                    query.contains(arq.uuid, [h.arq_uuid for h in holdings]),
                    arq.state == constants.ARQ_BIND_STARTED,
                    arq.updated_at <= before).values(
                        updated_at=timeutils.utcnow())) < len(holdings):
                raise _NotAll
    except _NotAll:
        return False
    return True


@api.retry_on_deadlock
def fail(context: cyborg_context.RequestContext,
         requests: Sequence[binding.Request],
         holdings: Sequence[binding.Holding] = ()) -> list[str]:
    """Put the ARQs of a failed bind in BindFailed and free their handles.

    An ARQ that someone else bound or unbound meanwhile is left alone, and so
    is the handle of which it is not known any more that it was ours. Handles
    with a mediated device stay claimed until :func:`drop`, so that nobody
    else has the device when it is removed.

    :returns: UUIDs of the ARQs that are BindFailed now.
    """
    arq = models.ExtARQ
    held = {holding.arq_uuid: holding for holding in holdings}
    failed, freed = [], []
    with api.writer(context) as session:
        for request in sorted(requests, key=lambda r: r.arq_uuid):
            holding = held.get(request.arq_uuid)
            if holding is None:
                mine = (arq.attach_handle_id.is_(None), arq.state.in_(
                    constants.ARQ_STATES_TRANSFORM_MATRIX[
                        constants.ARQ_BIND_STARTED]),
                    binding.still_asked(context, request))
            else:
                mine = (arq.attach_handle_id == holding.handle_id,
                        arq.instance_uuid == holding.instance_uuid,
                        arq.state == constants.ARQ_BIND_STARTED)
            values = binding.values(request) | {
                'state': constants.ARQ_BIND_FAILED}
            keep = holding is not None and holding.is_mdev
            if not keep:
                values |= {'attach_handle_id': None, 'deployable_id': None}
            if not query.changed(session, sa.update(arq).where(
                    arq.uuid == request.arq_uuid, *mine).values(values)):
                continue
            failed.append(request.arq_uuid)
            if holding is not None and not keep:
                freed.append(holding.handle_id)
        if freed:
            binding.free_handles(session, freed)
    return failed


@api.retry_on_deadlock
def drop(context: cyborg_context.RequestContext,
         holding: binding.Holding) -> None:
    """Free the handle that an ARQ in BindFailed still holds."""
    arq = models.ExtARQ
    with api.writer(context) as session:
        if query.changed(session, sa.update(arq).where(
                arq.uuid == holding.arq_uuid,
                arq.state == constants.ARQ_BIND_FAILED,
                arq.attach_handle_id == holding.handle_id).values(
                    attach_handle_id=None, deployable_id=None)):
            binding.free_handles(session, [holding.handle_id])

# SPDX-License-Identifier: Apache-2.0
"""Unbinding: ARQs let go of their attach handles, and may be deleted.

The counterpart of ``cyborg.db.binding``, for every state an ARQ can be in,
also one that a killed conductor left behind.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy import orm

from cyborg.common import constants
from cyborg.common import context as cyborg_context
from cyborg.common import exception
from cyborg.db import api
from cyborg.db import arqs
from cyborg.db import binding
from cyborg.db import query
from cyborg.db.sqlalchemy import models

# Looks at ARQs that other requests change meanwhile.
_ATTEMPTS = 5
# ARQs of one statement: of each it has three parameters.
_CHUNK = 1000


def holdings(context: cyborg_context.RequestContext, *,
             uuids: Iterable[str] | None = None,
             instance_uuid: str | None = None) -> list[binding.Holding]:
    """What the ARQs hold that the caller may see; unknown ones are left out.

    One statement, oldest ARQ first.
    """
    arq, handle = models.ExtARQ, models.AttachHandle
    deployable, device = models.Deployable, models.Device
    select = (
        sa.select(arq.uuid, arq.state, arq.instance_uuid,
                  arq.attach_handle_id, handle.uuid, handle.attach_type,
                  handle.attach_info, device.hostname, arq.deployable_id)
        .outerjoin(handle, handle.id == arq.attach_handle_id)
        .outerjoin(deployable, deployable.id == handle.deployable_id)
        .outerjoin(device, device.id == deployable.device_id)
        .where(arqs.visible(context)).order_by(arq.id))
    if uuids is not None:
        select = select.where(query.contains(arq.uuid, uuids))
    if instance_uuid is not None:
        select = select.where(arq.instance_uuid == instance_uuid)
    with api.reader(context) as session:
        return [binding.Holding(*row) for row in session.execute(select)]


class _Changed(Exception):
    """Rolls back: an ARQ does not hold any more what was read."""


@api.retry_on_deadlock
def _let_go(context, holdings: Sequence[binding.Holding], delete: bool
            ) -> list[binding.Holding]:
    """Free the handles of ARQs that still hold what was read.

    A constant number of statements, where all of them do.

    :returns: those that did not; nothing happened to them.
    """
    try:
        with api.writer(context) as session:
            _let_all_go(session, holdings, delete)
        return []
    except _Changed:
        with api.writer(context) as session:
            return [holding for holding in _in_order(holdings)
                    if not _went(session, holding, delete)]


def _in_order(holdings: Iterable[binding.Holding]) -> list[binding.Holding]:
    """All callers go through ARQs in one order: fewer deadlocks."""
    return sorted(holdings, key=lambda h: h.arq_uuid)


def _went(session, holding: binding.Holding, delete: bool) -> bool:
    try:
        _let_all_go(session, [holding], delete)
    except _Changed:
        return False
    return True


def _let_all_go(session: orm.Session, holdings: Sequence[binding.Holding],
                delete: bool) -> None:
    """:raises _Changed: one holds something else, some may be changed"""
    arq = models.ExtARQ
    holdings = _in_order(holdings)
    for start in range(0, len(holdings), _CHUNK):
        some = holdings[start:start + _CHUNK]
        with_handle = [each for each in some if each.handle_id is not None]
        without = [each.arq_uuid for each in some if each.handle_id is None]
        if with_handle:
            _empty(session, binding.as_read(with_handle), len(with_handle),
                   delete)
            binding.free_handles(session, [
                each.handle_id for each in with_handle])
        if without:
            _empty(session, (query.contains(arq.uuid, without),
                             arq.attach_handle_id.is_(None)), len(without),
                   delete)


def _empty(session, conditions, count: int, delete: bool) -> None:
    arq = models.ExtARQ
    statement: sa.Executable
    if delete:
        statement = sa.delete(arq).where(*conditions)
    else:
        statement = sa.update(arq).where(*conditions).values(
            state=constants.ARQ_UNBOUND, hostname=None,
            device_rp_uuid=None, instance_uuid=None,
            attach_handle_id=None, deployable_id=None)
    if query.changed(session, statement) < count:
        raise _Changed


@api.retry_on_deadlock
def exchange(context: cyborg_context.RequestContext,
             released: Sequence[binding.Holding],
             requests: Sequence[binding.Request],
             pending: frozenset[str]) -> list[binding.Holding]:
    """Unbind ARQs and :func:`binding.claim` for others; both or neither.

    :param released: as :func:`holdings` gave them, without mediated devices.
    :raises exception.ARQBadState: one of those was changed meanwhile, or see
        :func:`binding.claim` for this and more.
    """
    try:
        with api.writer(context) as session:
            binding.hold(session, requests)
            _let_all_go(session, released, False)
            return binding.claim_held(session, context, requests, pending)
    except _Changed:
        raise binding.changed(context, _in_order(released)) from None


def release(context: cyborg_context.RequestContext, uuids: Sequence[str],
            remove_mdev: Callable[..., None], *, delete: bool = False) -> None:
    """Unbind ARQs, whatever their state, and delete them if asked to.

    Used by conductors, and by the API for DELETE.

    :param uuids: ARQs that the caller may see.
    :param remove_mdev: ``AgentAPI.remove_vgpu_mdev`` or alike, called with
        (context, hostname, pci_addr, asked_type, ah_uuid) for an ARQ with a
        mediated device before its handle is given free.
    :raises exception.ResourceNotFound: names the ARQs that do not exist (or
        are another project's). When any is unknown at the beginning nothing
        is done; ARQs that vanish during the call are named at its end.
    :raises exception.UnbindFailed: a mediated device could not be removed;
        its ARQ keeps state and handle, the others are released.
    """
    found = holdings(context, uuids=uuids)
    gone = _missing(uuids, found)
    if gone:
        raise query.not_found('ExtArq', uuid=', '.join(gone))
    kept = release_held(context, found, remove_mdev, delete=delete)
    if kept:
        raise query.not_found('ExtArq', uuid=', '.join(kept))


def _missing(uuids: Iterable[str],
             found: Sequence[binding.Holding]) -> list[str]:
    known = {holding.arq_uuid for holding in found}
    return [uuid for uuid in dict.fromkeys(uuids) if uuid not in known]


def release_held(context: cyborg_context.RequestContext,
                 found: Sequence[binding.Holding],
                 remove_mdev: Callable[..., None], *,
                 delete: bool = False) -> list[str]:
    """As :func:`release`, for what :func:`holdings` gave.

    :returns: UUIDs of ARQs that were gone meanwhile.
    """
    failures: list[exception.UnbindFailed] = []
    gone: list[str] = []
    for _attempt in range(_ATTEMPTS):
        ready = []
        for holding in found:
            try:
                if holding.is_mdev:
                    _remove(context, holding, remove_mdev)
                ready.append(holding)
            except exception.UnbindFailed as error:
                failures.append(error)
        stale = _let_go(context, ready, delete)
        if not stale:
            break
        # Bound or unbound by another request since they were read.
        again = [holding.arq_uuid for holding in stale]
        found = holdings(context, uuids=again)
        gone += _missing(again, found)
    else:
        raise exception.UnbindFailed(
            uuid=stale[0].arq_uuid, host=stale[0].handle_hostname,
            reason='other requests keep changing it')
    if failures:
        raise failures[0]
    return gone


def _remove(context, holding: binding.Holding, remove_mdev) -> None:
    try:
        remove_mdev(context, **holding.mdev)
    except Exception as error:
        # Of whatever kind: a handle whose device may still be with a guest
        # must not be given to another one.
        raise exception.UnbindFailed(
            uuid=holding.arq_uuid, host=holding.handle_hostname,
            # Its last dot comes from the sentence around it.
            reason=exception.plain_text(error).rstrip('.')) from error

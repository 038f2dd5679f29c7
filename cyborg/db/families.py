# SPDX-License-Identifier: Apache-2.0
"""What keeps a handle from being claimed although nobody has it.

Another handle may give away the same function (ID-1), or its PF, or one of
its VFs (ID-3). Selection and plan see to it that such pairs are not offered;
rows that 2026.2 left, and a placement that is older than what was done since,
get as far as the claim.

Two claims at the same moment, one for the PF and one for a VF, must not pass
each other unseen. No lock is asked for (see ``cyborg.db.binding``): each
changes the free rows of the other side, under the condition that they are
free, so that one of the two finds them taken, or is certified against them on
a cluster.
"""

from collections.abc import Iterable
from collections.abc import Sequence
import datetime
from typing import NamedTuple

from oslo_utils import timeutils
import sqlalchemy as sa

from cyborg.common import exception
from cyborg.db import attach_handles
from cyborg.db import query
from cyborg.db.sqlalchemy import models
from cyborg.inventory import relatives

_VF = '%%"%s": %%' % relatives.PARENT


class Claimed(NamedTuple):
    """A handle that was just marked as in use.

    :ivar arq_uuid: for whom.
    """

    handle_id: int
    arq_uuid: str
    hostname: str


class _Row(NamedTuple):
    handle_id: int
    deployable_id: int
    device_id: int
    allocated: bool
    function: relatives.Function


def refuse_shared(session, claimed: Sequence[Claimed]) -> None:
    """Two statements, and one more where free relatives have rows.

    :raises exception.BindFunctionShared: a guest has the same function, its
        PF, or one of its VFs, or gets it at this moment.
    """
    mine = {row.handle_id: row for row in _own(session, claimed)}
    if not mine:
        return
    beside: set[int] = set()
    for other in _others(session, claimed, mine.values()):
        for each in claimed:
            row = mine.get(each.handle_id)
            if row is None or not _in_the_way(row, other):
                continue
            if other.allocated:
                raise _shared(each, row, other)
            beside.add(other.handle_id)
    if beside and _touch(session, beside) < len(beside):
        first = claimed[0]
        raise exception.BindFunctionShared(
            uuid=first.arq_uuid, host=first.hostname,
            address=str(mine[first.handle_id].function.address),
            other='another of its functions')


def _shared(each: Claimed, row: _Row, other: _Row):
    return exception.BindFunctionShared(
        uuid=each.arq_uuid, host=each.hostname,
        address=str(row.function.address), other=_words(row, other))


def _words(row: _Row, other: _Row) -> str:
    address = other.function.address
    if row.function.parent == address:
        return 'its physical function %s' % address
    if other.function.parent == row.function.address:
        return 'its virtual function %s' % address
    return 'the same function under another name'


def _in_the_way(one: _Row, other: _Row) -> bool:
    if one.handle_id == other.handle_id:
        return False
    if relatives.clash(one.function, other.function):
        return True
    return one.deployable_id != other.deployable_id and (
        one.function.parent == other.function.address
        or other.function.parent == one.function.address)


def _select() -> sa.Select:
    handle, deployable = models.AttachHandle, models.Deployable
    device, path = models.Device, models.ControlpathID
    has_arq = sa.exists().where(models.ExtARQ.attach_handle_id == handle.id)
    return (
        sa.select(handle.id, handle.attach_type, handle.attach_info,
                  handle.deployable_id, deployable.device_id,
                  sa.or_(handle.in_use == sa.true(), has_arq),
                  path.cpid_type, path.cpid_info, device.std_board_info)
        .join(deployable, deployable.id == handle.deployable_id)
        .join(device, device.id == deployable.device_id)
        .join(path, path.id == handle.cpid_id))


def _rows(session, select: sa.Select) -> Iterable[_Row]:
    rows = session.execute(select).all()
    together: dict[int, list] = {}
    for row in rows:
        together.setdefault(row[3], []).append(row)
    for same in together.values():
        found = relatives.functions(
            [(row[1], row[2]) for row in same], *same[0][6:])
        for row, function in zip(same, found, strict=True):
            if function is not None:
                yield _Row(row[0], row[3], row[4], bool(row[5]), function)


def _own(session, claimed) -> Iterable[_Row]:
    return _rows(session, _select().where(models.AttachHandle.id.in_(
        [each.handle_id for each in claimed])))


def _others(session, claimed, mine: Iterable[_Row]) -> Iterable[_Row]:
    """Handles of the same hosts that may be in the way of ours."""
    handle, device = models.AttachHandle, models.Device
    maybe = [handle.in_use == sa.true(),
             sa.exists().where(models.ExtARQ.attach_handle_id == handle.id),
             device.id.in_({row.device_id for row in mine})]
    for row in mine:
        if row.function.parent is not None:
            maybe.append(sa.or_(device.std_board_info.is_(None),
                                device.std_board_info.not_like(_VF)))
        maybe.append(device.std_board_info.like(
            '%%"%s": "%s"%%' % (relatives.PARENT, row.function.address)))
    return _rows(session, _select().where(
        query.same_host(session, device.hostname,
                        [each.hostname for each in claimed]),
        sa.or_(*maybe)))


def _touch(session, handle_ids: Iterable[int]) -> int:
    """Change free handles without changing what they mean.

    :returns: how many still were free.
    """
    handle = models.AttachHandle
    # Whole seconds: what MariaDB keeps. The value must differ in any case,
    # a row that stays the same is no part of what a cluster certifies.
    now = timeutils.utcnow().replace(microsecond=0)
    earlier = now - datetime.timedelta(seconds=1)
    return session.execute(
        sa.update(handle).where(handle.id.in_(sorted(handle_ids)),
                                *attach_handles.is_free())
        .values(updated_at=sa.case((handle.updated_at == now, earlier),
                                   else_=now)),
        execution_options={'synchronize_session': False}).rowcount

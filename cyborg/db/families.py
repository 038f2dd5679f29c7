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
from collections.abc import Iterator
from collections.abc import Sequence
import datetime
from typing import NamedTuple

from oslo_utils import timeutils
import sqlalchemy as sa
from sqlalchemy import orm

from cyborg.common import exception
from cyborg.db import attach_handles
from cyborg.db import query
from cyborg.db.sqlalchemy import models
from cyborg.inventory import relatives


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
    allocated: bool
    function: relatives.Function


def refuse_shared(session: orm.Session, claimed: Sequence[Claimed]) -> None:
    """A constant number of statements, and rows of the same hosts alone.

    :raises exception.BindFunctionShared: a guest has the same function, its
        PF, or one of its VFs, or gets it at this moment.
    """
    rows = {row.handle_id: row for row in _rows(session, claimed)}
    beside: set[int] = set()
    for each in claimed:
        row = rows.get(each.handle_id)
        if row is None:
            continue
        for other in rows.values():
            if not _in_the_way(row, other):
                continue
            if other.allocated:
                raise _shared(each, row, _words(row, other))
            beside.add(other.handle_id)
    if beside and _touch(session, beside) < len(beside):
        first = claimed[0]
        raise _shared(first, rows[first.handle_id],
                      'another of its functions')


def _shared(each: Claimed, row: _Row, other: str):
    return exception.BindFunctionShared(
        uuid=each.arq_uuid, host=each.hostname,
        address=str(row.function.address), other=other)


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


def _rows(session, claimed: Sequence[Claimed]) -> Iterator[_Row]:
    """All handles of the hosts, by ids as ``host_inventory`` reads them."""
    handle, deployable = models.AttachHandle, models.Deployable
    device, path = models.Device, models.ControlpathID
    boards = dict(session.execute(
        sa.select(device.id, device.std_board_info)
        .where(query.same_host(
            session, device.hostname,
            [each.hostname for each in claimed]))).tuples().all())
    device_of = dict(session.execute(
        sa.select(deployable.id, deployable.device_id).where(
            query.among(deployable.device_id, boards))).tuples().all())
    together: dict[int, list] = {}
    for row in session.execute(
            sa.select(handle.id, handle.attach_type, handle.attach_info,
                      handle.deployable_id, ~sa.and_(
                          *attach_handles.is_free()).label('allocated'),
                      path.cpid_type, path.cpid_info)
            .join(path, path.id == handle.cpid_id)
            .where(query.among(handle.deployable_id, device_of))):
        together.setdefault(row.deployable_id, []).append(row)
    for where, same in together.items():
        found = relatives.functions(
            [(row.attach_type, row.attach_info) for row in same],
            same[0].cpid_type, same[0].cpid_info, boards[device_of[where]])
        for row, function in zip(same, found, strict=True):
            if function is not None:
                yield _Row(row.id, where, bool(row[4]), function)


def _touch(session, handle_ids: Iterable[int]) -> int:
    """Change free handles without changing what they mean.

    :returns: how many still were free.
    """
    handle = models.AttachHandle
    # Whole seconds: what MariaDB keeps. The value must differ in any case,
    # a row that stays the same is no part of what a cluster certifies.
    now = timeutils.utcnow().replace(microsecond=0)
    earlier = now - datetime.timedelta(seconds=1)
    return query.changed(session, sa.update(handle).where(
        handle.id.in_(sorted(handle_ids)), *attach_handles.is_free())
        .values(updated_at=sa.case((handle.updated_at == now, earlier),
                                   else_=now)))

# SPDX-License-Identifier: Apache-2.0
"""Attach handles that must not be bound, since their device is not there.

A report keeps the rows of a missing device while a guest or Placement has
something of it. In Placement such a device is reserved; but a bind may come
of an allocation that is older, and looks at rows alone. So the report leaves
a row of ``quota_usages`` for each handle, see ``cyborg.db.report_order``:
its id is that of the handle, ``project_id`` the UUID, ``user_id`` the host.
"""

from collections.abc import Collection
from collections.abc import Iterable
import dataclasses
import logging

import sqlalchemy as sa
from sqlalchemy import orm

from cyborg.common import context as cyborg_context
from cyborg.db import api
from cyborg.db import query
from cyborg.db.sqlalchemy import models

LOG = logging.getLogger(__name__)

#: How ``quota_usages.resource`` of our rows begins.
RESOURCE = 'cyborg-absent'
_REPLACED = RESOURCE + ' '
_LONGEST = 200


@dataclasses.dataclass(frozen=True)
class Absence:
    """A handle of which the device is not there.

    :ivar replaced_by: vendor:product of what stands in its place, or ``''``.
    """

    handle_id: int
    handle_uuid: str
    replaced_by: str = ''

    def __post_init__(self):
        # A driver's text, as every database keeps it.
        text = self.replaced_by.encode('ascii', 'backslashreplace').decode()
        object.__setattr__(self, 'replaced_by',
                           ' '.join(text.split())[:_LONGEST].strip())


def load(context: cyborg_context.RequestContext,
         hostname: str) -> set[Absence]:
    """What reports have noted of a host."""
    usage = models.QuotaUsage
    with api.reader(context) as session:
        return {_absence(row) for row in session.execute(
            sa.select(usage.id, usage.project_id, usage.resource).where(
                usage.user_id == hostname.casefold(),
                usage.resource.startswith(RESOURCE)))}


def _absence(row: sa.Row) -> Absence:
    return Absence(row.id, row.project_id,
                   row.resource.removeprefix(RESOURCE).strip())


@api.retry_on_deadlock
def change(context: cyborg_context.RequestContext, hostname: str,
           host_row: int, *, gone: Collection[Absence],
           new: Collection[Absence], left: int) -> None:
    """Take away notes, and make others.

    :param host_row: ``Turn.row_id`` of the report.
    :param left: how many there are of the host afterwards.
    """
    usage = models.QuotaUsage
    with api.writer(context) as session:
        query.changed(session, sa.delete(usage).where(
            query.among(usage.id, [each.handle_id
                                   for each in (*gone, *new)]),
            usage.resource.startswith(RESOURCE)))
        # Whatever else may stand there is not ours to take away.
        taken = set(session.scalars(sa.select(usage.id).where(query.among(
            usage.id, [each.handle_id for each in new])))) if new else set()
        if taken:
            LOG.warning(
                'Rows %s of quota_usages are none of this service, so the '
                'attach handles of these ids on host %s cannot be noted as '
                'missing.', ', '.join(map(str, sorted(taken))), hostname)
        new = [each for each in new if each.handle_id not in taken]
        if new:
            session.execute(sa.insert(usage), [{
                'id': each.handle_id, 'project_id': each.handle_uuid,
                'user_id': hostname.casefold(), 'in_use': 1, 'reserved': 0,
                'resource': (_REPLACED + each.replaced_by).strip()}
                for each in new])
        query.changed(session, sa.update(usage).where(
            usage.id == host_row).values(until_refresh=left))


def _noted(hostnames: Iterable[str]) -> tuple[sa.ColumnElement[bool], ...]:
    """Conditions for the row that notes a handle of one of the hosts."""
    usage = models.QuotaUsage
    return (usage.id == models.AttachHandle.id,
            usage.user_id.in_({name.casefold() for name in hostnames}),
            usage.resource.startswith(RESOURCE))


def is_present(hostnames: Iterable[str]) -> sa.ColumnElement[bool]:
    """Condition of a SELECT of the hosts' handles: none that is noted."""
    return ~sa.exists().where(*_noted(hostnames))


def of_deployable(session: orm.Session, deployable_id: int, hostname: str
                  ) -> list[tuple[str, str]]:
    """``attach_info`` and ``replaced_by`` of free handles that are noted."""
    handle, usage = models.AttachHandle, models.QuotaUsage
    return [(row.attach_info, row.resource.removeprefix(RESOURCE).strip())
            for row in session.execute(
                sa.select(handle.attach_info, usage.resource)
                .join(usage, sa.and_(*_noted([hostname])))
                .where(handle.deployable_id == deployable_id,
                       handle.in_use.isnot(True)).order_by(handle.id))]

# SPDX-License-Identifier: Apache-2.0
"""Whether a host's rows are what they were, in one statement and one row.

By what is in them, not by when they were written: clocks of conductors differ,
columns for times know seconds only, and who changes rows by hand changes no
time.
"""

import sqlalchemy as sa

from cyborg.common import context as cyborg_context
from cyborg.db import api
from cyborg.db import host_inventory
from cyborg.db.sqlalchemy import models
from cyborg.db.sqlalchemy import row_digest
from cyborg.inventory import assemble
from cyborg.inventory import values


def load(context: cyborg_context.RequestContext, hostname: str
         ) -> tuple[values.PersistedHost, str | None]:
    """All rows of a host, and the print of exactly those."""
    fresh = not api.in_transaction(context)
    with api.reader(context) as session:
        if fresh:
            host_inventory.see_one_state(session)
        rows = host_inventory.rows(context, hostname)
        return assemble.persisted_host(rows), _print(session, hostname)


def of(context: cyborg_context.RequestContext, hostname: str) -> str | None:
    """The print of what is stored of a host.

    Another one for any change that a report would see, of whatever row and
    by whomever; the times of rows alone do not count.

    :returns: None where the server cannot make one.
    """
    with api.reader(context) as session:
        return _print(session, hostname)


def _print(session, hostname: str) -> str | None:
    count, total = session.execute(_STATEMENT, {'hostname': hostname}).one()
    if count and total is None:
        return None
    return '%d:%d' % (count, total or 0)


def _digest(entity, *names: str):
    columns = entity.__table__.columns
    return row_digest.RowDigest(
        sa.literal_column("'%s'" % entity.__tablename__),
        *(columns[name] for name in names or columns.keys()
          if name not in ('created_at', 'updated_at')))


def _sum(what, reference, key):
    """Over the rows that refer to one of the enclosing query."""
    return sa.func.coalesce(
        sa.select(sa.func.sum(what)).where(reference == key)
        .correlate(key.table).scalar_subquery(), 0)


def _statement() -> sa.Select:
    # From a device down, by index: no planner can begin with the rows of
    # other hosts (PERF-4).
    device, path = models.Device.__table__, models.ControlpathID.__table__
    deployable = models.Deployable.__table__
    attribute, handle = (models.Attribute.__table__,
                         models.AttachHandle.__table__)
    arq = models.ExtARQ.__table__
    request = _digest(models.ExtARQ, 'uuid', 'attach_handle_id',
                      'deployable_id')
    handles = _sum(
        _digest(models.AttachHandle)
        + _sum(request, arq.c.attach_handle_id, handle.c.id),
        handle.c.deployable_id, deployable.c.id)
    deployables = _sum(
        _digest(models.Deployable) + handles
        + _sum(_digest(models.Attribute), attribute.c.deployable_id,
               deployable.c.id)
        + _sum(request, arq.c.deployable_id, deployable.c.id),
        deployable.c.device_id, device.c.id)
    return sa.select(
        sa.func.count(),
        sa.func.sum(_digest(models.Device) + deployables
                    + _sum(_digest(models.ControlpathID), path.c.device_id,
                           device.c.id))).select_from(device).where(
        device.c.hostname == sa.bindparam('hostname'))


_STATEMENT = _statement()

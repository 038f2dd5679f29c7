# SPDX-License-Identifier: Apache-2.0
"""Where ARQs are to be bound, and the deployables that stand for it."""

from collections.abc import Sequence
import dataclasses

import sqlalchemy as sa
from sqlalchemy import orm

from cyborg.common import constants
from cyborg.common import exception
from cyborg.db import query
from cyborg.db.sqlalchemy import models
from cyborg.inventory import products


@dataclasses.dataclass(frozen=True)
class Request:
    """Where an ARQ is to be bound.

    :ivar project_id: new owner, or None to keep the present one.
    :ivar products: traits of products, one of which the device must have if
        it has any of their kind; see ``cyborg.inventory.products``.
    """

    arq_uuid: str
    hostname: str
    rp_uuid: str
    instance_uuid: str
    project_id: str | None = None
    products: frozenset[str] = frozenset()


@dataclasses.dataclass(frozen=True)
class Target:
    """A deployable.

    :ivar hostname: as the row of its device has it.
    """

    deployable_id: int
    device_uuid: str
    hostname: str


def targets(session: orm.Session, requests: Sequence[Request]
            ) -> list[Target]:
    """The deployable of each request, in one statement for all.

    :raises exception.ResourceNotFound: no deployable has the provider.
    :raises exception.ExpectedOneObject: several have it.
    :raises exception.BindHostMismatch: it is on another host.
    :raises exception.BindDeviceDisabled: its device is in maintenance.
    :raises exception.BindDeviceReplaced: it is another product.
    """
    rows: dict[str, list[sa.Row]] = {}
    for row in _rows(session, requests):
        # As the database compares them: MariaDB without letter case.
        rows.setdefault(row.rp_uuid.lower(), []).append(row)
    return [_target(request, rows.get(request.rp_uuid.lower(), []))
            for request in requests]


def _rows(session: orm.Session, requests: Sequence[Request]
          ) -> Sequence[sa.Row]:
    deployable, device = models.Deployable, models.Device
    providers = sorted({request.rp_uuid for request in requests})
    select = (
        sa.select(deployable.id, deployable.rp_uuid, device.uuid,
                  device.hostname, device.status)
        .join(device, device.id == deployable.device_id)
        .where(query.contains(deployable.rp_uuid, providers)))
    if any(request.products for request in requests):
        attribute = models.Attribute
        select = select.add_columns(attribute.value).outerjoin(
            attribute, sa.and_(
                attribute.deployable_id == deployable.id,
                attribute.value.contains(products.MARK, autoescape=True)))
    else:
        select = select.add_columns(sa.null().label('value'))
    return session.execute(select).all()


def _target(request: Request, rows: Sequence[sa.Row]) -> Target:
    """:param rows: deployables with that provider, once for each trait"""
    if not rows:
        raise exception.ResourceNotFound(
            resource='Deployable',
            msg='with resource provider uuid=%s' % request.rp_uuid)
    if len({row.id for row in rows}) > 1:
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
    found = {each.value for each in rows if each.value}
    wrong = products.contradicted(request.products, found)
    if wrong:
        raise exception.BindDeviceReplaced(
            uuid=request.arq_uuid, rp_uuid=request.rp_uuid, device=row.uuid,
            host=row.hostname, wanted=', '.join(sorted(wrong)),
            found=', '.join(sorted(found)))
    return Target(row.id, row.uuid, row.hostname)

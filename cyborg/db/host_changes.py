# SPDX-License-Identifier: Apache-2.0
"""What a report writes to the inventory of a host.

Every function is one transaction and may be repeated. Rows that others may
use at the same moment are changed or removed under the condition that they
still are what the plan saw; affected rows tell whether they were.

Errors that all functions may raise: ``oslo_db.exception.DBDuplicateEntry``
when another report created the same rows first (their UUIDs are worked out,
see ``cyborg.inventory.uuids``), other ``DBError`` for rows the database
refuses.
"""

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import itertools

from oslo_db import exception as db_exc
import sqlalchemy as sa

from cyborg.common import context as cyborg_context
from cyborg.db import api
from cyborg.db import attach_handles
from cyborg.db import query
from cyborg.db.sqlalchemy import models
from cyborg.inventory import changes
from cyborg.inventory import identity
from cyborg.inventory import uuids
from cyborg.inventory import values

# Values in one IN (...): SQLite before 3.32 takes 999 variables.
_CHUNK = 500

_DEFAULT_STATE = 'available'


def _ids(session, model, wanted: Sequence[str]) -> dict[str, int]:
    found = {}
    for chunk in _batched(wanted):
        found.update(session.execute(
            sa.select(model.uuid, model.id).where(
                model.uuid.in_(chunk))).tuples().all())
    return found


def _batched(items: Sequence) -> Iterable[Sequence]:
    for start in range(0, len(items), _CHUNK):
        yield items[start:start + _CHUNK]


def _insert(session, model, rows: list[dict]) -> None:
    if rows:
        session.execute(sa.insert(model.__table__), rows)


def _attribute_rows(deployable_uuid: str, deployable_id: int,
                    attributes: Iterable[tuple[str, str]],
                    taken: Collection[str] = ()) -> list[dict]:
    """:param taken: UUIDs of the attributes that the deployable has."""
    # Keys repeat. The API lists the rows in this order.
    rows: dict[str, dict] = {}
    for key, value in attributes:
        row_uuid = next(
            candidate for candidate in (
                uuids.attribute(deployable_uuid, key, number)
                for number in itertools.count())
            if candidate not in rows and candidate not in taken)
        rows[row_uuid] = {'uuid': row_uuid, 'deployable_id': deployable_id,
                          'key': key, 'value': value}
    return list(rows.values())


def _handle_row(handle: values.DiscoveredHandle, deployable_uuid: str,
                deployable_id: int, cpid_id: int) -> dict:
    return {'uuid': uuids.handle(deployable_uuid, handle.key),
            'deployable_id': deployable_id, 'cpid_id': cpid_id,
            'attach_type': handle.attach_type,
            'attach_info': handle.attach_info, 'in_use': False}


def _path_id(device: values.PersistedDevice) -> int:
    # A row that lost its control path matches nothing that is found.
    assert device.controlpath is not None
    return device.controlpath.id


def _handle_rows(deployable: values.DiscoveredDeployable,
                 deployable_uuid: str, deployable_id: int,
                 cpid_id: int) -> list[dict]:
    # Of two handles with one identity the first counts, as in the plan.
    rows: dict[identity.Key, dict] = {}
    for handle in deployable.handles:
        rows.setdefault(handle.key, _handle_row(
            handle, deployable_uuid, deployable_id, cpid_id))
    return list(rows.values())


def _insert_deployables(session, hostname: str, found) -> None:
    """:param found: (device key, device id, control path id, deployable)"""
    rows: dict[str, tuple] = {}
    for key, device_id, cpid_id, deployable in found:
        row_uuid = uuids.deployable(hostname, key, deployable.name)
        rows.setdefault(row_uuid, (cpid_id, deployable, {
            'uuid': row_uuid, 'name': deployable.name,
            'num_accelerators': deployable.num_accelerators,
            'device_id': device_id, 'driver_name': deployable.driver_name}))
    _insert(session, models.Deployable, [row for _, _, row in rows.values()])
    ids = _ids(session, models.Deployable, list(rows))
    attributes, handles = [], []
    for row_uuid, (cpid_id, deployable, _) in rows.items():
        attributes += _attribute_rows(
            row_uuid, ids[row_uuid], deployable.attributes)
        handles += _handle_rows(
            deployable, row_uuid, ids[row_uuid], cpid_id)
    _insert(session, models.Attribute, attributes)
    _insert(session, models.AttachHandle, handles)


@api.retry_on_deadlock
def insert_devices(context: cyborg_context.RequestContext, hostname: str,
                   devices: Sequence[values.DiscoveredDevice]) -> None:
    """Store new devices with everything below them, all or none."""
    by_uuid = {uuids.device(hostname, device.key): device
               for device in devices}
    with api.writer(context) as session:
        _insert(session, models.Device, [{
            'uuid': row_uuid, 'hostname': hostname, 'type': device.type,
            'vendor': device.vendor, 'model': device.model,
            'std_board_info': device.std_board_info,
            'vendor_board_info': device.vendor_board_info,
            'status': 'enabled',
            'device_state': device.device_state or _DEFAULT_STATE,
        } for row_uuid, device in by_uuid.items()])
        ids = _ids(session, models.Device, list(by_uuid))
        cpids = {uuids.controlpath(hostname, device.key): (row_uuid, device)
                 for row_uuid, device in by_uuid.items()}
        _insert(session, models.ControlpathID, [{
            'uuid': cpid_uuid, 'device_id': ids[row_uuid],
            'cpid_type': device.cpid_type, 'cpid_info': device.cpid_info,
        } for cpid_uuid, (row_uuid, device) in cpids.items()])
        cpid_ids = _ids(session, models.ControlpathID, list(cpids))
        _insert_deployables(session, hostname, [
            (device.key, ids[row_uuid], cpid_ids[cpid_uuid], deployable)
            for cpid_uuid, (row_uuid, device) in cpids.items()
            for deployable in device.deployables])


@api.retry_on_deadlock
def insert_deployables(context: cyborg_context.RequestContext, hostname: str,
                       new: Sequence[changes.NewDeployable]) -> None:
    """Store new deployables of known devices, all or none."""
    with api.writer(context) as session:
        _insert_deployables(session, hostname, [
            (record.device.key, record.device.id,
             _path_id(record.device), record.deployable)
            for record in new])


@api.retry_on_deadlock
def insert_handles(context: cyborg_context.RequestContext,
                   new: Sequence[changes.NewHandle]) -> None:
    """Store new handles of known deployables, all or none."""
    with api.writer(context) as session:
        _insert(session, models.AttachHandle, [
            _handle_row(record.handle, record.deployable.uuid,
                        record.deployable.id, _path_id(record.device))
            for record in new])


class _StillUsed(Exception):
    """Rolls back the removal of something that turned out to be in use."""


def _delete_deployables(session, condition) -> None:
    """Remove what is free below the deployables that match, and them.

    Their ids are read first: MariaDB looks through a whole table for a DELETE
    whose condition holds another SELECT (PERF-4).
    """
    deployable, handle = models.Deployable, models.AttachHandle
    arq, attribute = models.ExtARQ, models.Attribute
    ids = session.scalars(sa.select(deployable.id).where(condition)).all()
    query.changed(session, sa.delete(handle).where(
        handle.deployable_id.in_(ids), *attach_handles.is_free()))
    unused = sa.and_(
        ~sa.exists().where(handle.deployable_id == deployable.id),
        ~sa.exists().where(arq.deployable_id == deployable.id))
    ids = session.scalars(sa.select(deployable.id).where(
        deployable.id.in_(ids), unused)).all()
    query.changed(session, sa.delete(attribute).where(
        attribute.deployable_id.in_(ids)))
    # Once more, since somebody may refer to them by now.
    query.changed(session, sa.delete(deployable).where(
        deployable.id.in_(ids), unused))


def _exists(session, model, row_id: int) -> bool:
    return session.scalar(
        sa.select(model.id).where(model.id == row_id)) is not None


@api.retry_on_deadlock
def delete_device(context: cyborg_context.RequestContext,
                  device_id: int) -> bool:
    """Remove a device with everything below it, unless any of it is used.

    :returns: False when a handle is claimed or an ARQ refers to a
        deployable; nothing was removed then.
    """
    device, deployable = models.Device, models.Deployable
    cpid = models.ControlpathID
    try:
        with api.writer(context) as session:
            _delete_deployables(session, deployable.device_id == device_id)
            if session.scalar(sa.select(deployable.id).where(
                    deployable.device_id == device_id).limit(1)) is not None:
                raise _StillUsed()
            query.changed(session, sa.delete(cpid).where(
                cpid.device_id == device_id))
            query.changed(session, sa.delete(device).where(
                device.id == device_id))
    except (_StillUsed, db_exc.DBReferenceError):
        # The reference came between our condition and our removal.
        return False
    return True


@api.retry_on_deadlock
def delete_deployable(context: cyborg_context.RequestContext,
                      deployable_id: int) -> bool:
    """As :func:`delete_device`, for one deployable of a device."""
    deployable = models.Deployable
    try:
        with api.writer(context) as session:
            _delete_deployables(session, deployable.id == deployable_id)
            if _exists(session, deployable, deployable_id):
                raise _StillUsed()
    except (_StillUsed, db_exc.DBReferenceError):
        return False
    return True


@api.retry_on_deadlock
def delete_handle(context: cyborg_context.RequestContext,
                  handle_id: int) -> bool:
    """:returns: False when the handle is claimed; it was kept then."""
    handle = models.AttachHandle
    try:
        with api.writer(context) as session:
            removed = query.changed(session, sa.delete(handle).where(
                handle.id == handle_id, *attach_handles.is_free()))
            return bool(removed) or not _exists(session, handle, handle_id)
    except db_exc.DBReferenceError:
        return False


@api.retry_on_deadlock
def update_devices(context: cyborg_context.RequestContext,
                   records: Sequence[changes.DeviceChange]) -> None:
    with api.writer(context) as session:
        for record in records:
            query.changed(
                session, sa.update(models.Device)
                .where(models.Device.id == record.device.id)
                .values(dict(record.columns)))


@api.retry_on_deadlock
def update_deployable(
        context: cyborg_context.RequestContext, deployable_id: int,
        num_accelerators: int | None = None,
        attributes: changes.AttributeChange | None = None) -> None:
    """Store what changed of one deployable."""
    with api.writer(context) as session:
        if num_accelerators is not None:
            query.changed(
                session, sa.update(models.Deployable)
                .where(models.Deployable.id == deployable_id)
                .values(num_accelerators=num_accelerators))
        if attributes is not None:
            _change_attributes(session, attributes)


def _change_attributes(session, change: changes.AttributeChange) -> None:
    attribute = models.Attribute
    removed = [record.id for record in change.removed]
    if removed:
        query.changed(session, sa.delete(attribute).where(
            attribute.id.in_(removed)))
    for record, value in change.changed:
        query.changed(
            session, sa.update(attribute).where(attribute.id == record.id)
            .values(value=value))
    _insert(session, attribute, _attribute_rows(
        change.deployable.uuid, change.deployable.id, change.added,
        {row.uuid for row in change.deployable.attributes
         if row.id not in removed}))


@api.retry_on_deadlock
def note_traits(context: cyborg_context.RequestContext,
                deployable: values.PersistedDeployable,
                traits: Iterable[str]) -> None:
    """Store traits that its provider may have, so that they are looked at."""
    with api.writer(context) as session:
        found = [('trait_%s' % name, name) for name in sorted(traits)]
        known = _ids(session, models.Attribute, [
            uuids.attribute(deployable.uuid, key) for key, _ in found])
        if _exists(session, models.Deployable, deployable.id):
            _insert(session, models.Attribute, [
                row for row in _attribute_rows(deployable.uuid,
                                               deployable.id, found)
                if row['uuid'] not in known])


@api.retry_on_deadlock
def update_handles(
        context: cyborg_context.RequestContext,
        updates: Sequence[changes.HandleUpdate]) -> list[changes.HandleUpdate]:
    """Store type and text of handles that still are as the plan saw them.

    :returns: those that were not, and were left alone. The text of a plan
        never differs in ``managed`` from the one it saw (REC-9), and a
        change beyond the settings needs a handle that is still free.
    """
    handle = models.AttachHandle
    stale = []
    with api.writer(context) as session:
        for update in updates:
            seen = update.handle
            conditions = [handle.id == seen.id,
                          attach_handles.same_text(
                              session, handle.attach_info,
                              seen.attach_info),
                          handle.attach_type == seen.attach_type]
            if not seen.allocated:
                conditions += attach_handles.is_free()
            matched = query.changed(
                session, sa.update(handle).where(*conditions)
                .values(attach_info=update.attach_info,
                        attach_type=update.attach_type))
            if not matched:
                stale.append(update)
    return stale


@api.retry_on_deadlock
def set_provider_uuids(context: cyborg_context.RequestContext,
                       by_name: Mapping[str, str], hostname: str) -> int:
    """Note the providers of deployables, all in one statement.

    :param by_name: provider UUID by deployable name, of one host
    :returns: how many rows there are of them.
    """
    deployable, device = models.Deployable, models.Device
    found = 0
    with api.writer(context) as session:
        rows = session.execute(
            sa.select(deployable.id, deployable.name)
            .join(device, device.id == deployable.device_id)
            .where(device.hostname == hostname)).all()
        wanted = {row.id: by_name[row.name] for row in rows
                  if row.name in by_name}
        # By id: a condition on the name, which has no index, would lock the
        # deployables of all hosts (PERF-4).
        for ids in _batched(list(wanted)):
            found += query.changed(
                session, sa.update(deployable).where(deployable.id.in_(ids))
                .values(rp_uuid=sa.case({key: wanted[key] for key in ids},
                                        value=deployable.id)))
    return found

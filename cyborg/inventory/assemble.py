# SPDX-License-Identifier: Apache-2.0
"""Puts the rows of a host's tables together to one nested value."""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
from typing import Any
from typing import Protocol

from cyborg.inventory import values


class HostRows(Protocol):
    """Flat records of one host, in the order of their ids.

    The records have the columns of their table as attributes, deployables
    and handles also ``arq_uuids``: those of the ARQs that point at them.
    """

    @property
    def hostname(self) -> str: ...
    @property
    def devices(self) -> Sequence[Any]: ...
    @property
    def controlpaths(self) -> Sequence[Any]: ...
    @property
    def deployables(self) -> Sequence[Any]: ...
    @property
    def attributes(self) -> Sequence[Any]: ...
    @property
    def attach_handles(self) -> Sequence[Any]: ...


def persisted_host(rows: HostRows) -> values.PersistedHost:
    """The host with devices, deployables, attributes and handles nested.

    A record whose parent is not there is left out: it was deleted while the
    tables were read, or it is an orphan that nothing can match.
    """
    paths: dict[int, values.PersistedControlPath] = {}
    for row in rows.controlpaths:
        # The lowest id, should a damaged database hold several.
        paths.setdefault(row.device_id, _controlpath(row))
    attributes = _grouped(rows.attributes, 'deployable_id', _attribute)
    handles = _grouped(rows.attach_handles, 'deployable_id', _handle)
    deployables = _grouped(
        rows.deployables, 'device_id',
        lambda row: _deployable(row, attributes, handles))
    return values.PersistedHost(rows.hostname, tuple(
        values.PersistedDevice(
            id=row.id, uuid=row.uuid, hostname=row.hostname, type=row.type,
            vendor=row.vendor, model=row.model,
            std_board_info=row.std_board_info,
            vendor_board_info=row.vendor_board_info, status=row.status,
            device_state=row.device_state, controlpath=paths.get(row.id),
            deployables=deployables.get(row.id, ()))
        for row in rows.devices))


def _grouped(rows: Iterable[Any], parent: str, convert: Callable
             ) -> dict[int, tuple]:
    groups: dict[int, list] = {}
    for row in rows:
        groups.setdefault(getattr(row, parent), []).append(convert(row))
    return {key: tuple(group) for key, group in groups.items()}


def _controlpath(row) -> values.PersistedControlPath:
    return values.PersistedControlPath(
        id=row.id, uuid=row.uuid, device_id=row.device_id,
        cpid_type=row.cpid_type, cpid_info=row.cpid_info)


def _attribute(row) -> values.PersistedAttribute:
    return values.PersistedAttribute(
        id=row.id, uuid=row.uuid, key=row.key, value=row.value)


def _handle(row) -> values.PersistedHandle:
    return values.PersistedHandle(
        id=row.id, uuid=row.uuid, deployable_id=row.deployable_id,
        cpid_id=row.cpid_id, attach_type=row.attach_type,
        attach_info=row.attach_info, in_use=bool(row.in_use),
        arq_uuids=tuple(row.arq_uuids))


def _deployable(row, attributes, handles) -> values.PersistedDeployable:
    return values.PersistedDeployable(
        id=row.id, uuid=row.uuid, device_id=row.device_id, name=row.name,
        num_accelerators=row.num_accelerators, driver_name=row.driver_name,
        rp_uuid=row.rp_uuid, attributes=attributes.get(row.id, ()),
        handles=handles.get(row.id, ()), arq_uuids=tuple(row.arq_uuids))

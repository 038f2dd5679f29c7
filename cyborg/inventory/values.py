# SPDX-License-Identifier: Apache-2.0
"""Plain values for what a host shows and what the database holds of it.

``Discovered*`` records come from the drivers of one host, ``Persisted*``
records from the database. Both are immutable, hashable and free of any
OpenStack object, so that agent, conductor and preview can ask the same
planner (``cyborg.inventory.plan``) the same question.
"""

import dataclasses

from cyborg.inventory import attach_info as attach_texts
from cyborg.inventory import identity


@dataclasses.dataclass(frozen=True)
class DiscoveredHandle:
    """One way to attach a part of a deployable to a guest.

    :ivar attach_type: ``PCI``, ``MDEV`` or ``TEST_PCI``.
    :ivar attach_info: JSON text as a driver gave it.
    """

    attach_type: str
    attach_info: str

    @property
    def info(self) -> attach_texts.AttachInfo:
        """:raises identity.InvalidInfo: it is no JSON object."""
        return attach_texts.AttachInfo.read(self.attach_info)

    @property
    def key(self) -> identity.Key:
        """What makes two handles of one deployable the same handle.

        :raises identity.InvalidInfo: when the text can't be understood.
        """
        return self.info.key(self.attach_type)


@dataclasses.dataclass(frozen=True)
class DiscoveredDeployable:
    name: str
    num_accelerators: int
    driver_name: str | None = None
    attributes: tuple[tuple[str, str], ...] = ()
    handles: tuple[DiscoveredHandle, ...] = ()


@dataclasses.dataclass(frozen=True)
class DiscoveredDevice:
    """One device as a driver reports it, with everything below it."""

    cpid_type: str
    cpid_info: str
    type: str
    vendor: str
    model: str
    std_board_info: str | None = None
    vendor_board_info: str | None = None
    device_state: str | None = None
    stub: bool = False
    deployables: tuple[DiscoveredDeployable, ...] = ()

    @property
    def key(self) -> identity.Key:
        """:raises identity.InvalidInfo: the control path has no meaning."""
        return identity.controlpath_key(self.cpid_type, self.cpid_info)


@dataclasses.dataclass(frozen=True)
class PersistedHandle:
    """A row of ``attach_handles`` and the ARQs that point at it."""

    id: int
    uuid: str
    deployable_id: int
    cpid_id: int
    attach_type: str
    attach_info: str
    in_use: bool = False
    arq_uuids: tuple[str, ...] = ()

    @property
    def allocated(self) -> bool:
        """Either mark counts: a crash may have left only one of them."""
        return bool(self.in_use or self.arq_uuids)

    @property
    def info(self) -> attach_texts.AttachInfo:
        """:raises identity.InvalidInfo: it is no JSON object."""
        return attach_texts.AttachInfo.read(self.attach_info)

    @property
    def key(self) -> identity.Key:
        """:raises identity.InvalidInfo: when the stored text is damaged."""
        return self.info.key(self.attach_type)


@dataclasses.dataclass(frozen=True)
class PersistedAttribute:
    id: int
    uuid: str
    key: str
    value: str


@dataclasses.dataclass(frozen=True)
class PersistedDeployable:
    """A row of ``deployables`` with its attributes and handles.

    :ivar arq_uuids: ARQs whose ``deployable_id`` names this row.
    """

    id: int
    uuid: str
    device_id: int
    name: str
    num_accelerators: int
    driver_name: str | None = None
    rp_uuid: str | None = None
    attributes: tuple[PersistedAttribute, ...] = ()
    handles: tuple[PersistedHandle, ...] = ()
    arq_uuids: tuple[str, ...] = ()

    @property
    def allocated(self) -> bool:
        return bool(self.arq_uuids) or any(h.allocated for h in self.handles)


@dataclasses.dataclass(frozen=True)
class PersistedControlPath:
    id: int
    uuid: str
    device_id: int
    cpid_type: str
    cpid_info: str


@dataclasses.dataclass(frozen=True)
class PersistedDevice:
    """A row of ``devices`` with everything below it.

    :ivar controlpath: None for a row that lost its control path; nothing
        can match such a device, it is treated as missing.
    """

    id: int
    uuid: str
    hostname: str
    type: str
    vendor: str
    model: str
    std_board_info: str | None = None
    vendor_board_info: str | None = None
    status: str = 'enabled'
    device_state: str | None = None
    controlpath: PersistedControlPath | None = None
    deployables: tuple[PersistedDeployable, ...] = ()

    @property
    def allocated(self) -> bool:
        return any(d.allocated for d in self.deployables)

    @property
    def key(self) -> identity.Key | None:
        """None when there is no control path or its text is damaged."""
        if self.controlpath is None:
            return None
        try:
            return identity.controlpath_key(
                self.controlpath.cpid_type, self.controlpath.cpid_info)
        except identity.InvalidInfo:
            return None


@dataclasses.dataclass(frozen=True)
class PersistedHost:
    hostname: str
    devices: tuple[PersistedDevice, ...] = ()

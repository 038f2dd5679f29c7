# SPDX-License-Identifier: Apache-2.0
"""What a plan says: one record a kind of consequence."""

import dataclasses

from cyborg.inventory import attach_info
from cyborg.inventory import values


@dataclasses.dataclass(frozen=True)
class Fault:
    """A discovered device that can't be taken over, and why not.

    :ivar label: address of the device, or its control path text.
    """

    label: str
    reason: str


@dataclasses.dataclass(frozen=True)
class Shared:
    """A PF and VFs of it that are all allocated, as 2026.2 let them be.

    :ivar address: of the PF.
    :ivar functions: addresses of its allocated VFs.
    """

    hostname: str
    address: str
    functions: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Damage:
    """A persisted row whose text can't be understood; it is left alone."""

    device: values.PersistedDevice
    deployable: values.PersistedDeployable | None
    handle: values.PersistedHandle | None
    reason: str


@dataclasses.dataclass(frozen=True)
class DeviceChange:
    """New values of columns, as (column, value) pairs."""

    device: values.PersistedDevice
    columns: tuple[tuple[str, str | None], ...]


@dataclasses.dataclass(frozen=True)
class DeployableChange:
    device: values.PersistedDevice
    deployable: values.PersistedDeployable
    num_accelerators: int


@dataclasses.dataclass(frozen=True)
class AttributeChange:
    """Differences of one deployable's attributes, in which keys repeat."""

    device: values.PersistedDevice
    deployable: values.PersistedDeployable
    added: tuple[tuple[str, str], ...] = ()
    changed: tuple[tuple[values.PersistedAttribute, str], ...] = ()
    removed: tuple[values.PersistedAttribute, ...] = ()


@dataclasses.dataclass(frozen=True)
class NewDeployable:
    device: values.PersistedDevice
    deployable: values.DiscoveredDeployable


@dataclasses.dataclass(frozen=True)
class NewHandle:
    device: values.PersistedDevice
    deployable: values.PersistedDeployable
    handle: values.DiscoveredHandle


@dataclasses.dataclass(frozen=True)
class HandleUpdate:
    """Text or type of a handle that differs, ``managed`` left as stored."""

    device: values.PersistedDevice
    deployable: values.PersistedDeployable
    handle: values.PersistedHandle
    attach_type: str
    attach_info: str


@dataclasses.dataclass(frozen=True)
class ManagedChange:
    """A handle whose effective ``managed`` differs.

    :ivar attach_info: the text to store, every setting up to date.
    """

    hostname: str
    device: values.PersistedDevice
    deployable: values.PersistedDeployable
    handle: values.PersistedHandle
    old: bool
    new: bool
    attach_info: str

    @property
    def address(self) -> str:
        return attach_info.describe(self.handle.attach_info)


@dataclasses.dataclass(frozen=True)
class Retained:
    """An allocated deployable of which something is not there any more.

    :ivar handles: the allocated handles that are missing.
    :ivar whole: the deployable itself is missing, nothing of it may be
        allocated anew; otherwise only ``handles`` are lost.
    :ivar replaced_by: vendor:product of another device that now stands at
        the address, or None (MIS-6).
    """

    device: values.PersistedDevice
    deployable: values.PersistedDeployable
    handles: tuple[values.PersistedHandle, ...]
    whole: bool
    replaced_by: str | None = None


@dataclasses.dataclass(frozen=True)
class RemovedDeployable:
    device: values.PersistedDevice
    deployable: values.PersistedDeployable


@dataclasses.dataclass(frozen=True)
class RemovedHandle:
    device: values.PersistedDevice
    deployable: values.PersistedDeployable
    handle: values.PersistedHandle


@dataclasses.dataclass(frozen=True)
class Plan:
    """Everything that follows from what a host shows and what is stored.

    :ivar hostname: the host, as its rows name it.
    :ivar discovered: number of devices found that could be understood.
    :ivar present: deployables that are stored and still (or again) there,
        each with the record that describes it now.
    :ivar managed_changes: free handles whose mode may change (REC-4).
    :ivar refused: allocated handles whose mode would change (REC-3).
    :ivar returned: deployables marked missing that are wholly back.
    :ivar deferred: handles that keep other outdated information until their
        allocation ends.
    """

    hostname: str
    discovered: int = 0
    present: tuple[tuple[values.PersistedDevice, values.PersistedDeployable,
                         values.DiscoveredDeployable], ...] = ()
    new_devices: tuple[values.DiscoveredDevice, ...] = ()
    new_deployables: tuple[NewDeployable, ...] = ()
    new_handles: tuple[NewHandle, ...] = ()
    device_changes: tuple[DeviceChange, ...] = ()
    deployable_changes: tuple[DeployableChange, ...] = ()
    attribute_changes: tuple[AttributeChange, ...] = ()
    handle_updates: tuple[HandleUpdate, ...] = ()
    managed_changes: tuple[ManagedChange, ...] = ()
    refused: tuple[ManagedChange, ...] = ()
    deferred: tuple[HandleUpdate, ...] = ()
    retained: tuple[Retained, ...] = ()
    returned: tuple[values.PersistedDeployable, ...] = ()
    removed_devices: tuple[values.PersistedDevice, ...] = ()
    removed_deployables: tuple[RemovedDeployable, ...] = ()
    removed_handles: tuple[RemovedHandle, ...] = ()
    faults: tuple[Fault, ...] = ()
    shared: tuple[Shared, ...] = ()
    damaged: tuple[Damage, ...] = ()

    @property
    def changed_device_ids(self) -> frozenset[int]:
        """Rows of ``devices`` in which anything at all differs."""
        records = (self.new_deployables + self.new_handles
                   + self.device_changes + self.deployable_changes
                   + self.attribute_changes + self.handle_updates
                   + self.managed_changes + self.removed_deployables
                   + self.removed_handles)
        return frozenset(record.device.id for record in records)

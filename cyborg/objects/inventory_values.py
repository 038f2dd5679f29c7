# SPDX-License-Identifier: Apache-2.0
"""Objects -> the plain values that ``cyborg.inventory`` decides on."""

from collections.abc import Iterable

from cyborg.inventory import assemble
from cyborg.inventory import values


def persisted_host(inventory) -> values.PersistedHost:
    """:param inventory: a ``HostInventory`` object."""
    return assemble.persisted_host(inventory)


def discovered_devices(devices: Iterable) -> tuple[values.DiscoveredDevice,
                                                   ...]:
    """:param devices: ``DriverDevice`` objects of one host."""
    return tuple(discovered_device(device) for device in devices)


def discovered_device(device) -> values.DiscoveredDevice:
    """:param device: a ``DriverDevice`` object. Fields that an older driver
        or agent left out take their defaults.
    """
    return values.DiscoveredDevice(
        cpid_type=device.controlpath_id.cpid_type,
        cpid_info=device.controlpath_id.cpid_info,
        type=device.type, vendor=device.vendor, model=device.model,
        std_board_info=_get(device, 'std_board_info'),
        vendor_board_info=_get(device, 'vendor_board_info'),
        device_state=_get(device, 'device_state'),
        stub=bool(_get(device, 'stub')),
        deployables=tuple(_deployable(each) for each in
                          _get(device, 'deployable_list') or ()))


def _deployable(deployable) -> values.DiscoveredDeployable:
    return values.DiscoveredDeployable(
        name=deployable.name,
        num_accelerators=deployable.num_accelerators,
        driver_name=_get(deployable, 'driver_name'),
        attributes=tuple((each.key, each.value) for each in
                         _get(deployable, 'attribute_list') or ()),
        handles=tuple(
            values.DiscoveredHandle(each.attach_type, each.attach_info)
            for each in _get(deployable, 'attach_handle_list') or ()))


def _get(obj, name: str):
    return getattr(obj, name) if obj.obj_attr_is_set(name) else None

# SPDX-License-Identifier: Apache-2.0
"""Objects -> the plain values that ``cyborg.inventory`` decides on."""

from collections.abc import Iterable
from collections.abc import Iterator
from typing import Any

from cyborg.common import constants
from cyborg.common import exception
from cyborg.inventory import assemble
from cyborg.inventory import attach_info
from cyborg.inventory import identity
from cyborg.inventory import values

#: What fits in the column, and what Placement takes as a total.
_MOST_ACCELERATORS = 2 ** 31 - 1


def persisted_host(inventory: Any) -> values.PersistedHost:
    """:param inventory: a ``HostInventory`` object."""
    return assemble.persisted_host(inventory)


def discovered_devices(devices: Iterable) -> tuple[values.DiscoveredDevice,
                                                   ...]:
    """:param devices: ``DriverDevice`` objects of one host.
    :raises exception.DriverDeviceInvalid,
        exception.DeviceAttachInfoInvalid: as :func:`discovered_device`.
    """
    return tuple(discovered_device(device) for device in devices)


def discovered_device(device: Any) -> values.DiscoveredDevice:
    """:param device: a ``DriverDevice`` object. Fields that an older driver
        or agent left out take their defaults.
    :raises exception.DriverDeviceInvalid: it lacks a field that has none, or
        a number is not one that a row can hold.
    :raises exception.DeviceAttachInfoInvalid: a PCI handle's information has
        no clear meaning; to leave the device out would count it as missing,
        and a default could change how a guest gets it.
    """
    where = _label(device)
    controlpath = _needed(device, 'controlpath_id', where)
    path = 'controlpath_id of %s' % where
    return values.DiscoveredDevice(
        cpid_type=_needed(controlpath, 'cpid_type', path),
        cpid_info=_needed(controlpath, 'cpid_info', path),
        type=_needed(device, 'type', where),
        vendor=_needed(device, 'vendor', where),
        model=_needed(device, 'model', where),
        std_board_info=_get(device, 'std_board_info'),
        vendor_board_info=_get(device, 'vendor_board_info'),
        device_state=_get(device, 'device_state'),
        stub=bool(_get(device, 'stub')),
        deployables=tuple(
            _deployable(each, place)
            for each, place in _members(device, 'deployable_list', where)))


def _deployable(deployable, where: str) -> values.DiscoveredDeployable:
    number = _needed(deployable, 'num_accelerators', where)
    if not 0 <= number <= _MOST_ACCELERATORS:
        raise exception.DriverDeviceInvalid(
            reason='num_accelerators of %s is %d, not a number from 0 to %d'
            % (where, number, _MOST_ACCELERATORS))
    return values.DiscoveredDeployable(
        name=_needed(deployable, 'name', where),
        num_accelerators=number,
        driver_name=_get(deployable, 'driver_name'),
        attributes=tuple(
            (_needed(each, 'key', place), _needed(each, 'value', place))
            for each, place in _members(deployable, 'attribute_list',
                                        where)),
        handles=tuple(
            _handle(_needed(each, 'attach_type', place),
                    _needed(each, 'attach_info', place))
            for each, place in _members(deployable, 'attach_handle_list',
                                        where)))


def _handle(attach_type: str, text: str) -> values.DiscoveredHandle:
    text = attach_info.reported(text)
    handle = values.DiscoveredHandle(attach_type, text)
    if attach_type == constants.AH_TYPE_PCI:
        try:
            handle.key  # noqa: B018 - raises when it has no address
            handle.info.settings  # noqa: B018 - raises when damaged
        except identity.InvalidInfo as error:
            raise exception.DeviceAttachInfoInvalid(
                address=attach_info.describe(text),
                reason=error.reason, text=text) from error
    return handle


def _members(obj, name: str, where: str) -> Iterator[tuple[Any, str]]:
    """The objects of a list, each with the words to find it by."""
    for number, each in enumerate(_get(obj, name) or ()):
        yield each, '%s[%d] of %s' % (name, number, where)


def _label(device) -> str:
    return 'DriverDevice (vendor %s, model %s)' % tuple(
        getattr(device, name) if device.obj_attr_is_set(name) else 'not set'
        for name in ('vendor', 'model'))


def _needed(obj, name: str, where: str):
    if not obj.obj_attr_is_set(name):
        raise exception.DriverDeviceInvalid(
            reason='%s has no %s' % (where, name))
    return getattr(obj, name)


def _get(obj, name: str):
    return getattr(obj, name) if obj.obj_attr_is_set(name) else None

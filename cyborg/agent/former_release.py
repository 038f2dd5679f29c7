# SPDX-License-Identifier: Apache-2.0
"""Reports for conductors of 2026.2, as an agent of that release made them.

Such a conductor compares attach info as text: a word more, and it replaces
each free handle by a new one, and fails the whole report where a handle is
allocated.
"""

from collections.abc import Iterable
from typing import Any

from cyborg.inventory import attach_info


def devices(found: Iterable[Any]) -> list[Any]:
    """Devices without the settings that came with 2027.1.

    :param found: ``DriverDevice`` objects, which are not changed: drivers
        may report the same ones again.
    """
    return [_without_settings(device) if any(
        _former(handle) != handle.attach_info for handle in _handles(device))
        else device for device in found]


def _without_settings(device: Any) -> Any:
    device = device.obj_clone()
    for handle in _handles(device):
        handle.attach_info = _former(handle)
    return device


def _handles(device: Any) -> list[Any]:
    return [handle for deployable in _members(device, 'deployable_list')
            for handle in _members(deployable, 'attach_handle_list')]


def _members(obj: Any, name: str) -> list[Any]:
    return (getattr(obj, name) if obj.obj_attr_is_set(name) else None) or []


def _former(handle: Any) -> str:
    return attach_info.without_settings(handle.attach_info)

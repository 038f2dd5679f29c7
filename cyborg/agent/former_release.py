# SPDX-License-Identifier: Apache-2.0
"""Reports for conductors of 2026.2, as an agent of that release made them.

Such a conductor compares attach info as text: a word more, and it replaces
each free handle by a new one, and fails the whole report where a handle is
allocated.
"""

from collections.abc import Iterable
from typing import Any

from cyborg.inventory import attach_info
from cyborg.inventory import relatives


def devices(found: Iterable[Any]) -> list[Any]:
    """Devices without the settings, and the PFs, that came with 2027.1.

    :param found: ``DriverDevice`` objects, which are not changed: drivers
        may report the same ones again.
    """
    return [_former(device) for device in found]


def _former(device: Any) -> Any:
    board = _get(device, 'std_board_info')
    former_board = relatives.without_parent(board)
    texts = [handle.attach_info for handle in _handles(device)]
    former_texts = [attach_info.without_settings(text) for text in texts]
    if former_board == board and former_texts == texts:
        return device
    device = device.obj_clone()
    if former_board != board:
        device.std_board_info = former_board
    for handle, text in zip(_handles(device), former_texts, strict=True):
        handle.attach_info = text
    return device


def _handles(device: Any) -> list[Any]:
    return [handle for deployable in _get(device, 'deployable_list') or ()
            for handle in _get(deployable, 'attach_handle_list') or ()]


def _get(obj: Any, name: str) -> Any:
    return getattr(obj, name) if obj.obj_attr_is_set(name) else None

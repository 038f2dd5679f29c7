# SPDX-License-Identifier: Apache-2.0
"""Devices as the API shows them."""

from collections.abc import Iterable
from typing import Any

from cyborg.api import microversions
from cyborg.api import views


def single(device: Any, version: microversions.Version, base: str) -> dict:
    shown = {
        'uuid': device.uuid,
        'type': device.type,
        'vendor': device.vendor,
        'model': device.model,
        'std_board_info': device.std_board_info,
        'vendor_board_info': device.vendor_board_info,
        'hostname': device.hostname,
    }
    if version >= microversions.DEVICE_STATUS:
        shown['status'] = device.status
    shown['links'] = [views.self_link(base, 'devices', device.uuid)]
    shown['created_at'] = views.timestamp(device.created_at)
    shown['updated_at'] = views.timestamp(device.updated_at)
    return shown


def listing(devices: Iterable, version: microversions.Version, base: str
            ) -> dict:
    return {'devices': [single(device, version, base) for device in devices]}

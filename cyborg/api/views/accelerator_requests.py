# SPDX-License-Identifier: Apache-2.0
"""Accelerator requests as the API shows them."""

import json
from typing import Any

from cyborg.api import microversions
from cyborg.api import views
from cyborg.common import constants
from cyborg.common import exception
from cyborg.inventory import attach_info
from cyborg.inventory import identity


def _setting(info: dict[str, Any], name: str, arq) -> Any:
    """The effective value of one stored setting.

    :raises exception.AttachInfoInvalid: the stored value has another type.
    """
    stored = {name: info[name]} if name in info else {}
    try:
        return getattr(attach_info.effective(stored, name), name)
    except identity.InvalidInfo as error:
        raise exception.AttachInfoInvalid(
            uuid=arq.attach_handle_uuid, host=arq.hostname, key=name,
            value=json.dumps(stored[name]), reason=error.reason) from error


def handle_info(arq, version: microversions.Version) -> dict[str, Any]:
    """What of the stored information about a request's handle is shown.

    Before 2.4 the settings (``managed``, ``stateful``, ``numa_node``) are
    left out, stored or not; from 2.4 they are always there with their
    defaults, ``managed`` for handles of type PCI only (specification, "REST
    API Impact"). A setting that is not shown is not looked at.

    :raises exception.AttachInfoInvalid: a shown setting has another type.
    """
    info = arq.attach_handle_info or {}
    shown = {key: value for key, value in info.items()
             if key not in identity.METADATA}
    if version < microversions.HANDLE_SETTINGS or not arq.attach_handle_uuid:
        return shown
    if arq.attach_handle_type == constants.AH_TYPE_PCI:
        shown['managed'] = _setting(info, 'managed', arq)
    shown['stateful'] = _setting(info, 'stateful', arq)
    shown['numa_node'] = _setting(info, 'numa_node', arq)
    return shown


def single(arq, version: microversions.Version, base: str) -> dict:
    """:param arq: an ``ARQ`` object"""
    return {
        'uuid': arq.uuid,
        'state': arq.state,
        'device_profile_name': arq.device_profile_name,
        'device_profile_group_id': arq.device_profile_group_id,
        'hostname': arq.hostname,
        'device_rp_uuid': arq.device_rp_uuid,
        'instance_uuid': arq.instance_uuid,
        'project_id': arq.project_id,
        'attach_handle_type': arq.attach_handle_type,
        'attach_handle_uuid': arq.attach_handle_uuid,
        'attach_handle_info': handle_info(arq, version),
        'links': [views.self_link(base, 'accelerator_requests', arq.uuid)],
        'created_at': views.timestamp(arq.created_at),
        'updated_at': views.timestamp(arq.updated_at),
    }


def listing(arqs, version: microversions.Version, base: str) -> dict:
    return {'arqs': [single(arq, version, base) for arq in arqs]}

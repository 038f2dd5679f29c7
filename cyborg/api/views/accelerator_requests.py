# SPDX-License-Identifier: Apache-2.0
"""Accelerator requests as the API shows them."""

from collections.abc import Callable
from collections.abc import Iterable
import json
from typing import Any

from cyborg.api import microversions
from cyborg.api import views
from cyborg.common import constants
from cyborg.common import exception
from cyborg.common.i18n import _
from cyborg.inventory import attach_info
from cyborg.inventory import identity

# Each is a sentence of its own; so many are enough to begin with.
_MOST_NAMED = 10
_DEFAULTS = attach_info.Settings()
_SETTINGS = ('stateful', 'numa_node')
_SETTINGS_OF_PCI = ('managed', *_SETTINGS)


def _setting(info: dict[str, Any], name: str, arq) -> Any:
    """The effective value of one stored setting.

    :raises exception.AttachInfoInvalid: the stored value has another type.
    """
    stored = {name: info[name]}
    try:
        return getattr(attach_info.effective(stored, name), name)
    except identity.InvalidInfo as error:
        raise exception.AttachInfoInvalid(
            uuid=arq.attach_handle_uuid, host=arq.hostname, key=name,
            value=json.dumps(stored[name]), reason=error.reason) from error


def handle_info(arq: Any, version: microversions.Version) -> dict[str, Any]:
    """What of the stored information about a request's handle is shown.

    Before 2.4 the settings (``managed``, ``stateful``, ``numa_node``) are
    left out, stored or not; from 2.4 they are always there with their
    defaults, ``managed`` for handles of type PCI only (specification, "REST
    API Impact"). A setting that is not shown is not looked at.

    :raises exception.AttachInfoInvalid: a shown setting has another type.
    """
    info = arq.attach_handle_info or {}
    shown = {key: value for key, value in info.items()
             if key not in attach_info.METADATA} if info else {}
    if not arq.attach_handle_uuid:
        return shown
    if version < microversions.HANDLE_SETTINGS:
        return shown
    names = _SETTINGS_OF_PCI if (
        arq.attach_handle_type == constants.AH_TYPE_PCI) else _SETTINGS
    for name in names:
        if name in info:
            shown[name] = _setting(info, name, arq)
        else:
            shown[name] = getattr(_DEFAULTS, name)
    return shown


def single(arq: Any, version: microversions.Version, base: str) -> dict:
    """:param arq: an ``ARQ`` object, or a ``ShownARQ``

    :raises exception.AttachInfoInvalid: what is stored of its handle cannot
        be shown.
    """
    return _document(arq, handle_info(arq, version), base)


def _document(arq, info: dict[str, Any] | None, base: str) -> dict:
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
        'attach_handle_info': info,
        'links': [views.self_link(base, 'accelerator_requests', arq.uuid)],
        'created_at': views.timestamp(arq.created_at),
        'updated_at': views.timestamp(arq.updated_at),
    }


def listing(arqs: Iterable, version: microversions.Version, base: str,
            on_damage: Callable[[exception.AttachInfoInvalid], None]
            | None = None) -> dict:
    """What is stored of one handle must not hide the other requests.

    :param on_damage: before 2.4, is called with the error of each request
        whose ``attach_handle_info`` cannot be shown and is null instead:
        neither an empty object, which means no handle, nor a guess. From 2.4
        on there would have to be settings in it.
    :raises exception.AttachInfoInvalid: names the handles that are damaged.
    """
    shown, damaged = [], []
    for arq in arqs:
        info = None
        try:
            info = handle_info(arq, version)
        except exception.AttachInfoInvalid as error:
            damaged.append(error)
        shown.append(_document(arq, info, base))
    if damaged and (on_damage is None
                    or version >= microversions.HANDLE_SETTINGS):
        raise _all_of(damaged)
    for error in damaged:
        on_damage(error)
    return {'arqs': shown}


def _all_of(errors: list[exception.AttachInfoInvalid]
            ) -> exception.AttachInfoInvalid:
    """One error that says what each of them does, to repair all at once."""
    if len(errors) == 1:
        return errors[0]
    lines = [error.message for error in errors[:_MOST_NAMED]]
    if len(errors) > _MOST_NAMED:
        lines.append(_('The same is true of %d more.')
                     % (len(errors) - _MOST_NAMED))
    return exception.AttachInfoInvalid('\n'.join(lines))

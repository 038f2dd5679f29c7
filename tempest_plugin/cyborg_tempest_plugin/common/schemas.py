# SPDX-License-Identifier: Apache-2.0
"""The documents of each microversion, as JSON Schema.

One field more than a microversion has is an error: a client of that version
never asked for it. Source: the version history of the REST API.
"""

from typing import Any

#: Every microversion, in order.
VERSIONS = ('2.0', '2.1', '2.2', '2.3', '2.4')

_TEXT = {'type': 'string'}
_MAYBE_TEXT = {'type': ['string', 'null']}
_MAYBE_NUMBER = {'type': ['integer', 'null'], 'minimum': 0}
_UUID = {'type': 'string',
         'pattern': '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'}
_MAYBE_UUID = {'anyOf': [_UUID, {'type': 'null'}]}


def _object(**properties: Any) -> dict:
    return {'type': 'object', 'properties': properties,
            'required': sorted(properties), 'additionalProperties': False}


def _list(item: dict) -> dict:
    return {'type': 'array', 'items': item}


_LINKS = _list(_object(href=_TEXT, rel=_TEXT))
_COMMON = {'uuid': _UUID, 'links': _LINKS, 'created_at': _MAYBE_TEXT,
           'updated_at': _MAYBE_TEXT}


def _since(version: str, first: str) -> bool:
    return VERSIONS.index(version) >= VERSIONS.index(first)


def _settings(version: str, handle_type: str) -> dict:
    if not _since(version, '2.4'):
        return {}
    found = {'stateful': {'type': 'boolean'}, 'numa_node': _MAYBE_NUMBER}
    if handle_type == 'PCI':
        found['managed'] = {'type': 'boolean'}
    return found


def handle_info(version: str, handle_type: str) -> dict:
    """``attach_handle_info`` of a bound request."""
    known = dict.fromkeys(('domain', 'bus', 'device', 'function'), _TEXT)
    if handle_type == 'MDEV':
        known.update(asked_type=_TEXT, vgpu_mark=_TEXT)
    return _object(**known, **_settings(version, handle_type))


def accelerator_request(version: str, handle_type: str | None = None) -> dict:
    """:param handle_type: None for a request that is not bound"""
    return _object(
        **_COMMON,
        state={'enum': ['Initial', 'BindStarted', 'BindFailed', 'Bound',
                        'Unbound', 'Deleting']},
        device_profile_name=_TEXT, device_profile_group_id=_MAYBE_NUMBER,
        hostname=_MAYBE_TEXT, device_rp_uuid=_MAYBE_UUID,
        instance_uuid=_MAYBE_UUID, project_id=_MAYBE_TEXT,
        attach_handle_type={'enum': [handle_type or '']},
        attach_handle_uuid=_UUID if handle_type else _MAYBE_UUID,
        attach_handle_info=(handle_info(version, handle_type) if handle_type
                            else _object()))


def device(version: str) -> dict:
    status = {'status': {'enum': ['enabled', 'maintaining']}}
    return _object(
        **_COMMON, type=_TEXT, vendor=_TEXT, model=_MAYBE_TEXT,
        std_board_info=_MAYBE_TEXT, vendor_board_info=_MAYBE_TEXT,
        hostname=_TEXT, **(status if _since(version, '2.3') else {}))


def device_profile(version: str) -> dict:
    """One of a list, or as created."""
    return _object(**_COMMON, **_profile())


def shown_device_profile(version: str) -> dict:
    """One that was asked for alone."""
    return _object(device_profile=_object(**_COMMON, **_profile()))


def _profile() -> dict:
    return {'name': _TEXT, 'description': _MAYBE_TEXT,
            'groups': _list({'type': 'object',
                             'additionalProperties': _TEXT})}


def deployable(version: str) -> dict:
    return _object(
        **_COMMON, parent_id=_MAYBE_NUMBER, root_id=_MAYBE_NUMBER, name=_TEXT,
        num_accelerators={'type': 'integer', 'minimum': 0},
        device_id={'type': 'integer'}, attributes_list=_TEXT,
        rp_uuid=_MAYBE_UUID, driver_name=_MAYBE_TEXT, bitstream_id=_MAYBE_TEXT)


def attribute(version: str) -> dict:
    return _object(**_COMMON, deployable_id={'type': 'integer'}, key=_TEXT,
                   value=_MAYBE_TEXT)


def listing(name: str, item: dict) -> dict:
    """:param name: of the list, such as ``arqs``"""
    return _object(**{name: _list(item)})


def versions_up_to(newest: str) -> tuple[str, ...]:
    """The microversions of a service.

    :param newest: the newest of the service, or ``latest``
    """
    if newest == 'latest':
        return VERSIONS
    limit = tuple(int(part) for part in newest.split('.'))
    return tuple(version for version in VERSIONS
                 if tuple(int(part) for part in version.split('.')) <= limit)

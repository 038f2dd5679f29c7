# SPDX-License-Identifier: Apache-2.0
"""Body of POST /v2/device_profiles."""

import dataclasses
import json
import re
from typing import Any

from cyborg.api import schemas
from cyborg.common import exception
from cyborg.common.i18n import _

NAME = re.compile(r'[a-zA-Z0-9_-]+', re.ASCII)
MAX_NAME = 255
#: Standard resource classes that an accelerator can be counted by.
RESOURCE_CLASSES = ('FPGA', 'PGPU', 'VGPU', 'GPU')
TRAIT_VALUES = ('required', 'forbidden')
KEY = re.compile(r'(resources|trait|accel):(.*)', re.DOTALL)
#: What Placement takes for the name of a resource class or trait of ours.
CUSTOM = re.compile(r'CUSTOM_[A-Z0-9_]+', re.ASCII)
MAX_CUSTOM = 255
_AMOUNT = re.compile(r'\s*\+?[0-9]{1,20}\s*', re.ASCII)
XILINX_TRAIT = 'trait:CUSTOM_FPGA_XILINX'
#: Groups of a profile, and what each can ask for.
MAX_GROUPS = 64
MAX_GROUP_KEYS = 64

_SCALAR = ['string', 'number', 'boolean']

CREATE = schemas.compile_schema({
    'type': 'array',
    'minItems': 1,
    'maxItems': 1,
    'items': {
        'type': 'object',
        # Keys that mean nothing here have always been passed over.
        'properties': {
            'name': {'type': 'string'},
            'description': {'type': [*_SCALAR, 'null']},
            'uuid': {'type': 'string'},
            'groups': {
                'type': 'array',
                'minItems': 1,
                'maxItems': MAX_GROUPS,
                'items': {
                    'type': 'object',
                    'maxProperties': MAX_GROUP_KEYS,
                    'propertyNames': {
                        'pattern': '^(resources:|trait:|accel:)'},
                    'patternProperties': {
                        '^resources:': {'type': _SCALAR},
                        '^trait:': {'enum': list(TRAIT_VALUES)},
                        '^accel:': {'type': [*_SCALAR, 'null']},
                    },
                },
            },
        },
    },
})


@dataclasses.dataclass(frozen=True)
class NewProfile:
    """A device profile to create, checked."""

    name: str
    groups: tuple[dict[str, str | None], ...]
    description: str | None
    uuid: str | None


def _refuse(reason: str):
    raise exception.InvalidParameterValue(err=reason)


def parse_create(body: Any) -> NewProfile:
    """The profile that a body describes.

    :raises exception.InvalidParameterValue: it describes none.
    :raises exception.DeviceProfileNameNeeded: it has no name.
    :raises exception.DeviceProfileGroupsExpected: it has no groups.
    """
    if not isinstance(body, list) or len(body) != 1:
        _refuse(_('A list with exactly one device profile is expected.'))
    wanted = body[0]
    if isinstance(wanted, dict):
        if wanted.get('name') in (None, ''):
            raise exception.DeviceProfileNameNeeded()
        if wanted.get('groups') in (None, [], ''):
            raise exception.DeviceProfileGroupsExpected()
    schemas.validate(body, CREATE)
    schemas.check_ours(wanted)
    profile = NewProfile(
        name=_name(wanted['name']),
        groups=tuple(_group(group) for group in wanted['groups']),
        description=schemas.as_text(wanted.get('description')),
        uuid=_uuid(wanted.get('uuid')))
    if not schemas.fits_text_column(profile.description or ''):
        _refuse(_('The description is longer than %d bytes.')
                % schemas.MAX_TEXT_BYTES)
    # The conductor stores the groups together with the version, as JSON.
    if not schemas.fits_text_column(
            json.dumps({'version': '1.0', 'groups': profile.groups})):
        _refuse(_('The groups are longer than %d bytes as JSON.')
                % schemas.MAX_TEXT_BYTES)
    return profile


def _name(name: str) -> str:
    if not NAME.fullmatch(name):
        _refuse(_('The name of a device profile consists of letters, digits, '
                  '"-" and "_", which %r does not.') % name[:300])
    if len(name) > MAX_NAME:
        _refuse(_('The name of a device profile has at most %(max)d '
                  'characters, not %(length)d.')
                % {'max': MAX_NAME, 'length': len(name)})
    if schemas.is_uuid(name):
        _refuse(_('The name %s looks like a UUID, so that the profile could '
                  'not be addressed by name.') % name)
    return name


def _uuid(value: str | None) -> str | None:
    if value is None or value == '':
        return None
    canonical = schemas.canonical_uuid(value)
    if canonical is None:
        _refuse(_('Expected a uuid but received %s.') % value[:100])
    return canonical


def _group(group: dict) -> dict[str, str | None]:
    checked = {}
    for key, value in group.items():
        kind, name = KEY.fullmatch(key).groups()
        if kind == 'accel':
            checked[key] = schemas.as_text(value)
            continue
        name = name.strip()
        if kind == 'trait' and not _is_custom(name):
            _refuse(_('The trait %(name)s is none that an accelerator has: '
                      '%(form)s.')
                    % {'name': name[:300], 'form': _CUSTOM_FORM})
        if kind == 'resources':
            if name not in RESOURCE_CLASSES and not _is_custom(name):
                _refuse(_('The resource class %(name)s is none of '
                          'accelerators: use one of %(known)s or one of '
                          'your own: %(form)s.')
                        % {'name': name[:300], 'form': _CUSTOM_FORM,
                           'known': ', '.join(RESOURCE_CLASSES)})
            _check_amount(name, value)
        checked.setdefault('%s:%s' % (kind, name), schemas.as_text(value))
    return checked


_CUSTOM_FORM = _('its name is CUSTOM_ and at least one of A-Z, 0-9 and _, '
                 'at most 255 characters in all')


def _is_custom(name: str) -> bool:
    return len(name) <= MAX_CUSTOM and CUSTOM.fullmatch(name) is not None


def _check_amount(resource_class: str, value: Any) -> int:
    try:
        # int() would also take 1_0, and digits of any script.
        amount = int(value) if not isinstance(value, str) else int(
            _AMOUNT.fullmatch(value)[0])
    except (ValueError, OverflowError, TypeError):
        amount = -1
    if not 0 <= amount <= schemas.MAX_INTEGER:
        raise exception.InvalidResourceAmount(
            amount=str(value)[:100], resource_class=resource_class)
    return amount


def arq_groups(groups: list[dict]) -> list[int]:
    """Index of the group of every accelerator request a profile asks for.

    A Xilinx FPGA comes as two functions, each with a request of its own.

    :param groups: groups as stored in the profile
    :raises exception.InvalidResourceAmount: an amount is no whole number;
        profiles could be stored with such amounts.
    :raises exception.InvalidParameterValue: more than ``schemas.MAX_ARQS``
    """
    indexes: list[int] = []
    for index, group in enumerate(groups):
        if group.get(XILINX_TRAIT) == 'required':
            amount = 2 * _check_amount('FPGA', group.get('resources:FPGA'))
        else:
            amount = sum(_check_amount(key, value)
                         for key, value in group.items()
                         if key.startswith('resources'))
        if len(indexes) + amount > schemas.MAX_ARQS:
            _refuse(_('The device profile asks for more than %d '
                      'accelerators.') % schemas.MAX_ARQS)
        indexes += [index] * amount
    return indexes

# SPDX-License-Identifier: Apache-2.0
"""Bodies of POST and PATCH /v2/accelerator_requests, and their filters."""

import dataclasses
from typing import Any

from cyborg.api import microversions
from cyborg.api import schemas
from cyborg.common import exception
from cyborg.common.i18n import _

RESOLVED = 'resolved'
#: Longest host name a row can hold.
MAX_HOSTNAME = 255

CREATE = schemas.compile_schema({
    'type': 'object',
    'properties': {
        'device_profile_name': {'type': ['string', 'number', 'boolean']},
    },
})

#: Operations on one request; there are four paths.
MAX_OPERATIONS = 16

# What an operation is, _operation() looks at: a validator would take a tenth
# of a second for those of a thousand requests.
PATCH = schemas.compile_schema({
    'type': 'object',
    'minProperties': 1,
    'maxProperties': schemas.MAX_ARQS,
    'additionalProperties': {
        'type': 'array',
        'minItems': 1,
        'maxItems': MAX_OPERATIONS,
    },
})

_REQUIRED = ('hostname', 'device_rp_uuid', 'instance_uuid')
_OWNER = 'project_id'


@dataclasses.dataclass(frozen=True)
class ArqPatch:
    """What a PATCH asks for one accelerator request.

    :ivar operations: the JSON patch, for the conductor.
    :ivar bind: True to bind, False to unbind.
    :ivar names_owner: the patch has a project_id.
    """

    uuid: str
    bind: bool
    operations: tuple[dict, ...]
    hostname: str | None = None
    device_rp_uuid: str | None = None
    instance_uuid: str | None = None
    project_id: str | None = None
    names_owner: bool = False

    def fields(self) -> dict[str, str | None]:
        """Values to set, as the conductor takes them."""
        values = {name: getattr(self, name) for name in _REQUIRED}
        if self.names_owner:
            values[_OWNER] = self.project_id
        return values


def _refuse(reason: str):
    raise exception.PatchError(reason=reason)


def parse_create(body: Any) -> str:
    """The name of the device profile to create requests from.

    :raises exception.InvalidParameterValue: the body has the wrong form.
    :raises exception.DeviceProfileNameNeeded: no name is given.
    """
    if isinstance(body, dict) and body.get('device_profile_name') is None:
        raise exception.DeviceProfileNameNeeded()
    schemas.validate(body, CREATE)
    return schemas.as_text(body['device_profile_name'])


def parse_patch(body: Any,
                version: microversions.Version) -> tuple[ArqPatch, ...]:
    """What a PATCH asks for, every accelerator request of it checked.

    :raises exception.InvalidParameterValue: the body has the wrong form.
    :raises exception.PatchError: an operation or a value cannot be used.
    :raises exception.NotAcceptable: a path needs a newer version.
    """
    schemas.validate(body, PATCH)
    patches = tuple(_parse_one(schemas.usual_uuid(uuid), operations, version)
                    for uuid, operations in body.items())
    if len({patch.uuid for patch in patches}) < len(patches):
        _refuse(_('An accelerator request is named twice.'))
    instances = {patch.instance_uuid for patch in patches if patch.bind}
    if len(instances) > 1:
        _refuse(_('All accelerator requests of one patch have to be for the '
                  'same instance, not for %s.') % ', '.join(sorted(instances)))
    return patches


def _parse_one(uuid: str, sent: list[dict], version) -> ArqPatch:
    operations = tuple(_operation(uuid, operation) for operation in sent)
    kinds = {operation['op'] for operation in operations}
    if kinds not in ({'add'}, {'remove'}):
        _refuse(_('All operations on accelerator request %s have to be '
                  '"add", or all "remove".') % uuid[:100])
    values: dict[str, Any] = {}
    for operation in operations:
        # The first slash may be left out, and was always allowed twice.
        name = operation['path'].lstrip('/')
        if name == _OWNER and version < microversions.PROJECT_IN_PATCH:
            raise exception.NotAcceptable(
                _('The path /project_id needs at least version %s.')
                % microversions.PROJECT_IN_PATCH)
        if name not in (*_REQUIRED, _OWNER):
            _refuse(_('Accelerator request %(uuid)s has no path %(path)s.')
                    % {'uuid': uuid[:100], 'path': operation['path'][:100]})
        values[name] = operation.get('value')
    common = {'uuid': uuid, 'operations': operations,
              'names_owner': _OWNER in values}
    if kinds == {'remove'}:
        return ArqPatch(bind=False, **common)
    return ArqPatch(bind=True, **_bind_values(uuid, values), **common)


def _operation(uuid: str, sent: Any) -> dict[str, Any]:
    """What counts of an operation; whatever else is in it goes no further.

    :raises exception.InvalidParameterValue: it is no operation.
    """
    if not isinstance(sent, dict) or not all(
            isinstance(sent.get(key), str) for key in ('op', 'path')):
        raise exception.InvalidParameterValue(
            err=_('The body does not fit: %s: an operation is an object with '
                  'the texts op and path.') % uuid[:100])
    operation = {'path': sent['path'], 'op': sent['op']}
    if sent['op'] == 'add' and 'value' in sent:
        operation['value'] = sent['value']
    return operation


def _bind_values(uuid: str, values: dict) -> dict[str, str]:
    absent = sorted(name for name in (*_REQUIRED, _OWNER)
                    if values.get(name) is None
                    and (name in _REQUIRED or name in values))
    if absent:
        _refuse(_('Accelerator request %(uuid)s needs a value for '
                  '%(names)s.') % {'uuid': uuid[:100],
                                   'names': ', '.join(absent)})
    for name, value in values.items():
        if not isinstance(value, str):
            _refuse(_('The value of /%(name)s of accelerator request '
                      '%(uuid)s has to be a text.')
                    % {'name': name, 'uuid': uuid[:100]})
    if not 0 < len(values['hostname']) <= MAX_HOSTNAME:
        _refuse(_('A host name has 1 to %d characters.') % MAX_HOSTNAME)
    checked = {'hostname': values['hostname']}
    for name in ('instance_uuid', _OWNER):
        if name in values and not schemas.is_uuid(values[name]):
            _refuse(_('/%(name)s of accelerator request %(uuid)s is no UUID: '
                      '%(value)s') % {'name': name, 'uuid': uuid[:100],
                                      'value': values[name][:100]})
    checked['instance_uuid'] = schemas.canonical_uuid(values['instance_uuid'])
    # Projects are compared as text with what Keystone calls them.
    if _OWNER in values:
        checked[_OWNER] = values[_OWNER]
    checked['device_rp_uuid'] = _provider(values['device_rp_uuid'])
    return checked


def _provider(value: str) -> str:
    canonical = schemas.canonical_uuid(value)
    if canonical is None:
        # No deployable can have such a provider: the same answer as for a
        # provider that nobody knows.
        raise exception.ResourceNotFound(
            resource='Deployable',
            msg=_('with resource provider uuid=%s') % value[:100])
    return canonical


def check_bind_state(bind_state: str | None) -> None:
    """:raises exception.InvalidParameterValue: an unknown filter value."""
    if bind_state not in (None, '', RESOLVED):
        raise exception.InvalidParameterValue(
            err=_('bind_state can only be "%(resolved)s", not %(value)s.')
            % {'resolved': RESOLVED, 'value': bind_state[:100]})


def parse_uuids(arqs: str) -> tuple[str, ...]:
    """The UUIDs of ``?arqs=``, each once, in the order given.

    :raises exception.ResourceNotFound: one is no UUID, so nothing has it.
    """
    uuids = tuple(dict.fromkeys(
        map(schemas.usual_uuid, schemas.split_list(arqs))))
    for uuid in uuids:
        if not schemas.is_uuid(uuid):
            raise exception.ResourceNotFound(
                resource='ExtArq', msg='with uuid=%s' % uuid[:100])
    return uuids

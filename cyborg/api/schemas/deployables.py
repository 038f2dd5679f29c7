# SPDX-License-Identifier: Apache-2.0
"""Body of PATCH /v2/deployables/{uuid}/program."""

from typing import Any

from cyborg.api import schemas
from cyborg.common import exception
from cyborg.common.i18n import _

#: First segments of paths that this request does not change.
INTERNAL = ('uuid', 'id', 'name', 'num_accelerators', 'links', 'created_at',
            'updated_at')

#: Operations of a patch, and images of an operation. One of each counts.
MAX_OPERATIONS = 64

PROGRAM = schemas.compile_schema({
    'type': 'array',
    'minItems': 1,
    'maxItems': MAX_OPERATIONS,
    'items': {
        'type': 'object',
        'required': ['path', 'op'],
        'additionalProperties': False,
        'properties': {
            'path': {'type': 'string', 'maxLength': 255,
                     'pattern': r'^(/[\w-]+)+\Z'},
            'op': {'enum': ['add', 'replace', 'remove']},
            'value': {
                'type': 'array',
                'minItems': 1,
                'maxItems': MAX_OPERATIONS,
                'items': {
                    'type': 'object',
                    'required': ['image_uuid'],
                },
            },
        },
    },
})


def parse_program(body: Any) -> str:
    """UUID of the image to program with: that of the first operation.

    The path only has to be a possible one: clients have used several.

    :raises exception.InvalidParameterValue: the body names none.
    """
    schemas.validate(body, PROGRAM)
    for operation in body:
        name = operation['path'].split('/')[1]
        if name in INTERNAL:
            raise exception.InvalidParameterValue(
                err=_('%s is an internal attribute and cannot be changed.')
                % operation['path'][:100])
        if 'value' not in operation:
            raise exception.InvalidParameterValue(
                err=_('The operation on %s needs a value.')
                % operation['path'][:100])
    image = body[0]['value'][0]['image_uuid']
    canonical = schemas.canonical_uuid(image)
    if canonical is None:
        raise exception.InvalidParameterValue(
            err=_('Expected a uuid but received %s.') % str(image)[:100])
    return canonical

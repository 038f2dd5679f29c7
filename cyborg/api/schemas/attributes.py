# SPDX-License-Identifier: Apache-2.0
"""Body of POST /v2/attributes."""

import dataclasses
from typing import Any

from cyborg.api import schemas
from cyborg.common import exception
from cyborg.common.i18n import _

CREATE = schemas.compile_schema({
    'type': 'object',
    # Keys that mean nothing here have always been passed over.
    'required': ['deployable_id', 'key', 'value'],
    'properties': {
        'deployable_id': {'type': ['integer', 'number', 'string', 'boolean']},
        'key': {'type': ['string', 'number', 'boolean']},
        'value': {'type': ['string', 'number', 'boolean']},
        'uuid': {'type': 'string'},
    },
})


@dataclasses.dataclass(frozen=True)
class NewAttribute:
    """An attribute to create, checked."""

    deployable_id: int
    key: str
    value: str
    uuid: str | None


def parse_create(body: Any) -> NewAttribute:
    """The attribute that a body describes.

    :raises exception.InvalidParameterValue: it describes none.
    """
    schemas.validate(body, CREATE)
    schemas.check_ours(body)
    key, value = schemas.as_text(body['key']), schemas.as_text(body['value'])
    for name, text in (('key', key), ('value', value)):
        if not schemas.fits_text_column(text):
            raise exception.InvalidParameterValue(
                err=_('%(name)s is longer than %(max)d bytes.')
                % {'name': name, 'max': schemas.MAX_TEXT_BYTES})
    return NewAttribute(_deployable_id(body['deployable_id']), key, value,
                        _uuid(body.get('uuid')))


def _deployable_id(value: Any) -> int:
    try:
        number = int(value)
    except (ValueError, OverflowError):
        number = None
    if number is None or not 0 < number <= schemas.MAX_INTEGER:
        raise exception.InvalidParameterValue(
            err=_('deployable_id is not the id of a deployable: %s')
            % str(value)[:100])
    return number


def _uuid(value: str | None) -> str | None:
    if not value:
        return None
    canonical = schemas.canonical_uuid(value)
    if canonical is None:
        raise exception.InvalidParameterValue(
            err=_('Expected a uuid but received %s.') % value[:100])
    return canonical

# SPDX-License-Identifier: Apache-2.0
"""What the API accepts: one JSON Schema a body (and version), and helpers.

A schema says what is well formed; what it means is decided by the function
beside it, whose result holds values of the right type and nothing else.
"""

import datetime
from typing import Any
import uuid

import jsonschema

from cyborg.common import exception
from cyborg.common.i18n import _

#: Range of the integer columns.
MAX_INTEGER = 2 ** 31 - 1
#: Bytes that fit in a TEXT column of MariaDB.
MAX_TEXT_BYTES = 65535


def is_uuid(value: Any) -> bool:
    """Whether a text is a UUID: with or without dashes, in any case."""
    return canonical_uuid(value) is not None


def canonical_uuid(value: Any) -> str | None:
    """The usual form of a UUID, lower case with dashes; None if it is none."""
    try:
        return str(uuid.UUID(value))
    except (ValueError, TypeError, AttributeError):
        return None


def validate(body: Any, validator: jsonschema.protocols.Validator) -> None:
    """Check a body.

    :raises exception.InvalidParameterValue: names the place and the reason.
    """
    error = jsonschema.exceptions.best_match(validator.iter_errors(body))
    if error is None:
        return
    place = ''.join('[%r]' % step if isinstance(step, int) else '.%s' % step
                    for step in error.absolute_path).lstrip('.')
    reason = error.message
    if len(reason) > 300:
        reason = reason[:300] + '…'
    raise exception.InvalidParameterValue(
        err=_('The body does not fit: %(place)s: %(reason)s')
        % {'place': place or _('(all of it)'), 'reason': reason})


def compile_schema(schema: dict) -> jsonschema.protocols.Validator:
    """A validator; a faulty schema is an error at import."""
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def check_text(value: Any) -> None:
    """Refuse text that a database cannot hold, at any depth of ``value``.

    :raises exception.InvalidParameterValue: a NUL, or half of a surrogate
        pair, which JSON can write but UTF-8 cannot.
    """
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            pending += [*item, *item.values()]
        elif isinstance(item, (list, tuple)):
            pending += item
        elif isinstance(item, str):
            if '\x00' in item:
                raise exception.InvalidParameterValue(
                    err=_('A text of the request holds a NUL character.'))
            if not item.isascii() and any(
                    '\ud800' <= char <= '\udfff' for char in item):
                raise exception.InvalidParameterValue(
                    err=_('A text of the request holds a lone surrogate.'))


def check_ours(body: dict) -> None:
    """Refuse malformed values of fields that only the service sets.

    Well-formed ones are passed over, as they always were.

    :raises exception.InvalidParameterValue: names the field.
    """
    readers = {'id': int, 'created_at': datetime.datetime.fromisoformat,
               'updated_at': datetime.datetime.fromisoformat}
    for name, read in readers.items():
        try:
            if body.get(name) is not None:
                read(body[name])
        except (ValueError, TypeError, OverflowError):
            raise exception.InvalidParameterValue(
                err=_('%(name)s cannot be set, and %(value)s is none.')
                % {'name': name, 'value': str(body[name])[:100]}) from None


def as_text(value: Any) -> str | None:
    """A JSON scalar as the text that is stored: 5 -> "5", true -> "True".

    Releases before this one stored numbers this way, and clients that send
    them exist.
    """
    return value if value is None or isinstance(value, str) else str(value)


def fits_text_column(text: str) -> bool:
    return len(text.encode()) <= MAX_TEXT_BYTES

# SPDX-License-Identifier: Apache-2.0
"""What the API accepts: one JSON Schema a body (and version), and helpers.

A schema says what is well formed; what it means is decided by the function
beside it, whose result holds values of the right type and nothing else.
"""

import datetime
import re
from typing import Any
import uuid

import jsonschema

from cyborg.common import exception
from cyborg.common.i18n import _

#: Range of the integer columns.
MAX_INTEGER = 2 ** 31 - 1
#: Bytes that fit in a TEXT column of MariaDB.
MAX_TEXT_BYTES = 65535
#: Levels of lists and objects in a body. The deepest request has five.
MAX_DEPTH = 32
#: More accelerator requests at once than any server could need.
MAX_ARQS = 1000

_SURROGATE = re.compile('[\ud800-\udfff]')


def is_uuid(value: Any) -> bool:
    """Whether a text is a UUID: with or without dashes, in any case."""
    return canonical_uuid(value) is not None


def canonical_uuid(value: Any) -> str | None:
    """The usual form of a UUID, lower case with dashes; None if it is none."""
    try:
        return str(uuid.UUID(value))
    except (ValueError, TypeError, AttributeError):
        return None


def usual_uuid(text: str) -> str:
    """As rows hold it, when it is a UUID; any other text as it is."""
    return canonical_uuid(text) or text


def validate(body: Any, validator: jsonschema.protocols.Validator) -> None:
    """Check a body.

    :raises exception.InvalidParameterValue: names the place and the reason.
    """
    # The first one only: there can be as many as the body has values, and
    # each text repeats the value that does not fit.
    error = next(validator.iter_errors(body), None)
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
    """Refuse what nothing behind the API could take, at any depth.

    :raises exception.InvalidParameterValue: a NUL, which no database holds;
        half of a surrogate pair, which JSON can write but UTF-8 cannot; more
        than ``MAX_DEPTH`` levels of lists and objects.
    """
    level = [value]
    # One more for what ``value`` is in, one for the texts in the deepest.
    for _depth in range(MAX_DEPTH + 2):
        below: list[Any] = []
        is_deepest = True
        for item in level:
            if isinstance(item, str):
                _check_storable(item)
            elif isinstance(item, dict):
                is_deepest = False
                below += item
                below += item.values()
            elif isinstance(item, (list, tuple)):
                is_deepest = False
                below += item
        if is_deepest:
            return
        level = below
    raise exception.InvalidParameterValue(
        err=_('The request is nested too deeply: it has more than %d levels '
              'of lists and objects.') % MAX_DEPTH)


def _check_storable(text: str) -> None:
    if '\x00' in text:
        raise exception.InvalidParameterValue(
            err=_('A text of the request holds a NUL character.'))
    if not text.isascii() and _SURROGATE.search(text):
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


def split_list(text: str) -> list[str]:
    """The members of a list that came as one text, with commas between.

    :raises exception.InvalidParameterValue: more than ``MAX_ARQS``
    """
    members = text.split(',', MAX_ARQS)
    if len(members) > MAX_ARQS:
        raise exception.InvalidParameterValue(
            err=_('A list in the URL has at most %d members.') % MAX_ARQS)
    return members


def as_text(value: Any) -> str | None:
    """A JSON scalar as the text that is stored: 5 -> "5", true -> "True".

    Releases before this one stored numbers this way, and clients that send
    them exist.
    """
    return value if value is None or isinstance(value, str) else str(value)


def fits_text_column(text: str) -> bool:
    return len(text.encode()) <= MAX_TEXT_BYTES

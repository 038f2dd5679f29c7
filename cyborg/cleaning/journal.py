# SPDX-License-Identifier: Apache-2.0
"""The journal's records as text.

An entry is one JSON document with a checksum: a disk may keep half of what
was written when the power fails, and half a record must not count.
"""

import hashlib
import json
from urllib import parse

from cyborg.cleaning import records
from cyborg.nvme import plain

VERSION = 1
SUFFIX = '.json'
#: File names end before 255 bytes.
_LONGEST = 200


class DamagedEntry(ValueError):
    """A file of the journal that cannot be used; the text says why."""


def dump(entry: records.Entry) -> bytes:
    body = plain.to_plain(entry)
    return json.dumps({'version': VERSION, 'checksum': _checksum(body),
                       'entry': body}, indent=1, sort_keys=True).encode()


def load(data: bytes) -> records.Entry:
    """:raises DamagedEntry: it is no entry, or of a newer release."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        raise DamagedEntry('it is no JSON') from None
    if not isinstance(document, dict):
        raise DamagedEntry('it is no object')
    if document.get('version') != VERSION:
        raise DamagedEntry('its version is %s, and %d is expected' % (
            json.dumps(document.get('version')), VERSION))
    body = document.get('entry')
    if document.get('checksum') != _checksum(body):
        raise DamagedEntry('its checksum is wrong')
    try:
        return plain.from_plain(records.Entry, body)
    except plain.BrokenRecord as error:
        raise DamagedEntry(str(error)) from None


def _checksum(body) -> str:
    text = json.dumps(body, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def file_name(serial: str, model: str, address: str) -> str:
    """The file of a disk: by serial and model, while these are known."""
    if not serial:
        return '@%s' % parse.quote(address, safe=':') + SUFFIX
    whole = '%s %s' % (parse.quote(serial, safe=''),
                       parse.quote(model, safe=''))
    if len(whole) > _LONGEST:
        whole = whole[:_LONGEST] + hashlib.sha256(
            whole.encode()).hexdigest()[:16]
    return whole + SUFFIX


def disk_of(name: str) -> tuple[str, str, str]:
    """(serial, model, address) that a file name tells; '' for unknown."""
    stem = name.removesuffix(SUFFIX)
    if stem.startswith('@'):
        return '', '', stem[1:]
    first, _space, rest = stem.partition(' ')
    return parse.unquote(first), parse.unquote(rest), ''

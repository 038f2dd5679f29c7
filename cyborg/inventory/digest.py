# SPDX-License-Identifier: Apache-2.0
"""One short text for many values, to tell whether two sides have the same.

Agent and conductor make digests of the records of
``cyborg.inventory.values``, each of its own copy. Releases whose records
differ get different digests, and then everything is sent.
"""

from collections.abc import Iterable
import dataclasses
import hashlib
import json

from cyborg.inventory import values


def of_found(devices: Iterable[values.DiscoveredDevice]) -> str:
    """Of a discovery, in its order: of two reports of one function the first
    counts.

    :returns: 64 hexadecimal digits.
    """
    return _of(list(devices))


def of_stored(host: values.PersistedHost) -> str:
    """Of what is stored of a host, ids and requests included."""
    return _of(host)


def of_texts(*texts: str | None) -> str:
    """Of texts whose number and order count."""
    return _of(texts)


def _of(what) -> str:
    text = json.dumps(what, default=_fields)
    return hashlib.sha256(text.encode()).hexdigest()


def _fields(record) -> dict:
    # Not vars(): a record may keep what was worked out from its fields.
    return {field.name: getattr(record, field.name)
            for field in dataclasses.fields(record)}

# SPDX-License-Identifier: Apache-2.0
"""UUIDs for the rows a report creates, from what the rows stand for.

Two conductors that handle a report of one host at the same time work out the
same UUIDs, so that the unique columns of the database refuse the second row.
No lock and no new constraint is needed, and it holds on a cluster, too.

The UUID of a row is not read back for its meaning: rows of earlier releases
have random ones and keep them.
"""

import json
import uuid

from cyborg.inventory import identity
from cyborg.pci import address as pci_address

_NAMESPACE = uuid.UUID('6b8c29bc-0a52-5f0f-8a4c-2d1c6a1f6a55')


def _make(*parts) -> str:
    return str(uuid.uuid5(_NAMESPACE, json.dumps(
        parts, default=pci_address.PciAddress.parts)))


def device(hostname: str, key: identity.Key) -> str:
    """:param key: identity of the device's control path"""
    return _make('device', hostname, key)


def controlpath(hostname: str, key: identity.Key) -> str:
    return _make('controlpath', hostname, key)


def deployable(hostname: str, key: identity.Key, name: str) -> str:
    return _make('deployable', hostname, key, name)


def attribute(deployable_uuid: str, key: str, number: int = 0) -> str:
    """:param deployable_uuid: of the row the attribute belongs to
    :param number: tells attributes with one key apart
    """
    if number:
        return _make('attribute', deployable_uuid, key, number)
    return _make('attribute', deployable_uuid, key)


def handle(deployable_uuid: str, key: identity.Key) -> str:
    """:param deployable_uuid: of the row the handle belongs to"""
    return _make('handle', deployable_uuid, key)

# SPDX-License-Identifier: Apache-2.0
"""What makes two control paths the same, and how JSON texts of both are read.

The database keeps control paths and attach information as JSON text that
several releases and drivers wrote in several forms, so text is never
compared: the address in it is. See :mod:`cyborg.inventory.attach_info` for
handles.
"""

from collections.abc import Mapping
import functools
import json
from typing import Any

from cyborg.pci import address as pci_address

Key = tuple[Any, ...]


class InvalidInfo(ValueError):
    """A JSON text of a control path or handle which has no clear meaning.

    ``reason`` says what is wrong with ``text``, in words for an operator.
    """

    def __init__(self, text: str, reason: str):
        super().__init__('%s: %s' % (reason, text))
        self.text = text
        self.reason = reason


def parse(text: str) -> dict[str, Any]:
    """The JSON object in ``text``.

    :raises InvalidInfo: no JSON, or JSON of another kind.
    """
    try:
        info = json.loads(text)
    except (TypeError, ValueError):
        raise InvalidInfo(text, 'not JSON') from None
    if not isinstance(info, dict):
        raise InvalidInfo(text, 'not a JSON object')
    return info


def address(info: Mapping[str, Any], text: str) -> pci_address.PciAddress:
    """The address in parsed info.

    :raises InvalidInfo: a part is absent, no hexadecimal text, or too large.
    """
    try:
        return pci_address.PciAddress.from_fields(info)
    except ValueError as error:
        raise InvalidInfo(text, str(error)) from None


@functools.lru_cache(maxsize=16384)
def controlpath_key(cpid_type: str, text: str) -> Key:
    """:raises InvalidInfo: a PCI control path without a PCI address."""
    info = parse(text)
    if cpid_type == 'PCI':
        return ('PCI', address(info, text))
    return (cpid_type, json.dumps(info, sort_keys=True))

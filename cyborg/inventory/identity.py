# SPDX-License-Identifier: Apache-2.0
"""What makes two control paths, or two attach handles, the same.

The database keeps both as JSON text that several releases and drivers wrote
in several forms, so text is never compared: the address in it is. Settings
such as ``managed`` or ``numa_node`` describe a handle, they don't name it
(specification, "Persisted state and reconciliation").
"""

import functools
import json
from typing import Any

Key = tuple[Any, ...]

#: Keys of attach info that describe a handle and never identify it.
METADATA = ('managed', 'stateful', 'numa_node')
#: Address parts in the order they are written, with the largest value of
#: each. The domain may have 32 bits (Linux gives those to Intel VMD).
_PARTS = (('domain', 0xffffffff), ('bus', 0xff), ('device', 0x1f),
          ('function', 0x7))


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


def address(info: dict[str, Any], text: str) -> tuple[int, int, int, int]:
    """(domain, bus, device, function) of parsed info.

    :raises InvalidInfo: a part is absent, no hexadecimal text, or too large.
    """
    numbers = []
    for name, largest in _PARTS:
        value = info.get(name)
        if not isinstance(value, str):
            raise InvalidInfo(text, 'no text under "%s"' % name)
        try:
            number = int(value, 16)
        except ValueError:
            number = -1
        if not 0 <= number <= largest:
            raise InvalidInfo(text, '"%s" under "%s" is no hexadecimal '
                              'number up to %x' % (value, name, largest))
        numbers.append(number)
    return tuple(numbers)


def format_address(parts: tuple[int, int, int, int]) -> str:
    """``(0, 0x3b, 0, 1)`` -> ``0000:3b:00.1``."""
    return '%04x:%02x:%02x.%x' % parts


def controlpath_key(cpid_type: str, text: str) -> Key:
    """:raises InvalidInfo: a PCI control path without a PCI address."""
    info = parse(text)
    if cpid_type == 'PCI':
        return ('PCI', address(info, text))
    return (cpid_type, json.dumps(info, sort_keys=True))


@functools.lru_cache(maxsize=16384)
def handle_key(attach_type: str, text: str) -> Key:
    """The identity of a handle within its control path and deployable.

    ``PCI`` and ``TEST_PCI`` share one name space: a driver that changes the
    attach type of an address still speaks of the same function. Several
    mediated devices may stand at one address, their type and mark tell them
    apart.

    :raises InvalidInfo: the text holds no usable address.
    """
    info = parse(text)
    where = address(info, text)
    if attach_type == 'MDEV':
        return ('MDEV', where, info.get('asked_type'), info.get('vgpu_mark'))
    return ('PCI', where)


def describe(attach_type: str, text: str) -> str:
    """A handle's address for a log line, or its text if it has none."""
    try:
        return format_address(handle_key(attach_type, text)[1])
    except InvalidInfo:
        return text

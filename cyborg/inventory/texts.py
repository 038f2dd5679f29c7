# SPDX-License-Identifier: Apache-2.0
"""Which texts of a driver each of the databases can keep.

A half of a surrogate pair (Python's way to keep a byte of sysfs that is no
UTF-8) can be encoded for none of them, NUL is refused by PostgreSQL, and
MariaDB refuses what is longer than its column, where SQLite takes it. One
device with such a text must not keep all others of its host from being
stored.
"""

from collections.abc import Iterator
import re

from cyborg.inventory import values
from cyborg.pci import printable

_UNSTORABLE = re.compile('[\0\ud800-\udfff]')
#: Characters of most columns (``String(255)``), and of ``driver_name``.
_COLUMN = 255
_DRIVER_NAME = 100
#: Bytes of a ``TEXT`` of MariaDB.
_LONG = 65535


def unstorable(device: values.DiscoveredDevice) -> str | None:
    """What is wrong with the first text of a device that cannot be kept.

    Attach info is judged with the rest of a handle, and not here.
    """
    for name, text in _columns(device):
        if len(text) > _COLUMN:
            return _too_long(name, text, _COLUMN)
    for deployable in device.deployables:
        text = deployable.driver_name or ''
        if len(text) > _DRIVER_NAME:
            return _too_long('driver_name', text, _DRIVER_NAME)
    for name, text in (*_columns(device), *_long(device)):
        found = _UNSTORABLE.search(text)
        if found:
            return '%s holds the character %s, which cannot be stored: %s' % (
                name, 'U+%04X' % ord(found[0]), printable.quoted(text))
        if len(text.encode()) > _LONG:
            return _too_long(name, text, _LONG, 'bytes')
    return None


def _columns(device: values.DiscoveredDevice) -> Iterator[tuple[str, str]]:
    yield 'vendor', device.vendor
    yield 'model', device.model
    yield 'cpid_info', device.cpid_info
    for deployable in device.deployables:
        yield 'the name of a deployable', deployable.name


def _long(device: values.DiscoveredDevice) -> Iterator[tuple[str, str]]:
    yield 'std_board_info', device.std_board_info or ''
    yield 'vendor_board_info', device.vendor_board_info or ''
    for deployable in device.deployables:
        yield 'driver_name', deployable.driver_name or ''
        for key, value in deployable.attributes:
            yield 'an attribute\'s key', key
            yield 'attribute %s' % printable.name(key), value
        for handle in deployable.handles:
            yield 'attach_info', handle.attach_info


def _too_long(name: str, text: str, most: int, unit: str = 'characters'
              ) -> str:
    return '%s is longer than the %d %s that the database keeps: %s' % (
        name, most, unit, printable.quoted(text))

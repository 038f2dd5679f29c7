# SPDX-License-Identifier: Apache-2.0
"""Mediated devices and their types, as sysfs shows them.

Source: Documentation/driver-api/vfio-mediated-device.rst of the Linux kernel.
"""

import dataclasses
import os
import re

from cyborg.pci import links

#: Of a number of mediated devices; no device has more than a few hundred.
_DIGITS = 5


class TypeUnusable(ValueError):
    """A type that a device doesn't offer, or tells nothing useful of."""


@dataclasses.dataclass(frozen=True)
class MdevType:
    """A type that a parent device offers.

    :ivar name: the vendor's name of it, ``GRID T4-1B`` for one.
    :ivar available: how many can still be created.
    :ivar created: UUIDs of those there are, whoever made them.
    """

    name: str
    available: int
    created: tuple[str, ...]


def exists(sysfs_path: str, uuid: str) -> bool:
    """Whether a mediated device with that UUID is there."""
    return os.path.exists(
        os.path.join(sysfs_path, 'bus/mdev/devices', uuid))


def leaving(sysfs_path: str, address: str, uuid: str) -> bool:
    """Whether a mediated device is being removed.

    The kernel takes it off the list first, and then waits for whoever has
    it open; until that is over it stands below its parent.
    """
    return not exists(sysfs_path, uuid) and os.path.exists(
        os.path.join(sysfs_path, 'bus/pci/devices', address, uuid))


def offered(sysfs_path: str, address: str) -> list[str]:
    """Names of the types that a device offers; none is no error."""
    return links.list_names(_types(sysfs_path, address))


def read(sysfs_path: str, address: str, kind: str) -> MdevType:
    """:raises TypeUnusable: in words for an operator."""
    if kind not in offered(sysfs_path, address):
        raise TypeUnusable('it offers no mediated devices of type %s, but: %s'
                           % (kind, ', '.join(offered(sysfs_path, address))
                              or 'none at all'))
    place = os.path.join(_types(sysfs_path, address), kind)
    number = _text(place, 'available_instances')
    if not re.fullmatch('[0-9]{1,%d}' % _DIGITS, number):
        raise TypeUnusable('available_instances of type %s holds %r'
                           % (kind, number[:40]))
    return MdevType(
        _text(place, 'name'), int(number),
        tuple(links.list_names(os.path.join(place, 'devices'))))


def _types(sysfs_path: str, address: str) -> str:
    return os.path.join(sysfs_path, 'bus/pci/devices', address,
                        'mdev_supported_types')


def _text(place: str, name: str) -> str:
    try:
        with open(os.path.join(place, name),
                  errors='backslashreplace') as file:
            return file.read().strip()
    except OSError as error:
        raise TypeUnusable('%s of type %s: %s' % (
            name, os.path.basename(place), error.strerror)) from None

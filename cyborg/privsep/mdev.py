# SPDX-License-Identifier: Apache-2.0
"""Creates and removes mediated devices, with privilege.

Source: Documentation/driver-api/vfio-mediated-device.rst of the Linux kernel.
The arguments are checked here too: what runs with privilege trusts nobody.
"""

import errno
import os
import re
import threading

from cyborg import privsep
from cyborg.pci import address as pci_address

_ADDRESS = re.compile(pci_address.EXPRESSION)
_UUID = re.compile(r'[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}')
_TYPE = re.compile(r'[A-Za-z0-9_][A-Za-z0-9_.-]*')
#: Seconds in which a device that nobody has open is removed by far.
PATIENCE = 15


@privsep.sys_admin_pctxt.entrypoint
def create(sysfs: str, address: str, asked_type: str, uuid: str) -> None:
    """Write ``uuid`` to the ``create`` file of a type of a parent device.

    :raises ValueError: an argument is no address, type or UUID.
    :raises OSError: from the kernel, for one when no instance is left.
    """
    _check(_ADDRESS, address)
    _check(_TYPE, asked_type)
    _check(_UUID, uuid)
    _write(os.path.join(sysfs, 'class/mdev_bus', address,
                        'mdev_supported_types', asked_type, 'create'), uuid)


@privsep.sys_admin_pctxt.entrypoint
def remove(sysfs: str, uuid: str) -> None:
    """Remove a mediated device.

    The write lasts as long as somebody has the device open. It is waited for
    in a thread of its own: as many calls as this process has workers would
    keep all others from their turn.

    :raises ValueError: ``uuid`` is none.
    :raises OSError: from the kernel; EBUSY while a guest uses it.
    """
    _check(_UUID, uuid)
    refused: list[Exception] = []

    def write() -> None:
        try:
            _write(os.path.join(sysfs, 'bus/mdev/devices', uuid, 'remove'),
                   '1')
        except Exception as error:  # noqa: BLE001
            refused.append(error)

    writer = threading.Thread(target=write, name='remove ' + uuid,
                              daemon=True)
    writer.start()
    writer.join(PATIENCE)
    if writer.is_alive():
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))
    if refused:
        raise refused[0]


def _check(pattern, text):
    if not pattern.fullmatch(text):
        raise ValueError('%r is not acceptable here' % text)


def _write(path: str, text: str) -> None:
    # sysfs wants all of it in one write; the file must exist.
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)

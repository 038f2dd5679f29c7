# SPDX-License-Identifier: Apache-2.0
"""Mediated devices (vGPUs) of this host.

The UUID of an attach handle is that of the mediated device it stands for.
Both functions may be called again after their answer was lost (B55).
"""

import errno
import os

from oslo_log import log as logging
from oslo_utils import uuidutils

from cyborg.common import exception
from cyborg.conf import CONF
from cyborg.pci import address as pci_address
from cyborg.pci import links
from cyborg.privsep import mdev as privileged

LOG = logging.getLogger(__name__)


def create(pci_addr: str, asked_type: str, ah_uuid: str) -> None:
    """Create mediated device ``ah_uuid`` unless it is there already.

    :raises exception.PciDeviceWrongAddressFormat: ``pci_addr`` is none.
    :raises exception.InvalidUUID: ``ah_uuid`` is none.
    :raises exception.InvalidVGPUType: the device offers no such type.
    :raises exception.MdevFailed: the kernel refuses.
    """
    address, uuid = _address(pci_addr), _uuid(ah_uuid)
    if os.path.exists(_device(uuid)):
        LOG.info('Mediated device %s exists already', uuid)
        return
    types = os.path.join(CONF.pci.sysfs_path, 'class/mdev_bus', address,
                         'mdev_supported_types')
    if asked_type not in links.list_names(types):
        raise exception.InvalidVGPUType(
            name='%s (of %s on host %s, which offers: %s)' % (
                asked_type, address, CONF.host,
                ', '.join(links.list_names(types)) or 'none'))
    try:
        privileged.create(CONF.pci.sysfs_path, address, asked_type, uuid)
    except OSError as error:
        raise _failed('create', uuid, address, error) from None
    LOG.info('Mediated device %s of type %s created on %s', uuid, asked_type,
             address)


def remove(pci_addr: str, ah_uuid: str) -> None:
    """Remove mediated device ``ah_uuid``; none is as good.

    :raises exception.InvalidUUID: ``ah_uuid`` is none.
    :raises exception.MdevFailed: the kernel refuses.
    """
    uuid = _uuid(ah_uuid)
    if not os.path.exists(_device(uuid)):
        LOG.info('Mediated device %s is gone already', uuid)
        return
    try:
        privileged.remove(CONF.pci.sysfs_path, uuid)
    except OSError as error:
        raise _failed('remove', uuid, pci_addr, error) from None
    LOG.info('Mediated device %s removed from %s', uuid, pci_addr)


def _device(uuid: str) -> str:
    return os.path.join(CONF.pci.sysfs_path, 'bus/mdev/devices', uuid)


def _address(text: str) -> str:
    try:
        return str(pci_address.PciAddress.parse(text))
    except pci_address.InvalidPciAddress:
        raise exception.PciDeviceWrongAddressFormat(address=text) from None


def _uuid(text: str) -> str:
    if not uuidutils.is_uuid_like(text):
        raise exception.InvalidUUID(uuid=text)
    return text.lower()


def _failed(action, uuid, parent, error):
    reason = error.strerror or str(error)
    if error.errno in (errno.ENOSPC, errno.EUSERS):
        reason = 'no instance of that type is left'
    elif error.errno == errno.EBUSY:
        reason = 'it is in use'
    return exception.MdevFailed(action=action, uuid=uuid, parent=parent,
                                host=CONF.host, reason=reason)

# SPDX-License-Identifier: Apache-2.0
"""Mediated devices (vGPUs) of this host.

The UUID of an attach handle is that of the mediated device it stands for.
Both functions may be called again after their answer was lost (B55).
"""

import errno
import os

from oslo_log import log as logging
from oslo_utils import uuidutils

from cyborg import privsep
from cyborg.common import constants
from cyborg.common import exception
from cyborg.conf import CONF
from cyborg.inventory import identity
from cyborg.inventory import values
from cyborg.pci import address as pci_address
from cyborg.pci import links
from cyborg.pci import mdev
from cyborg.privsep import mdev as privileged

LOG = logging.getLogger(__name__)


def create(pci_addr: str, asked_type: str, ah_uuid: str) -> None:
    """Create mediated device ``ah_uuid`` unless it is there already.

    :raises exception.PciDeviceWrongAddressFormat: ``pci_addr`` is none.
    :raises exception.AttachHandleUUIDNeeded: there is no ``ah_uuid``.
    :raises exception.InvalidUUID: it is no UUID.
    :raises exception.InvalidVGPUType: the device offers no such type.
    :raises exception.MdevFailed: the kernel refuses.
    :raises exception.PrivilegedHelperFailed: it cannot be asked.
    """
    address, uuid = _address(pci_addr), _uuid(ah_uuid)
    if mdev.exists(CONF.pci.sysfs_path, uuid):
        LOG.info('Mediated device %s exists already', uuid)
        return
    types = links.list_names(os.path.join(
        CONF.pci.sysfs_path, 'class/mdev_bus', address,
        'mdev_supported_types'))
    if asked_type not in types:
        raise exception.InvalidVGPUType(
            name='%s (of %s on host %s, which offers: %s)' % (
                asked_type, address, CONF.host, ', '.join(types) or 'none'))
    try:
        privileged.create(CONF.pci.sysfs_path, address, asked_type, uuid)
    except OSError as error:
        if error.errno == errno.EEXIST and not mdev.leaving(
                CONF.pci.sysfs_path, address, uuid):
            # A bind and a restart of the agent may meet here.
            return
        raise _failed('create', uuid, address, error) from None
    except privsep.HELPER_ERRORS as error:
        raise privsep.helper_failed(privsep.sys_admin_pctxt, error) from error
    LOG.info('Mediated device %s of type %s created on %s', uuid, asked_type,
             address)


def remove(pci_addr: str, ah_uuid: str) -> None:
    """Remove mediated device ``ah_uuid``; none is as good.

    :raises exception.InvalidUUID: ``ah_uuid`` is none.
    :raises exception.MdevFailed: the kernel refuses, or somebody still has
        it open.
    :raises exception.PrivilegedHelperFailed: the kernel cannot be asked.
    """
    uuid = _uuid(ah_uuid)
    if _leaving(pci_addr, uuid):
        raise _failed('remove', uuid, pci_addr, OSError(errno.EBUSY, ''))
    if not mdev.exists(CONF.pci.sysfs_path, uuid):
        LOG.info('Mediated device %s is gone already', uuid)
        return
    try:
        privileged.remove(CONF.pci.sysfs_path, uuid)
    except OSError as error:
        raise _failed('remove', uuid, pci_addr, error) from None
    except privsep.HELPER_ERRORS as error:
        raise privsep.helper_failed(privsep.sys_admin_pctxt, error) from error
    LOG.info('Mediated device %s removed from %s', uuid, pci_addr)


class Restorer:
    """Creates the mediated devices that guests have and the host lost.

    They outlive neither a reboot of the host nor their parent's driver, and
    a guest does not start without its own.
    """

    def __init__(self) -> None:
        # Of the last report; the host may have been rebooted before the
        # first.
        self._absent: set[tuple] | None = None
        self._told: set[str] = set()

    def look(self, persisted: values.PersistedHost) -> None:
        """Create what is absent, at the second look that finds it so.

        An unbind removes a device before the database knows of it. Nobody
        unbinds while an agent starts, and what is absent then is created at
        the first look. What can't be is tried again by each report.
        """
        absent = {(handle.uuid, handle.arq_uuids): handle
                  for handle in _allocated(persisted) if not mdev.exists(
                      CONF.pci.sysfs_path, handle.uuid.lower())}
        for key, handle in list(absent.items()):
            if (self._absent is None or key in self._absent
                    ) and self._created(handle):
                del absent[key]
        self._absent = set(absent)

    def _created(self, handle: values.PersistedHandle) -> bool:
        try:
            info = handle.info
            create(str(info.address), str(info.values.get('asked_type')),
                   handle.uuid)
        except (exception.CyborgException, identity.InvalidInfo) as error:
            reason = exception.plain_text(error)
            if reason not in self._told:
                self._told.add(reason)
                LOG.warning(
                    'Mediated device %(uuid)s of accelerator request %(arq)s '
                    'is gone and cannot be created again yet: %(reason)s', {
                        'uuid': handle.uuid, 'reason': reason,
                        'arq': ', '.join(handle.arq_uuids) or 'unknown'})
            return False
        return True


def _allocated(persisted):
    return [handle for device in persisted.devices
            for deployable in device.deployables
            for handle in deployable.handles if handle.allocated
            and handle.attach_type == constants.AH_TYPE_MDEV]


def _address(text: str) -> str:
    try:
        return str(pci_address.PciAddress.parse(text))
    except pci_address.InvalidPciAddress:
        raise exception.PciDeviceWrongAddressFormat(address=text) from None


def _leaving(pci_addr: str, uuid: str) -> bool:
    try:
        return mdev.leaving(CONF.pci.sysfs_path, _address(pci_addr), uuid)
    except exception.PciDeviceWrongAddressFormat:
        # Removal needs no address.
        return False


def _uuid(text: str | None) -> str:
    if not text:
        raise exception.AttachHandleUUIDNeeded()
    if not uuidutils.is_uuid_like(text):
        raise exception.InvalidUUID(uuid=text)
    return text.lower()


def _failed(action, uuid, parent, error):
    reason = error.strerror or str(error)
    if error.errno in (errno.ENOSPC, errno.EUSERS):
        reason = 'no instance of that type is left'
    elif error.errno == errno.EBUSY:
        reason = 'it is in use'
        if action == 'remove':
            reason += '. End the guest that has it'
    elif error.errno == errno.EEXIST:
        reason = 'it still is in use and will be removed after that'
    return exception.MdevFailed(action=action, uuid=uuid, parent=parent,
                                host=CONF.host, reason=reason)

# SPDX-License-Identifier: Apache-2.0
"""The generic SSD driver: hands out whole NVMe controllers, uncleaned.

Deprecated since 2027.1 in favour of a driver that cleans (specification,
"Unsafe-device workaround"); it loads only with the workaround.
"""

from oslo_log import log as logging

from cyborg.accelerator import exceptions
from cyborg.accelerator import safety
from cyborg.accelerator.common import records
from cyborg.accelerator.common import utils
from cyborg.accelerator.drivers import driver
from cyborg.common import constants
from cyborg.conf import CONF
from cyborg.pci import classes
from cyborg.pci import ids
from cyborg.pci import sysfs

LOG = logging.getLogger(__name__)

VENDOR_MAPS = utils.get_vendor_maps()


class SSDDriver(driver.GenericDriver):
    """Every NVMe controller of this host, or those of one vendor.

    :raises cyborg.common.exception.UnsafeDriverRefused: when made without
        ``[workarounds] allow_unsafe_devices``, whatever devices there are.
    """

    #: Vendor id that a subclass is for; None for all.
    VENDOR: str | None = None
    #: The name in ``[agent] enabled_drivers``.
    NAME = 'ssd_driver'

    def __init__(self):
        safety.require_workaround(self.NAME)
        self._announcer = safety.Announcer()
        LOG.warning(
            'The driver %s is deprecated since 2027.1: it does not clean '
            'devices between users. A driver for NVMe devices that cleans '
            'them will replace it.', self.NAME)

    @classmethod
    def create(cls, vendor: str | None = None, *args, **kwargs):
        """The driver for a vendor, by id or word; the generic one for None.

        :raises LookupError: no subclass is for that vendor.
        """
        if not vendor:
            return cls(*args, **kwargs)
        for subclass in cls.__subclasses__():
            if vendor in (subclass.VENDOR, VENDOR_MAPS.get(subclass.VENDOR)):
                return subclass(*args, **kwargs)
        raise LookupError('No SSD driver for vendor %s' % vendor)

    @classmethod
    def discover_vendors(cls) -> set[str]:
        """Vendor ids of the NVMe controllers of this host."""
        return {device.vendor_id for device in _scan().devices
                if _is_nvme(device)}

    def discover(self) -> list:
        """Each controller, in the order of addresses.

        :raises cyborg.accelerator.exceptions.HostDevicesUnreadable: sysfs
            doesn't list the devices.
        """
        host = _scan()
        for fault in host.faults:
            if self._announcer.first_time('fault', fault):
                LOG.warning('PCI device %s of host %s cannot be read and '
                            'counts as missing: %s', fault.name, CONF.host,
                            fault.reason)
        devices = [device for device in host.devices if self._wants(device)]
        names = ids.describe({(d.vendor_id, d.product_id) for d in devices})
        for device in devices:
            self._announcer.unsafe_device(
                LOG, self.NAME, str(device.address))
        former = records.for_former_release()
        return [_report(device, names[device.vendor_id, device.product_id],
                        former) for device in devices]

    def _wants(self, device: sysfs.PciDevice) -> bool:
        if not _is_nvme(device) or self.VENDOR not in (
                None, device.vendor_id):
            return False
        if device.address.addressable:
            return True
        if self._announcer.first_time('domain', device.address):
            LOG.info('PCI device %s of host %s is not offered: neither '
                     'libvirt nor Nova can address a PCI domain above ffff',
                     device.address, CONF.host)
        return False


def _scan() -> sysfs.HostPci:
    try:
        return sysfs.scan(CONF.pci.sysfs_path)
    except sysfs.SysfsUnreadable as error:
        raise exceptions.HostDevicesUnreadable(
            host=CONF.host, path=error.path, reason=error.reason) from None


def _is_nvme(device: sysfs.PciDevice) -> bool:
    return classes.subclass(device.class_code) == classes.NVM_CONTROLLER


def _report(device: sysfs.PciDevice, name: str, former: bool):
    word = VENDOR_MAPS.get(device.vendor_id, '').upper()
    traits = ['CUSTOM_SSD_PRODUCT_ID_%s' % device.product_id.upper()]
    if word or former:
        # 2026.2 wrote the bare prefix for unknown vendors.
        traits.insert(0, 'CUSTOM_SSD_%s' % word)
    return records.pci_function(
        device, kind=constants.DEVICE_SSD, model=name,
        board={'product_id': device.product_id,
               'controller': device.class_name},
        vendor_board='{"vendor_info": "ssd_vb_info"}', driver_name=word,
        resource_class=constants.SSD, traits=traits,
        handle=records.attach_info(device, stateful=True))

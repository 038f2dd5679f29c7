# SPDX-License-Identifier: Apache-2.0
"""The generic SSD driver: hands out whole NVMe controllers, uncleaned.

Deprecated since 2027.1 in favour of a driver that cleans (specification,
"Unsafe-device workaround"); it loads only with the workaround.
"""

from collections.abc import Iterable
from collections.abc import Sequence
from typing import Any

from oslo_log import log as logging

from cyborg.accelerator import safety
from cyborg.accelerator.common import records
from cyborg.accelerator.common import sysfs_driver
from cyborg.accelerator.common import utils
from cyborg.common import constants
from cyborg.objects.driver_objects import driver_device
from cyborg.pci import classes
from cyborg.pci import sysfs

LOG = logging.getLogger(__name__)

VENDOR_MAPS = utils.get_vendor_maps()


class SSDDriver(sysfs_driver.SysfsDriver):
    """Every NVMe controller of this host, or those of one vendor.

    :raises cyborg.common.exception.UnsafeDriverRefused: when made without
        ``[workarounds] allow_unsafe_devices``, whatever devices there are.
    """

    match = sysfs_driver.Match(subclasses=frozenset({classes.NVM_CONTROLLER}))
    #: Vendor id or word that a subclass is for; None for all.
    VENDOR: str | None = None
    #: The name in ``[agent] enabled_drivers``.
    NAME = 'ssd_driver'

    def __init__(self, *args, **kwargs):
        safety.require_workaround(self.NAME)
        super().__init__()
        LOG.warning(
            'The driver %s is deprecated since 2027.1: it does not clean '
            'devices between users. A driver for NVMe devices that cleans '
            'them will replace it.', self.NAME)

    @classmethod
    def create(cls, vendor: str | None = None, *args: Any, **kwargs: Any
               ) -> Any:
        """The driver for a vendor, by id or word; the generic one for None.

        :raises LookupError: no subclass is for that vendor.
        """
        if not vendor:
            return cls(*args, **kwargs)
        for subclass in cls.__subclasses__():
            if _word(vendor) == _word(subclass.VENDOR):
                return subclass(*args, **kwargs)
        raise LookupError('No SSD driver for vendor %s' % vendor)

    @classmethod
    def discover_vendors(cls) -> set[str]:
        """Vendor ids of the NVMe controllers of this host."""
        return {device.vendor_id for device in sysfs_driver.scan().devices
                if cls.match(device)}

    def grouped(self, devices: Sequence[sysfs.PciDevice]
                ) -> Iterable[Sequence[sysfs.PciDevice]]:
        for device in devices:
            if self.VENDOR is None or (
                    _word(self.VENDOR) == _word(device.vendor_id)):
                self._announcer.unsafe_device(
                    LOG, self.NAME, str(device.address))
                yield [device]

    def report(self, group: Sequence[sysfs.PciDevice]
               ) -> driver_device.DriverDevice:
        device, = group
        word = VENDOR_MAPS.get(device.vendor_id, '').upper()
        traits = ['CUSTOM_SSD_PRODUCT_ID_%s' % device.product_id.upper()]
        if word or records.for_former_release():
            # 2026.2 wrote the bare prefix for unknown vendors.
            traits.insert(0, 'CUSTOM_SSD_%s' % word)
        return records.alone(
            records.Description(
                constants.DEVICE_SSD, constants.SSD, word,
                vendor_board='{"vendor_info": "ssd_vb_info"}'),
            device, self.name(device), traits)


def _word(vendor: str | None) -> str | None:
    return VENDOR_MAPS.get(vendor, vendor)

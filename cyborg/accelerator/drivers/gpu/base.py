# SPDX-License-Identifier: Apache-2.0
"""The base class of GPU drivers, here and in other packages."""

from cyborg.accelerator.common import sysfs_driver
from cyborg.accelerator.drivers import driver

#: Upper 16 bits of the class code: VGA compatible and 3D controllers.
SUBCLASSES = frozenset({0x0300, 0x0302})
VENDOR_MAPS = {'10de': 'nvidia', '102b': 'matrox'}


class GPUDriver(driver.VendorDriver):

    VENDOR_MAPS = VENDOR_MAPS

    @classmethod
    def discover_vendors(cls) -> set[str]:
        """Vendor ids of the GPUs of this host."""
        match = sysfs_driver.Match(subclasses=SUBCLASSES)
        return {device.vendor_id for device in sysfs_driver.scan().devices
                if match(device)}

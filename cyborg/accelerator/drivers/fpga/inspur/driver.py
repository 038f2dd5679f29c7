# SPDX-License-Identifier: Apache-2.0
"""FPGA cards of Inspur, each function by itself."""

from collections.abc import Iterable
from collections.abc import Sequence

from cyborg.accelerator.common import records
from cyborg.accelerator.common import sysfs_driver
from cyborg.accelerator.drivers.fpga import base
from cyborg.common import constants
from cyborg.pci import classes
from cyborg.pci import sysfs


class InspurFPGADriver(sysfs_driver.SysfsDriver, base.FPGADriver):

    VENDOR = 'inspur'
    match = sysfs_driver.Match(
        vendor_id='1bd4', subclasses=frozenset({classes.ACCELERATOR}))
    description = records.Description(
        constants.DEVICE_FPGA, constants.FPGA, 'INSPUR',
        vendor_board='{"vendor_info": "fpga_vb_info"}')

    def grouped(self, devices: Sequence[sysfs.PciDevice]
                ) -> Iterable[Sequence[sysfs.PciDevice]]:
        return [[device] for device in self.apart(devices)]

    def traits(self, device: sysfs.PciDevice) -> list[str]:
        return ['CUSTOM_FPGA_INSPUR', 'CUSTOM_FPGA_PRODUCT_ID_%s'
                % device.product_id.upper()]

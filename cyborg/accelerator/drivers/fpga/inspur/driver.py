# SPDX-License-Identifier: Apache-2.0
"""FPGA cards of Inspur, each function by itself."""

from cyborg.accelerator.common import records
from cyborg.accelerator.common import sysfs_driver
from cyborg.accelerator.drivers.fpga import base
from cyborg.common import constants
from cyborg.pci import classes


class InspurFPGADriver(sysfs_driver.SysfsDriver, base.FPGADriver):

    VENDOR = 'inspur'
    match = sysfs_driver.Match(
        vendor_id='1bd4', subclasses=frozenset({classes.ACCELERATOR}))
    description = records.Description(
        constants.DEVICE_FPGA, constants.FPGA, 'INSPUR',
        vendor_board='{"vendor_info": "fpga_vb_info"}')

    def grouped(self, devices):
        return [[device] for device in self.apart(devices)]

    def traits(self, device):
        return ['CUSTOM_FPGA_INSPUR', 'CUSTOM_FPGA_PRODUCT_ID_%s'
                % device.product_id.upper()]

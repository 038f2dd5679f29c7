# SPDX-License-Identifier: Apache-2.0
"""The base class of NIC drivers, here and in other packages."""

from cyborg.accelerator.drivers import driver

VENDOR_MAPS = {'0x8086': 'intel'}


class NICDriver(driver.VendorDriver):

    VENDOR_MAPS = VENDOR_MAPS

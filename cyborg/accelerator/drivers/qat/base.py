# SPDX-License-Identifier: Apache-2.0
"""The base class of QAT drivers, here and in other packages."""

from cyborg.accelerator.drivers import driver

VENDOR_MAPS = {'0x8086': 'intel'}


class QATDriver(driver.VendorDriver):

    VENDOR_MAPS = VENDOR_MAPS

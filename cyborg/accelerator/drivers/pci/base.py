# SPDX-License-Identifier: Apache-2.0
"""The name under which 2026.2 had a base class of PCI drivers."""

from cyborg.accelerator.drivers import driver


class PciDriver(driver.GenericDriver):
    """For out-of-tree drivers that derive from it."""

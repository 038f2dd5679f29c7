# SPDX-License-Identifier: Apache-2.0
"""Moves a PCI function between drivers, through sysfs.

Source: Documentation/ABI/testing/sysfs-bus-pci of the Linux kernel. To write
``unbind`` of a function that a guest holds blocks for ever, so whoever calls
this has the VFIO group open, or knows that nobody has.
"""

import os

from cyborg.nvme import errors
from cyborg.nvme import facts as nvme_facts
from cyborg.nvme import port as nvme_port
from cyborg.nvme import records


def move(kernel: nvme_port.Kernel, address: str,
         wanted: records.Binding) -> None:
    """Give a function the driver and the override; nothing when it has them.

    :raises BindingNotRestored: it has others afterwards.
    :raises DiskFailed: sysfs refused.
    """
    found = nvme_facts.binding(kernel.roots, address)
    if found == wanted:
        return
    if found.driver != wanted.driver:
        # The override chooses the driver while it is probed; what is wanted
        # to stand there stands there afterwards.
        _override(kernel, address, wanted.driver)
        if found.driver is not None:
            _write(kernel, address, kernel.roots.pci(
                address, 'driver/unbind'), address)
        if wanted.driver is not None:
            _write(kernel, address, os.path.join(
                kernel.roots.sys, 'bus/pci/drivers_probe'), address)
    _override(kernel, address, wanted.override)
    found = nvme_facts.binding(kernel.roots, address)
    if found != wanted:
        raise errors.BindingNotRestored(address, wanted, found)


def _override(kernel, address: str, driver: str | None) -> None:
    # A line break alone takes the override away.
    _write(kernel, address, kernel.roots.pci(address, 'driver_override'),
           '%s\n' % (driver or ''))


def _write(kernel, address, path, text):
    try:
        kernel.write_file(path, text)
    except OSError as error:
        raise errors.DiskFailed(address, 'writing %s' % path,
                                error) from None

# SPDX-License-Identifier: Apache-2.0
"""The base class of FPGA drivers, here and in other packages."""

import os

from cyborg import privsep
from cyborg.accelerator.drivers import driver
from cyborg.common import constants
from cyborg.common import exception
from cyborg.conf import CONF
from cyborg.pci import address as pci_address
from cyborg.pci import links
from cyborg.privsep import programming

PciAddress = pci_address.PciAddress

VENDOR_MAPS = {'0x8086': 'intel', '1bd4': 'inspur'}


class FPGADriver(driver.VendorDriver):

    VENDOR_MAPS = VENDOR_MAPS

    @classmethod
    def discover_vendors(cls) -> list[str]:
        """Vendor words in the names of the kernel's FPGA class."""
        names = links.list_names(os.path.join(
            CONF.pci.sysfs_path, 'class/fpga'))
        return sorted({word for word in VENDOR_MAPS.values()
                       for name in names if word in name})


def address_of(controlpath: dict) -> PciAddress:
    """The function that a control path names.

    :param controlpath: ``cpid_type``, and ``cpid_info`` decoded.
    :raises exception.InvalidType: it is none of a PCI device.
    :raises exception.ControlPathInvalid: it holds no complete address.
    """
    kind = controlpath.get('cpid_type')
    if kind != constants.CPID_TYPE_PCI:
        raise exception.InvalidType(obj='cpid_type %s' % kind,
                                    expected=constants.CPID_TYPE_PCI)
    info = controlpath.get('cpid_info')
    try:
        return PciAddress.parse(
            '%(domain)s:%(bus)s:%(device)s.%(function)s' % info)
    except (KeyError, TypeError, pci_address.InvalidPciAddress):
        raise exception.ControlPathInvalid(
            host=CONF.host, info=info) from None


def run(*command: str) -> bool:
    """Run a vendor's tool with privilege; whether it succeeded.

    :raises exception.ProgrammingToolFailed: it can't be started.
    :raises exception.PrivilegedHelperFailed: nothing can, with privilege.
    """
    try:
        return programming.run(list(command))
    except OSError as error:
        raise exception.ProgrammingToolFailed(
            host=CONF.host, tool=command[0],
            reason=error.strerror or str(error)) from None
    except privsep.HELPER_ERRORS as error:
        raise privsep.helper_failed(privsep.sys_admin_pctxt, error) from error

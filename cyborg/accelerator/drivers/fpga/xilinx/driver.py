# SPDX-License-Identifier: Apache-2.0
"""Alveo and other accelerator cards of Xilinx (AMD).

The functions of a card, management and user, go to a guest together.
"""

from collections.abc import Iterable
from collections.abc import Sequence
import itertools

from cyborg.accelerator.common import records
from cyborg.accelerator.common import sysfs_driver
from cyborg.accelerator.drivers.fpga import base
from cyborg.common import constants
from cyborg.pci import classes
from cyborg.pci import sysfs

_TOOL = '/opt/xilinx/xrt/bin/xbmgmt'


class XilinxFPGADriver(sysfs_driver.SysfsDriver, base.FPGADriver):

    VENDOR = 'xilinx'
    match = sysfs_driver.Match(
        vendor_id='10ee', subclasses=frozenset({classes.ACCELERATOR}))
    description = records.Description(
        constants.DEVICE_FPGA, constants.FPGA, 'XILINX',
        vendor_board='{"vendor_info": "fpga_vb_info"}')

    def grouped(self, devices: Sequence[sysfs.PciDevice]
                ) -> Iterable[Sequence[sysfs.PciDevice]]:
        for _slot, group in itertools.groupby(devices, _slot_of):
            functions = list(group)
            yield self._as_allocated(functions) or functions

    def traits(self, device: sysfs.PciDevice) -> list[str]:
        return ['CUSTOM_FPGA_XILINX', 'CUSTOM_FPGA_PRODUCT_ID_%s'
                % device.product_id.upper()]

    def program(self, controlpath: dict, image_file: str) -> bool:
        """Write the base image ("shell") of a card.

        :raises cyborg.common.exception.InvalidType: no PCI control path.
        :raises cyborg.common.exception.ControlPathInvalid: no address.
        :raises cyborg.common.exception.ProgrammingToolFailed: no tool.
        """
        return base.run(_TOOL, 'program', '--device',
                        str(base.address_of(controlpath)), '--base',
                        '--image', image_file)

    def _as_allocated(self, functions: list[sysfs.PciDevice]
                      ) -> list[sysfs.PciDevice]:
        """The part of a card that 2026.2 took for the card, if allocated.

        It knew functions by a name that later lists of PCI ids gave another
        one, and then saw only the rest of the card.
        """
        for first in functions[1:]:
            stored = self.stored_device(first.address)
            if stored is not None and stored.allocated:
                had = {handle.key for each in stored.deployables
                       for handle in each.handles}
                self.warn_once(functions[0], 'the card is offered without it '
                               'as long as %s is allocated by itself'
                               % first.address)
                return [first, *(
                    each for each in functions if each is not first
                    and ('PCI', each.address) in had)]
        return []


def _slot_of(device: sysfs.PciDevice) -> tuple[int, int, int]:
    address = device.address
    return address.domain, address.bus, address.device

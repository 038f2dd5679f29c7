# SPDX-License-Identifier: Apache-2.0
"""Intel QuickAssist of the C62x chip sets: each VF, or a PF without VFs."""

from collections.abc import Sequence

from cyborg.accelerator.common import records
from cyborg.accelerator.common import sysfs_driver
from cyborg.accelerator.drivers.qat import base
from cyborg.common import constants
from cyborg.objects.driver_objects import driver_device
from cyborg.pci import sysfs


class IntelQATDriver(sysfs_driver.SysfsDriver, base.QATDriver):

    VENDOR = 'intel'
    match = sysfs_driver.Match(pairs=frozenset({('8086', '37c8')}),
                               as_written=True)
    description = records.Description(
        constants.DEVICE_QAT, constants.QAT, VENDOR, prefix='0x',
        model=records.MISSING_MODEL, controller=False, os_name=True)

    def report(self, group: Sequence[sysfs.PciDevice]
               ) -> driver_device.DriverDevice:
        pf, = group
        return records.by_vf(self.description, pf, [
            records.single(self.description, each)
            for each in self.virtual_functions(pf) or [pf]])

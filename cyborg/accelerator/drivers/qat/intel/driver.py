# SPDX-License-Identifier: Apache-2.0
"""Intel QuickAssist of the C62x chip sets: each VF, or a PF without VFs."""

from cyborg.accelerator.common import records
from cyborg.accelerator.common import sysfs_driver
from cyborg.accelerator.drivers.qat import base
from cyborg.common import constants


class IntelQATDriver(sysfs_driver.SysfsDriver, base.QATDriver):

    VENDOR = 'intel'
    match = sysfs_driver.Match(pairs=frozenset({('8086', '37c8')}),
                               as_written=True)
    description = records.Description(
        constants.DEVICE_QAT, constants.QAT, VENDOR, prefix='0x',
        model=records.MISSING_MODEL, controller=False, os_name=True)

    def report(self, group):
        pf, = group
        return records.by_vf(self.description, pf, [
            records.single(self.description, each)
            for each in self.virtual_functions(pf) or [pf]])

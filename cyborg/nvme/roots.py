# SPDX-License-Identifier: Apache-2.0
"""Where the files of a host are that tell of its disks."""

import dataclasses
import os


@dataclasses.dataclass(frozen=True)
class Roots:
    """The usual places; tests and containers have them elsewhere."""

    sys: str = '/sys'
    proc: str = '/proc'
    dev: str = '/dev'

    def pci(self, address: str, *names: str) -> str:
        return os.path.join(self.sys, 'bus/pci/devices', address, *names)

# SPDX-License-Identifier: Apache-2.0
"""cyborg-cleaner: erases the NVMe disks that Nova hands out between users."""

import sys

from cyborg.cleaner import service as cleaner_service
from cyborg.cmd import services
from cyborg.conf import CONF
from cyborg.privsep import nvme as privsep_nvme


def main(argv: list[str] | None = None) -> int:
    """Run a cleaner; see :func:`services.main`."""
    return services.main(
        cleaner_service.NAME, lambda: cleaner_service.CleanerService(
            cleaner_service.build(CONF, privsep_nvme.Host(
                CONF.pci.sysfs_path))), argv)


if __name__ == '__main__':
    sys.exit(main())

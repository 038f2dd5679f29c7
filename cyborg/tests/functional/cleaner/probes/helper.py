# SPDX-License-Identifier: Apache-2.0
"""privsep-helper on a host whose disks are simulated.

``helper.py WORLD ARGUMENTS`` for ``[cyborg_nvme] helper_command``: only the
system calls are others; process, socket, capabilities and checks are those
of the service.
"""

import sys

from oslo_privsep import daemon

from cyborg.nvme import linux
from cyborg.nvme.simulate import world as sim_world


def main() -> None:
    place = sys.argv.pop(1)
    linux.Kernel = lambda: sim_world.World(place).kernel()
    daemon.helper_main()


if __name__ == '__main__':
    main()

# SPDX-License-Identifier: Apache-2.0
"""cyborg-conductor: keeps database and Placement, binds devices."""

import sys

from cyborg.cmd import services
from cyborg.conductor import service as conductor_service


def main(argv: list[str] | None = None) -> int:
    """Run a conductor; see :func:`services.main`."""
    return services.main(conductor_service.NAME,
                         conductor_service.ConductorService, argv)


if __name__ == '__main__':
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""cyborg-cleaner-listener: hears Nova and reserves disks at once."""

import sys

from cyborg.cleaner import service as cleaner_service
from cyborg.cmd import services


def main(argv: list[str] | None = None) -> int:
    """Run a listener; see :func:`services.main`."""
    return services.main(cleaner_service.LISTENER,
                         cleaner_service.ListenerService, argv)


if __name__ == '__main__':
    sys.exit(main())

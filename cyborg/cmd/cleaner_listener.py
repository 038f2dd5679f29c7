# SPDX-License-Identifier: Apache-2.0
"""cyborg-cleaner-listener: hears Nova and reserves disks at once."""

import sys

from oslo_config import cfg

from cyborg.cleaner import service as cleaner_service
from cyborg.common import config
from cyborg.common import exception
from cyborg.common import rpc
from cyborg.common import service


def main(argv: list[str] | None = None) -> int:
    """Listen until a signal ends it.

    :returns: exit status: 0 after SIGTERM or SIGINT, 1 when it cannot start.
    """
    try:
        config.prepare(sys.argv if argv is None else argv)
        rpc.init()
        running = cleaner_service.ListenerService()
    except (cfg.Error, exception.CyborgException) as error:
        print('%s cannot start: %s' % (
            cleaner_service.LISTENER, exception.plain_text(error)),
            file=sys.stderr)
        return 1
    return service.run(running)


if __name__ == '__main__':
    sys.exit(main())

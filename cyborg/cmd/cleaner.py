# SPDX-License-Identifier: Apache-2.0
"""cyborg-cleaner: erases the NVMe disks that Nova hands out between users."""

import sys

from oslo_config import cfg

from cyborg.cleaner import service as cleaner_service
from cyborg.common import config
from cyborg.common import exception
from cyborg.common import rpc
from cyborg.common import service
from cyborg.conf import CONF
from cyborg.privsep import nvme as privsep_nvme


def main(argv: list[str] | None = None) -> int:
    """Run a cleaner until a signal ends it.

    :returns: exit status: 0 after SIGTERM or SIGINT, 1 when it cannot start.
    """
    try:
        config.prepare(sys.argv if argv is None else argv)
        rpc.init()
        running = cleaner_service.CleanerService(
            cleaner_service.build(CONF, privsep_nvme.Host()))
    except (cfg.Error, exception.CyborgException) as error:
        print('%s cannot start: %s' % (
            cleaner_service.NAME, exception.plain_text(error)),
            file=sys.stderr)
        return 1
    return service.run(running)


if __name__ == '__main__':
    sys.exit(main())

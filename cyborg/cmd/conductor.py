# SPDX-License-Identifier: Apache-2.0
"""cyborg-conductor: keeps database and Placement, binds devices."""

import sys

from oslo_config import cfg

from cyborg.common import config
from cyborg.common import exception
from cyborg.common import rpc
from cyborg.common import service
from cyborg.conductor import service as conductor_service


def main(argv: list[str] | None = None) -> int:
    """Run a conductor until a signal ends it.

    :returns: exit status: 0 after SIGTERM or SIGINT, 1 when it cannot start.
    """
    try:
        config.prepare(sys.argv if argv is None else argv)
        rpc.init()
        conductor = conductor_service.ConductorService()
    except (cfg.Error, exception.CyborgException) as error:
        print('%s cannot start: %s' % (
            conductor_service.NAME, exception.plain_text(error)),
            file=sys.stderr)
        return 1
    return service.run(conductor)


if __name__ == '__main__':
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""What the commands of long-running services have in common."""

from collections.abc import Callable
import sys

from oslo_config import cfg

from cyborg.common import config
from cyborg.common import exception
from cyborg.common import rpc
from cyborg.common import service


def main(name: str, make: Callable[[], service.RPCService],
         argv: list[str] | None = None) -> int:
    """Run a service until a signal ends it.

    :param name: of the service, for the message of a refused start.
    :param make: makes it, once configuration and messaging are ready.
    :returns: exit status: 0 after SIGTERM or SIGINT, 1 when it cannot start.
    """
    try:
        config.prepare(sys.argv if argv is None else argv)
        rpc.init()
        running = make()
    except (cfg.Error, exception.CyborgException) as error:
        print('%s cannot start: %s' % (name, exception.plain_text(error)),
              file=sys.stderr)
        return 1
    return service.run(running)

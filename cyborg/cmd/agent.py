# SPDX-License-Identifier: Apache-2.0
"""cyborg-agent: reports the devices of a compute host."""

import sys

from oslo_config import cfg

from cyborg.agent import service as agent_service
from cyborg.common import config
from cyborg.common import exception
from cyborg.common import rpc
from cyborg.common import service
from cyborg.objects import base as objects_base
from cyborg.rpcapi import conductor as conductor_rpcapi


def main(argv: list[str] | None = None) -> int:
    """Run an agent until a signal ends it.

    :returns: exit status: 0 after SIGTERM or SIGINT, 1 when it cannot start.
    """
    try:
        config.prepare(sys.argv if argv is None else argv)
        rpc.init()
        # An agent never opens a database: what its objects cannot send to a
        # conductor is refused (BASE-4).
        objects_base.enable(conductor_rpcapi.IndirectionAPI())
        agent = agent_service.AgentService()
    except (cfg.Error, exception.CyborgException) as error:
        print('%s cannot start: %s' % (
            agent_service.NAME, exception.plain_text(error)), file=sys.stderr)
        return 1
    return service.run(agent)


if __name__ == '__main__':
    sys.exit(main())

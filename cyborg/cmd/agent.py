# SPDX-License-Identifier: Apache-2.0
"""cyborg-agent: reports the devices of a compute host."""

import sys

from cyborg.agent import service as agent_service
from cyborg.cmd import services
from cyborg.objects import base as objects_base
from cyborg.rpcapi import conductor as conductor_rpcapi


def main(argv: list[str] | None = None) -> int:
    """Run an agent; see :func:`services.main`."""
    return services.main(agent_service.NAME, _agent, argv)


def _agent() -> agent_service.AgentService:
    # An agent never opens a database: what its objects cannot send to a
    # conductor is refused (BASE-4).
    objects_base.enable(conductor_rpcapi.IndirectionAPI())
    return agent_service.AgentService()


if __name__ == '__main__':
    sys.exit(main())

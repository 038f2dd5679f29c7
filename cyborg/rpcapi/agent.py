# SPDX-License-Identifier: Apache-2.0
"""How other processes call the agent of a host.

===== =====================================================================
1.0   what the 2026.2 release knows
===== =====================================================================
"""

import functools
from typing import Any

import oslo_messaging as messaging

from cyborg.common import constants
from cyborg.common import context as cyborg_context
from cyborg.common import exception
from cyborg.common import rpc
from cyborg.objects import base as objects_base

#: Release names usable as ``[upgrade_levels] agent``.
VERSION_ALIASES = {
    '2026.1': '1.0',
    '2026.2': '1.0',
    '2027.1': '1.0',
}


class AgentAPI:
    """Client of the agents' topic, one host a call.

    ``hostname`` is the host name of the device's row, under which the agent
    reported it; it arrives when the agent's ``[DEFAULT] host`` is the same.

    Every call raises what the agent raised, or AgentUnreachable. The agent
    does nothing of it once nobody waits (``cyborg.common.deadline``).

    :raises exception.UpgradeLevelInvalid: ``[upgrade_levels] agent`` is no
        usable cap.
    """

    RPC_API_VERSION = '1.0'

    def __init__(self, topic: str | None = None):
        self.topic = topic or constants.AGENT_TOPIC
        self.version_cap = rpc.version_cap(
            'agent', self.RPC_API_VERSION, VERSION_ALIASES)

    @functools.cached_property
    def client(self) -> messaging.RPCClient:
        target = messaging.Target(topic=self.topic, version='1.0')
        return rpc.get_client(
            target, version_cap=self.version_cap,
            serializer=objects_base.CyborgObjectSerializer())

    def _call(self, context, hostname: str, method: str,
              timeout: float | None = None, **kwargs):
        options = {} if timeout is None else {'timeout': timeout}
        client = self.client.prepare(server=hostname, version='1.0',
                                     **options)
        waiting = rpc.waited_for(context, timeout)
        try:
            return client.call(waiting, method, **kwargs)
        except (messaging.MessagingTimeout,
                messaging.MessageDeliveryFailure) as error:
            raise exception.AgentUnreachable(
                host=hostname, reason=exception.plain_text(error)) from error

    def fpga_program(self, context: cyborg_context.RequestContext,
                     hostname: str, controlpath_id: dict, bitstream_uuid: str,
                     driver_name: str, timeout: float | None = None) -> Any:
        """Write a bitstream into an FPGA.

        :param controlpath_id: a control path row as a dict, its
            ``cpid_info`` decoded.
        :returns: what the driver answered; a true value means success.
        """
        return self._call(
            context, hostname, 'fpga_program', timeout=timeout,
            controlpath_id=controlpath_id, bitstream_uuid=bitstream_uuid,
            driver_name=driver_name)

    def create_vgpu_mdev(self, context: cyborg_context.RequestContext,
                         hostname: str, pci_addr: str, asked_type: str,
                         ah_uuid: str, timeout: float | None = None) -> None:
        """Create the mediated device ``ah_uuid`` on ``pci_addr``."""
        self._call(context, hostname, 'create_vgpu_mdev', timeout=timeout,
                   pci_addr=pci_addr, asked_type=asked_type, ah_uuid=ah_uuid)

    def remove_vgpu_mdev(self, context: cyborg_context.RequestContext,
                         hostname: str, pci_addr: str, asked_type: str,
                         ah_uuid: str, timeout: float | None = None) -> None:
        """Remove the mediated device ``ah_uuid`` from ``pci_addr``."""
        self._call(context, hostname, 'remove_vgpu_mdev', timeout=timeout,
                   pci_addr=pci_addr, asked_type=asked_type, ah_uuid=ah_uuid)

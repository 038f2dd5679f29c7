# SPDX-License-Identifier: Apache-2.0
"""What other services may ask of an agent, one line a method."""

from collections.abc import Sequence
from typing import Any

import oslo_messaging as messaging

from cyborg.agent import loading
from cyborg.agent import mdev
from cyborg.agent import programming
from cyborg.common import context as cyborg_context
from cyborg.common import deadline


class AgentManager:
    """RPC endpoint; every public method is callable from the network.

    :raises exception.CallTooLate: by every method, for a call that nobody
        waits for; nothing was done.
    """

    target = messaging.Target(version='1.0')

    def __init__(self, drivers: Sequence[loading.LoadedDriver]):
        self._drivers = drivers

    @deadline.in_time
    def fpga_program(self, context: cyborg_context.RequestContext,
                     controlpath_id: dict, bitstream_uuid: str,
                     driver_name: str) -> Any:
        """Program an FPGA with an image; returns what the driver says.

        :raises exception.DriverCannotProgram: no enabled driver does that.
        :raises exception.CyborgException: the image can't be had.
        """
        return programming.program(self._drivers, context, controlpath_id,
                                   bitstream_uuid, driver_name)

    @deadline.in_time
    def create_vgpu_mdev(self, context: cyborg_context.RequestContext,
                         pci_addr: str, asked_type: str, ah_uuid: str) -> None:
        """See :func:`cyborg.agent.mdev.create`."""
        mdev.create(pci_addr, asked_type, ah_uuid)

    @deadline.in_time
    def remove_vgpu_mdev(self, context: cyborg_context.RequestContext,
                         pci_addr: str, asked_type: str, ah_uuid: str) -> None:
        """See :func:`cyborg.agent.mdev.remove`."""
        mdev.remove(pci_addr, ah_uuid)

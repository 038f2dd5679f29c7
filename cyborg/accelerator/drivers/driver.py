# SPDX-License-Identifier: Apache-2.0
"""The base class of accelerator drivers.

A driver is made without arguments from its entry point in the group
``cyborg.accelerator.driver``. The agent calls ``init_host()`` once, then
``discover()`` at every report.
"""

import abc

from cyborg.pci import held as pci_held


class GenericDriver(abc.ABC):
    """What the agent asks of a driver; only ``discover()`` is required."""

    def init_host(self) -> None:  # noqa: B027 (optional)
        """Check this host's configuration before the first discovery.

        A ``cyborg.common.exception.ConfigInvalid`` stops the agent with its
        text. No message may be sent from here.
        """

    def hold(self, held: pci_held.Holdings) -> None:  # noqa: B027 (optional)
        """Learn which functions of this host are allocated, and how.

        Called before each :meth:`discover` by an agent that can ask a
        conductor. A driver that chooses by what a guest changes when it gets
        a device, or that knows both PFs and VFs, goes on offering what is
        allocated; ``cyborg.pci.families.withheld`` tells which functions
        must not be offered beside it.

        :param held: by address, of whatever driver, present or not.
        """

    def cleanup(self, device) -> None:  # noqa: B027 (optional)
        """Kept for drivers of earlier releases: nothing calls it.

        No device is cleaned between two users because a driver has it.
        """

    @abc.abstractmethod
    def discover(self) -> list:
        """Look for devices now.

        :returns: one ``DriverDevice`` for each device, all of them: a device
            that is not in the list counts as missing. A device that can't be
            read is left out.
        :raises Exception: nothing is reported this time, and no conclusion
            is drawn about any device.
        """

    def program(self, controlpath, image_file) -> bool:
        """Load an image (a path on this host) into an FPGA.

        :param controlpath: the control path of the device.
        """
        raise NotImplementedError

    def update(self, control_path, image_path):
        """Update firmware or a shell image of a device."""
        raise NotImplementedError

    def get_stats(self) -> dict:
        """Figures about the driver's devices; none by default."""
        return {}

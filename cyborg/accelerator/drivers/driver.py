# SPDX-License-Identifier: Apache-2.0
"""The base class of accelerator drivers.

A driver is made without arguments from its entry point in the group
``cyborg.accelerator.driver``. The agent calls ``init_host()`` once, then
``discover()`` at every report.
"""

import abc
from typing import Any

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

    def cleanup(self, device: Any) -> None:  # noqa: B027 (optional)
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

    def program(self, controlpath: Any, image_file: Any) -> bool:
        """Load an image (a path on this host) into an FPGA.

        :param controlpath: the control path of the device.
        """
        raise NotImplementedError

    def update(self, control_path: Any, image_path: Any) -> Any:
        """Update firmware or a shell image of a device."""
        raise NotImplementedError

    def get_stats(self) -> dict:
        """Figures about the driver's devices; none by default."""
        return {}


class VendorDriver(GenericDriver):
    """The common part of the base classes that 2026.2 had for a kind each."""

    #: Word that stands for the vendor: ``driver_name`` of its deployables,
    #: in any letter case, is looked up by it.
    VENDOR: str | None = None
    #: Vendor id, as devices report it -> word.
    VENDOR_MAPS: dict[str, str] = {}

    def __init__(self, *args, **kwargs):
        """Drivers of 2026.2 pass on whatever they got."""
        super().__init__()

    @classmethod
    def create(cls, vendor: str, *args: Any, **kwargs: Any) -> Any:
        """The driver of a vendor.

        :param vendor: its id or word.
        :raises LookupError: no subclass is for that vendor.
        """
        word = cls.VENDOR_MAPS.get(vendor, vendor)
        for subclass in cls.__subclasses__():
            if subclass.VENDOR == word:
                return subclass(*args, **kwargs)
        raise LookupError('No %s for vendor %s' % (cls.__name__, vendor))

    @classmethod
    def discover_vendors(cls) -> Any:
        raise NotImplementedError

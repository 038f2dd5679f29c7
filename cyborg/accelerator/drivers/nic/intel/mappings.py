# SPDX-License-Identifier: Apache-2.0
"""The options of ``[x710_static]``, read and checked."""

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import re

from oslo_config import cfg
from oslo_log import log as logging

from cyborg.accelerator.common import utils
from cyborg.common import exception
from cyborg.conf import devices
from cyborg.pci import address as pci_address

LOG = logging.getLogger(__name__)

PciAddress = pci_address.PciAddress

GROUP = devices.X710_GROUP.name


@dataclasses.dataclass(frozen=True)
class Mappings:
    """What interfaces stand for, and what is offered.

    :ivar networks: physical network -> interfaces, in the order given.
    :ivar functions: function of the firmware -> interfaces, likewise.
    :ivar addresses: empty for everything.
    """

    networks: Mapping[str, Collection[str]] = dataclasses.field(
        default_factory=dict)
    functions: Mapping[str, Collection[str]] = dataclasses.field(
        default_factory=dict)
    addresses: frozenset[PciAddress] = frozenset()

    def network(self, interfaces: Collection[str]) -> str | None:
        """The first that has any of the interfaces."""
        return _first(self.networks, interfaces)

    def function(self, interfaces: Collection[str]) -> str | None:
        return _first(self.functions, interfaces)

    def offers(self, address: PciAddress, pf: PciAddress) -> bool:
        """Whether a function is offered; ``pf`` is it, or has it."""
        return not self.addresses or bool(
            self.addresses.intersection((address, pf)))


def load(conf: cfg.ConfigOpts) -> Mappings:
    """:raises exception.DriverOptionInvalid: names group and entry.
    :raises exception.DriverAddressInvalid: likewise.
    """
    options = conf[GROUP]
    kinds = conf.nic_devices.enabled_nic_types
    for kind in kinds:
        if kind != GROUP:
            LOG.warning('[nic_devices] enabled_nic_types of host %s has %s, '
                        'which has no effect: %s is the one there is',
                        conf.host, kind, GROUP)
    if GROUP not in kinds:
        if any(options[name] for name in options):
            LOG.warning('[%s] of host %s has no effect, since [nic_devices] '
                        'enabled_nic_types does not name it', GROUP,
                        conf.host)
        return Mappings()
    return Mappings(_mapping(conf, 'physical_device_mappings'),
                    _mapping(conf, 'function_device_mappings'),
                    _addresses(conf))


def trait(name: str) -> str:
    """``physnet1`` -> ``CUSTOM_PHYSNET1``, in letters Placement takes."""
    return 'CUSTOM_' + re.sub('[^A-Z0-9_]', '_', name.upper())


def _first(mapping, interfaces) -> str | None:
    return next((name for name, mapped in mapping.items()
                 if set(mapped).intersection(interfaces)), None)


def _mapping(conf, option: str) -> dict[str, set[str]]:
    try:
        return utils.parse_mappings(conf[GROUP][option])
    except ValueError as error:
        raise exception.DriverOptionInvalid(
            group=GROUP, option=option, host=conf.host,
            reason='%s. Each entry is NAME:INTERFACE|INTERFACE, for example '
            'physnet1:ens1f0|ens1f1' % error) from None


def _addresses(conf) -> frozenset[PciAddress]:
    try:
        return frozenset(PciAddress.parse(entry)
                         for entry in conf[GROUP].device_addresses)
    except pci_address.InvalidPciAddress as error:
        raise exception.DriverAddressInvalid(
            group=GROUP, option='device_addresses', host=conf.host,
            reason=str(error)) from None

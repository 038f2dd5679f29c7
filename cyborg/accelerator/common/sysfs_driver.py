# SPDX-License-Identifier: Apache-2.0
"""What the drivers that find their devices in sysfs have in common.

A driver says which functions it recognises and what it makes of them; one
bad device never ends a report. What the database has of the host is known to
a driver where conductors can be asked: a guest that has a device hides facts
of it, and a changed option must not change a device that is allocated.
"""

from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
import os

from oslo_log import log as logging

from cyborg.accelerator import exceptions
from cyborg.accelerator import safety
from cyborg.accelerator.common import records
from cyborg.accelerator.drivers import driver
from cyborg.conf import CONF
from cyborg.inventory import values
from cyborg.objects.driver_objects import driver_device
from cyborg.pci import address as pci_address
from cyborg.pci import families
from cyborg.pci import held
from cyborg.pci import ids
from cyborg.pci import links
from cyborg.pci import sysfs

LOG = logging.getLogger(__name__)

PciAddress = pci_address.PciAddress


class LeftOut(Exception):
    """A device that can't be reported now; the text says why."""


def scan() -> sysfs.HostPci:
    """The functions of this host.

    :raises exceptions.HostDevicesUnreadable: they can't be listed.
    """
    try:
        return sysfs.scan(CONF.pci.sysfs_path)
    except sysfs.SysfsUnreadable as error:
        raise exceptions.HostDevicesUnreadable(
            host=CONF.host, path=error.path, reason=error.reason) from None


@dataclasses.dataclass(frozen=True)
class Match:
    """What a driver recognises functions by.

    :ivar pairs: vendor and product ids; empty for any.
    :ivar vendor_id: None for any.
    :ivar subclasses: upper 16 bits of the class code; empty for any.
    :ivar as_written: an id counts in lower case only, as the kernel writes
        it: 2026.2 compared the text of the files.
    """

    pairs: frozenset[tuple[str, str]] = frozenset()
    vendor_id: str | None = None
    subclasses: frozenset[int] = frozenset()
    as_written: bool = False

    def __call__(self, device: sysfs.PciDevice) -> bool:
        if self.pairs and (device.vendor_id,
                           device.product_id) not in self.pairs:
            return False
        if self.vendor_id not in (None, device.vendor_id):
            return False
        if self.subclasses and device.class_code >> 8 not in self.subclasses:
            return False
        return not self.as_written or read(device, 'device') in (
            None, '0x' + device.product_id)


def place(device: sysfs.PciDevice, *parts: str) -> str:
    """Path of a file or directory of a device."""
    return os.path.join(CONF.pci.sysfs_path, 'bus/pci/devices',
                        str(device.address), *parts)


def read(device: sysfs.PciDevice, *parts: str) -> str | None:
    """Text of a file of a device without its line break; None: none."""
    try:
        with open(place(device, *parts), errors='backslashreplace') as file:
            return file.read().strip()
    except OSError:
        return None


class SysfsDriver(driver.GenericDriver):
    """Reports what :attr:`match` recognises, a device each by default."""

    match: Match
    description: records.Description

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.stored: values.PersistedHost | None = None
        self._held: held.Holdings | None = None
        self._families = safety.Standing()
        self._parents: dict[PciAddress, PciAddress] = {}
        self.functions: dict[PciAddress, sysfs.PciDevice] = {}
        self._announcer = safety.Announcer()
        self._bad: dict[str, str] = {}
        self._names: dict[tuple[str, str], str] = {}

    def hold(self, allocated: held.Holdings) -> None:
        """See :meth:`cyborg.accelerator.drivers.driver.GenericDriver.hold`.
        """
        self._held = allocated

    def recall(self, stored: values.PersistedHost) -> None:
        """Learn what the database has of this host.

        Called before each :meth:`discover` by an agent that can ask a
        conductor.
        """
        self.stored = stored

    def discover(self) -> list:
        """The devices, in the order of addresses.

        :raises exceptions.HostDevicesUnreadable: sysfs doesn't list any.
        """
        host = scan()
        self.functions = {each.address: each for each in host.devices}
        bad = {fault.name: 'cannot be read and counts as missing: %s'
               % fault.reason for fault in host.faults}
        found = []
        matching = [each for each in host.devices if self.match(each)]
        for group in self.grouped([each for each in matching
                                   if self._addressable(each)]):
            try:
                found.append(self.report(group))
            except LeftOut as error:
                bad[str(group[0].address)] = (
                    'is left out and counts as missing: %s' % error)
        self._tell_bad(bad)
        return found

    def grouped(self, devices: Sequence[sysfs.PciDevice]
                ) -> Iterable[Sequence[sysfs.PciDevice]]:
        """Functions that make one device each; all alone by default."""
        return [[device] for device in devices]

    def report(self, group: Sequence[sysfs.PciDevice]
               ) -> driver_device.DriverDevice:
        """The ``DriverDevice`` of a group.

        :raises LeftOut: there is something wrong with it.
        """
        return records.by_slot(self.description, group, self.name(group[0]),
                               self.traits(group[0]))

    def traits(self, device: sysfs.PciDevice) -> list[str]:
        return []

    # What subclasses ask

    def name(self, device: sysfs.PciDevice) -> str:
        """Vendor and device name, from the host's list."""
        pair = device.vendor_id, device.product_id
        if pair not in self._names:
            self._names |= ids.describe({pair})
        return self._names[pair]

    def virtual_functions(self, pf: sysfs.PciDevice
                          ) -> list[sysfs.PciDevice]:
        """Present VFs of a PF.

        :raises LeftOut: there are some, and none can be read.
        """
        found = [self.functions[address] for address in pf.virtfns
                 if address in self.functions and address.addressable]
        absent = [name for name in links.list_names(place(pf))
                  if name.startswith('virtfn')
                  and not os.path.exists(place(pf, name))]
        if absent and not found:
            # A PF is not handed out beside VFs, nor while they go.
            raise LeftOut('its virtual functions (%s) cannot be read'
                          % ', '.join(absent))
        for name in absent:
            self.warn_once(pf, 'a virtual function of it is left out: %s '
                           'leads to nothing' % name)
        return found

    def apart(self, devices: Sequence[sysfs.PciDevice]
              ) -> list[sysfs.PciDevice]:
        """Devices of which none is a PF of another, or the VF of one (ID-3).

        Where nobody tells what is allocated, all stay as in 2026.2.
        """
        given = self._held or {}
        # A VF that is being removed has lost the link; what it was stays.
        self._parents = {
            address: parent for address, parent in self._parents.items()
            if address in given} | {
                address: each.parent for address, each in given.items()
                if each.parent is not None} | {
                    each.address: each.physfn for each in devices
                    if each.physfn is not None}
        withheld = families.withheld(
            [each.address for each in devices], self._parents, given)
        begun = self._families.begun(
            (address, each.why) for address, each in withheld.items())
        for address, _why in sorted(begun, key=str):
            LOG.warning('PCI device %s of host %s is %s: %s', address,
                        CONF.host, 'offered, but' if self._held is None
                        else 'not offered', families.reason(
                            withheld[address]))
        return list(devices) if self._held is None else [
            each for each in devices if each.address not in withheld]

    def stored_device(self, address: PciAddress
                      ) -> values.PersistedDevice | None:
        """What the database has of the device with that control path."""
        key = ('PCI', address)
        return next((device for device in (
            self.stored.devices if self.stored else ())
            if device.key == key), None)

    def stored_deployable(self, device: sysfs.PciDevice, name: str
                          ) -> values.PersistedDeployable | None:
        stored = self.stored_device(device.address)
        return next((each for each in (stored.deployables if stored else ())
                     if each.name == name), None)

    def warn_once(self, device: sysfs.PciDevice, text: str) -> None:
        if self._announcer.first_time(device.address, text):
            LOG.warning('PCI device %s of host %s: %s', device.address,
                        CONF.host, text)

    def _addressable(self, device: sysfs.PciDevice) -> bool:
        if device.address.addressable:
            return True
        if self._announcer.first_time('domain', device.address):
            LOG.info('PCI device %s of host %s is not offered: neither '
                     'libvirt nor Nova can address a PCI domain above ffff',
                     device.address, CONF.host)
        return False

    def _tell_bad(self, bad: dict[str, str]) -> None:
        """One line when it begins, one when it is over."""
        for name, reason in bad.items():
            if self._bad.get(name) != reason:
                LOG.warning('PCI device %s of host %s %s', name, CONF.host,
                            reason)
        for name in self._bad.keys() - bad.keys():
            LOG.info('PCI device %s of host %s is readable again, or gone '
                     'altogether', name, CONF.host)
        self._bad = bad

# SPDX-License-Identifier: Apache-2.0
"""Intel X710 and XXV710 cards: each VF, or a PF without VFs."""

from collections.abc import Iterable
from collections.abc import Sequence

from cyborg.accelerator.common import records
from cyborg.accelerator.common import sysfs_driver
from cyborg.accelerator.drivers.nic import base
from cyborg.accelerator.drivers.nic.intel import mappings
from cyborg.common import constants
from cyborg.conf import CONF
from cyborg.inventory import identity
from cyborg.objects.driver_objects import driver_device
from cyborg.pci import sysfs


class IntelNICDriver(sysfs_driver.SysfsDriver, base.NICDriver):

    VENDOR = 'intel'
    match = sysfs_driver.Match(pairs=frozenset({
        ('8086', '158a'), ('8086', '158b'), ('8086', '1572')}),
        as_written=True)
    description = records.Description(
        constants.DEVICE_NIC, constants.NIC, VENDOR, prefix='0x',
        model=records.MISSING_MODEL, controller=False, os_name=True)

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._loaded: mappings.Mappings | None = None

    def init_host(self) -> None:
        """:raises cyborg.common.exception.DriverOptionInvalid: see there."""
        self._mappings()

    def grouped(self, devices: Sequence[sysfs.PciDevice]
                ) -> Iterable[Sequence[sysfs.PciDevice]]:
        for pf in devices:
            group = [pf, *(self.functions[address] for address in pf.virtfns
                           if address in self.functions)]
            if any(self._mappings().offers(each.address, pf.address)
                   for each in group):
                yield [pf]

    def report(self, group: Sequence[sysfs.PciDevice]
               ) -> driver_device.DriverDevice:
        pf, = group
        functions = [each for each in self.virtual_functions(pf) or [pf]
                     if self._mappings().offers(each.address, pf.address)]
        return records.by_vf(self.description, pf, [
            self._deployable(pf, each) for each in functions])

    def _deployable(self, pf: sysfs.PciDevice, function: sysfs.PciDevice):
        """:raises LeftOut: nothing tells what the function is mapped to."""
        first = 'CUSTOM_PF' if function is pf else 'CUSTOM_VF'
        if not pf.net_names:
            return self._as_stored(pf, function)
        network = self._mappings().network(pf.net_names)
        role = self._mappings().function(pf.net_names)
        return records.single(self.description, function, [
            first, *[mappings.trait(name) for name in (role, network)
                     if name is not None]], network)

    def _as_stored(self, pf: sysfs.PciDevice, function: sysfs.PciDevice):
        """A guest took the interface along; what it stood for is stored."""
        name = self.description.deployable_name(function)
        stored = self.stored_deployable(pf, name)
        if stored is None or not stored.handles:
            raise sysfs_driver.LeftOut(
                'it has no network interface (bound to %s), so nothing tells '
                'its physical network' % (pf.driver or 'no driver'))
        try:
            network = stored.handles[0].info.values.get(
                'physical_network')
        except identity.InvalidInfo as error:
            raise sysfs_driver.LeftOut('%s' % error) from None
        return records.deployable(
            name, self.description.driver_name,
            [records.attach_handle(records.attach_info(
                function, physical_network=network))],
            [(each.key, each.value) for each in stored.attributes])

    def _mappings(self) -> mappings.Mappings:
        if self._loaded is None:
            self._loaded = mappings.load(CONF)
        return self._loaded

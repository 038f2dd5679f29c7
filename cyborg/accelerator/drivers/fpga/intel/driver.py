# SPDX-License-Identifier: Apache-2.0
"""Intel's PAC with Arria 10, on hosts with Intel's own kernel driver.

Deprecated since 2027.1: that driver (sysfs class ``fpga``) is not part of
Linux, and Linux's own has another layout.
"""

from collections.abc import Sequence
import os

from oslo_log import log as logging

from cyborg.accelerator.common import records
from cyborg.accelerator.common import sysfs_driver
from cyborg.accelerator.drivers.fpga import base
from cyborg.common import constants
from cyborg.conf import CONF
from cyborg.objects.driver_objects import driver_device
from cyborg.pci import links
from cyborg.pci import sysfs

LOG = logging.getLogger(__name__)

_TOOL = '/usr/bin/fpgaconf'
_PRODUCTS = {('8086', '09c4'): 'PAC_ARRIA10'}
_FUNCTION = constants.FPGA_FUNCTION_ID + '_INTEL_'
_REGION = 'CUSTOM_FPGA_REGION_INTEL_'


class IntelFPGADriver(sysfs_driver.SysfsDriver, base.FPGADriver):

    VENDOR = 'intel'
    description = records.Description(
        constants.DEVICE_FPGA, constants.FPGA, VENDOR, prefix='0x',
        model=records.MISSING_MODEL, controller=False, os_name=True)

    def init_host(self) -> None:
        LOG.warning(
            'The driver intel_fpga_driver is deprecated since 2027.1: it '
            "needs Intel's own kernel driver, which is not part of Linux. "
            'Use pci_driver for cards on other hosts.')

    def match(self, device: sysfs.PciDevice) -> bool:
        """PFs alone; unknown ones of the kernel's class are told of."""
        known = sysfs_driver.Match(frozenset(_PRODUCTS), as_written=True)
        return device.totalvfs is not None and (
            known(device) or device.address in links.owners(
                CONF.pci.sysfs_path, 'fpga').values())

    def report(self, group: Sequence[sysfs.PciDevice]
               ) -> driver_device.DriverDevice:
        pf, = group
        product = _PRODUCTS.get((pf.vendor_id, pf.product_id))
        if product is None:
            raise sysfs_driver.LeftOut('the driver knows no FPGA card %s:%s'
                                       % (pf.vendor_id, pf.product_id))
        vfs = self.virtual_functions(pf)
        name = self._name(pf, vfs)
        stub = _fpga(pf) is None
        if stub:
            self.warn_once(
                pf, 'what is known of it stays as it is, and it is not '
                'offered anew: it has no directory fpga in sysfs, so it is '
                "bound to vfio-pci or Linux's own driver, or Intel's is not "
                'loaded')
        traits = [] if stub else [
            'CUSTOM_FPGA_INTEL', 'CUSTOM_FPGA_INTEL_' + product,
            *_functions(pf), *_regions(pf)]
        more = [] if stub else [_functions(vf) for vf in vfs]
        if not stub:
            more.append(self._hidden(pf, vfs, name, traits + sum(more, [])))
        pairs = [*_numbered(traits), ('rc', constants.FPGA)]
        former = records.for_former_release()
        for part in more:
            # 2026.2 began again for each VF, with the last of the PF.
            pairs += _numbered(part, len(traits) - 1 if former
                               else len(pairs) - 1)
        return records.together(self.description, pf, vfs or [pf], name,
                                pairs, stub)

    def program(self, controlpath: dict, image_file: str) -> bool:
        """Load a bitstream.

        :raises cyborg.common.exception.InvalidType: no PCI control path.
        :raises cyborg.common.exception.ControlPathInvalid: no address.
        :raises cyborg.common.exception.ProgrammingToolFailed: no tool.
        """
        address = base.address_of(controlpath)
        return base.run(
            _TOOL, '--bus', '0x%02x' % address.bus, '--device',
            '0x%02x' % address.device, '--function',
            '0x%x' % address.function, image_file)

    def _name(self, pf: sysfs.PciDevice, vfs: Sequence[sysfs.PciDevice]
              ) -> str:
        """Name of the one deployable; that of the row where there is one.

        2026.2 named it after the VF whose link the kernel lists last: the
        second one of 2 to 16.
        """
        names = [self.description.deployable_name(vf) for vf in vfs]
        stored = self.stored_device(pf.address)
        for each in stored.deployables if stored else ():
            if each.name in names:
                return each.name
        second = os.path.basename(links.link_text(
            sysfs_driver.place(pf, 'virtfn1')))
        for vf, name in zip(vfs, names, strict=True):
            if str(vf.address) == second:
                return name
        return names[0] if names else self.description.deployable_name(pf)

    def _hidden(self, pf, vfs, name: str, seen: list[str]) -> list[str]:
        """Functions of VFs that a guest took along, from what is stored."""
        stored = self.stored_deployable(pf, name)
        if stored is None or all(_fpga(vf) for vf in vfs):
            return []
        given = {handle.key for handle in stored.handles
                 if handle.allocated and handle.attach_type == 'PCI'}
        if not any(('PCI', vf.address) in given
                   for vf in vfs if _fpga(vf) is None):
            return []
        left, hidden = list(seen), []
        for attribute in stored.attributes:
            if attribute.value in left:
                left.remove(attribute.value)
            elif attribute.value.startswith(_FUNCTION):
                hidden.append(attribute.value)
        return hidden


def _numbered(traits: Sequence[str], first: int = 0
              ) -> list[tuple[str, str]]:
    return [('trait%d' % number, trait)
            for number, trait in enumerate(traits, first)]


def _fpga(device: sysfs.PciDevice) -> str | None:
    """What Intel's driver calls the device; None when it hasn't it."""
    names = links.list_names(sysfs_driver.place(device, 'fpga'))
    return names[0] if names else None


def _functions(device: sysfs.PciDevice) -> list[str]:
    return _traits(device, _FUNCTION, 'intel-fpga-port.', 'afu_id')


def _regions(device: sysfs.PciDevice) -> list[str]:
    return _traits(device, _REGION, 'intel-fpga-fme.', 'pr/interface_id')


def _traits(device, prefix: str, folder: str, file: str) -> list[str]:
    home = os.path.join('fpga', _fpga(device) or '')
    found = [sysfs_driver.read(device, home, name, file)
             for name in links.list_names(sysfs_driver.place(device, home))
             if name.startswith(folder)]
    return [prefix + text.upper() for text in found if text]

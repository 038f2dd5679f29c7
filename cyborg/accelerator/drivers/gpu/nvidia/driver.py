# SPDX-License-Identifier: Apache-2.0
"""NVIDIA GPUs: handed out whole, or as virtual GPUs (mediated devices)."""

from collections.abc import Iterable
from collections.abc import Sequence

from cyborg.accelerator.common import records
from cyborg.accelerator.common import sysfs_driver
from cyborg.accelerator.common import utils
from cyborg.accelerator.drivers.gpu import base
from cyborg.accelerator.drivers.gpu.nvidia import vgpu
from cyborg.common import constants
from cyborg.conf import CONF
from cyborg.inventory import identity
from cyborg.inventory import values
from cyborg.objects.driver_objects import driver_device
from cyborg.pci import address as pci_address
from cyborg.pci import mdev
from cyborg.pci import sysfs

_BOARD = '{"vendor_info": "gpu_vb_info"}'


class NVIDIAGPUDriver(sysfs_driver.SysfsDriver, base.GPUDriver):

    VENDOR = 'nvidia'
    match = sysfs_driver.Match(vendor_id='10de', subclasses=base.SUBCLASSES)
    description = records.Description(
        constants.DEVICE_GPU, constants.PGPU, 'NVIDIA', vendor_board=_BOARD)

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._types: dict[pci_address.PciAddress, str] | None = None

    def init_host(self) -> None:
        """:raises cyborg.common.exception.VGPUOptionInvalid: see there."""
        self._configured()

    def grouped(self, devices: Sequence[sysfs.PciDevice]
                ) -> Iterable[Sequence[sysfs.PciDevice]]:
        left = [device for device in devices if not (
            CONF.gpu_devices.filter_sriov_vfs and device.physfn)]
        return [[device] for device in self.apart(left)]

    def report(self, group: Sequence[sysfs.PciDevice]
               ) -> driver_device.DriverDevice:
        device, = group
        kind = self._kind(device)
        if kind is None:
            return records.alone(
                self.description, device, self.name(device),
                [constants.OWNER_CYBORG, _trait(device)])
        try:
            return self._virtual(device, kind)
        except mdev.TypeUnusable as error:
            reason = str(error)
            if not mdev.offered(CONF.pci.sysfs_path, str(device.address)):
                reason += ('. Is the driver for virtual GPUs loaded? Where '
                           'the kernel makes them virtual functions instead '
                           '(SR-IOV, Linux 6.8 and later), select those with '
                           '[pci] device_spec, "managed": false, for '
                           'pci_driver')
            raise sysfs_driver.LeftOut(reason) from None

    def _virtual(self, device, kind: str):
        """:raises mdev.TypeUnusable: there is something wrong with them."""
        found = mdev.read(CONF.pci.sysfs_path, str(device.address), kind)
        words = vgpu.trait_words(found.name)
        if records.for_former_release():
            del words[1:]
        number = vgpu.total(found, self._ours())
        allocated = {}
        for handle in self._allocated(device):
            mark = handle.info.values.get('vgpu_mark')
            place = vgpu.mark_number(mark, kind)
            if place is not None:
                allocated[place] = handle.uuid in found.created
        return records.described(
            self.description, device, [records.deployable(
                self.description.deployable_name(device),
                self.description.driver_name,
                [records.attach_handle(utils.mdev_str_to_json(
                    str(device.address), kind, '%s_%d' % (kind, mark)),
                    constants.AH_TYPE_MDEV)
                 for mark in vgpu.marks(number, allocated)],
                records.attributes(constants.VGPU, [
                    constants.OWNER_CYBORG,
                    *[_trait(device, word) for word in words]]),
                number)], self.name(device))

    def _kind(self, device: sysfs.PciDevice) -> str | None:
        """The type of its virtual GPUs; None for a whole GPU.

        What is allocated decides before what is configured.
        """
        wanted = self._configured().get(device.address)
        for handle in self._allocated(device):
            has = handle.info.values.get('asked_type')
            if has != wanted:
                self.warn_once(device, 'is configured %s, but stays %s as '
                               'long as it is allocated so' % (
                                   _mode(wanted), _mode(has)))
            return has
        return wanted

    def _allocated(self, device: sysfs.PciDevice
                   ) -> list[values.PersistedHandle]:
        stored = self.stored_deployable(
            device, self.description.deployable_name(device))
        return [handle for handle in (stored.handles if stored else ())
                if handle.allocated and _readable(handle)]

    def _ours(self) -> frozenset[str] | None:
        if self.stored is None:
            return None
        return frozenset(
            handle.uuid for device in self.stored.devices
            for deployable in device.deployables
            for handle in deployable.handles
            if handle.attach_type == constants.AH_TYPE_MDEV)

    def _configured(self) -> dict[pci_address.PciAddress, str]:
        if self._types is None:
            self._types = vgpu.types_by_address(CONF)
        return self._types


def _readable(handle: values.PersistedHandle) -> bool:
    try:
        handle.key  # noqa: B018 - raises when it is damaged
    except identity.InvalidInfo:
        return False
    return True


def _trait(device: sysfs.PciDevice, word: str | None = None) -> str:
    return '_'.join(filter(None, (
        'CUSTOM_NVIDIA', device.product_id.upper(), word)))


def _mode(kind: str | None) -> str:
    return ('as a whole GPU' if kind is None
            else 'for virtual GPUs of type %s' % kind)

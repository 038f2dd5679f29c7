# SPDX-License-Identifier: Apache-2.0
"""Builds the objects that drivers report for one PCI function.

The texts are those 2026.2 wrote, to the byte: stored rows keep them.
"""

from collections.abc import Sequence
import json

from cyborg.common import constants
from cyborg.conductor import rpcapi
from cyborg.conf import CONF
from cyborg.inventory import relatives
from cyborg.objects.driver_objects import driver_attach_handle
from cyborg.objects.driver_objects import driver_attribute
from cyborg.objects.driver_objects import driver_controlpath_id
from cyborg.objects.driver_objects import driver_deployable
from cyborg.objects.driver_objects import driver_device
from cyborg.pci import sysfs


def for_former_release() -> bool:
    """Whether reports have to be 2026.2's to the letter (ID-7).

    The cap of ``[upgrade_levels] conductor`` says so. Settings of attach info
    are the agent's business; this is for whatever else has changed.

    :raises cyborg.common.exception.UpgradeLevelInvalid: the cap is unusable.
    """
    return not rpcapi.ConductorAPI().supports_object_indirection()


def attach_info(device: sysfs.PciDevice, managed: bool | None = None,
                stateful: bool = False) -> str:
    """JSON text of an attach handle: the address, and what is known else.

    Nothing but the address unless ``managed`` is configured, the device is
    ``stateful``, or sysfs knows its NUMA node (DSC-7).
    """
    info: dict = device.address.fields()
    if managed is not None:
        info['managed'] = managed
    if stateful:
        info['stateful'] = True
    if device.numa_node is not None:
        info['numa_node'] = device.numa_node
    return json.dumps(info, sort_keys=True)


def pci_function(device: sysfs.PciDevice, *, kind: str, model: str,
                 board: dict, vendor_board: str, driver_name: str,
                 resource_class: str, traits: Sequence[str], handle: str):
    """One function as a device with one deployable and one attach handle.

    :param kind: device type, of ``constants.DEVICE_TYPE``.
    :param board: standard board information, keys in the order stored. That
        of a VF gets its PF, too: the database has no other place for it, and
        a guest must not have one while another has the other (ID-3).
    :param handle: attach info as JSON text.
    """
    if device.physfn is not None:
        board = board | {relatives.PARENT: str(device.physfn)}
    attributes = [('rc', resource_class)] + [
        ('trait%d' % number, trait) for number, trait in enumerate(traits)]
    deployable = driver_deployable.DriverDeployable(
        name='%s_%s' % (CONF.host, device.address), num_accelerators=1,
        driver_name=driver_name,
        attribute_list=[driver_attribute.DriverAttribute(key=key, value=value)
                        for key, value in attributes],
        attach_handle_list=[driver_attach_handle.DriverAttachHandle(
            attach_type=constants.AH_TYPE_PCI, attach_info=handle,
            in_use=False)])
    return driver_device.DriverDevice(
        vendor=device.vendor_id, model=model, type=kind,
        std_board_info=json.dumps(board), vendor_board_info=vendor_board,
        stub=False, deployable_list=[deployable],
        controlpath_id=driver_controlpath_id.DriverControlPathID(
            cpid_type=constants.CPID_TYPE_PCI,
            cpid_info=json.dumps(device.address.fields())))

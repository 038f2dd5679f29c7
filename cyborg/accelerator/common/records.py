# SPDX-License-Identifier: Apache-2.0
"""Builds the objects that drivers report, from functions of sysfs.

The texts are those 2026.2 wrote, to the byte: stored rows keep them. What
a driver's devices look like is a :class:`Description`; which functions make
one device is the shape, and there are four:

* :func:`alone`: a function is a device with one handle, its own
* :func:`by_slot`: the functions of a slot are one device with one deployable
* :func:`by_vf`: a PF is a device with a deployable for each of its VFs
* :func:`together`: a PF is a device, its VFs are the handles of the one
  deployable
"""

from collections.abc import Sequence
import dataclasses
import json
import socket

from cyborg.common import constants
from cyborg.conf import CONF
from cyborg.inventory import relatives
from cyborg.objects.driver_objects import driver_attach_handle
from cyborg.objects.driver_objects import driver_attribute
from cyborg.objects.driver_objects import driver_controlpath_id
from cyborg.objects.driver_objects import driver_deployable
from cyborg.objects.driver_objects import driver_device
from cyborg.pci import classes
from cyborg.pci import sysfs
from cyborg.rpcapi import conductor as conductor_rpcapi

#: Text of 2026.2 for a model, and for a vendor's board information, that the
#: driver doesn't know.
MISSING_MODEL, MISSING_BOARD = 'miss_model_info', 'miss_vb_info'


@dataclasses.dataclass(frozen=True)
class Description:
    """How the devices of a driver are shown.

    :ivar kind: device type, of ``constants.DEVICE_TYPE``.
    :ivar model: the same for all; None takes the name of the host's list.
    :ivar prefix: before vendor and product id.
    :ivar controller: board information tells the name of the class, too.
    :ivar os_name: deployables are named after the host name that the
        operating system has, whatever ``[DEFAULT] host`` says. 2026.2 named
        them so, and the name is that of the provider.
    """

    kind: str
    resource_class: str
    driver_name: str
    vendor_board: str = MISSING_BOARD
    model: str | None = None
    prefix: str = ''
    controller: bool = True
    os_name: bool = False

    def deployable_name(self, device: sysfs.PciDevice) -> str:
        host = socket.gethostname() if self.os_name else CONF.host
        return '%s_%s' % (host, device.address)


def for_former_release() -> bool:
    """Whether reports have to be 2026.2's to the letter (ID-7).

    The cap of ``[upgrade_levels] conductor`` says so. Settings of attach info
    are the agent's business; this is for whatever else has changed.

    :raises cyborg.common.exception.UpgradeLevelInvalid: the cap is unusable.
    """
    return not conductor_rpcapi.ConductorAPI().supports_object_indirection()


def attach_info(device: sysfs.PciDevice, managed: bool | None = None,
                stateful: bool = False,
                physical_network: str | None = None) -> str:
    """JSON text of an attach handle: the address, and what is known else.

    Nothing but the address unless ``managed`` is configured, the device is
    ``stateful`` (its class may say so), sysfs knows its NUMA node (DSC-7),
    or it is on a physical network.
    """
    info: dict = device.address.fields()
    if managed is not None:
        info['managed'] = managed
    if stateful or classes.stateful(device.class_code):
        info['stateful'] = True
    if device.numa_node is not None:
        info['numa_node'] = device.numa_node
    if physical_network is not None:
        info['physical_network'] = physical_network
    return json.dumps(info, sort_keys=True)


def attach_handle(text: str, attach_type: str = constants.AH_TYPE_PCI
                  ) -> driver_attach_handle.DriverAttachHandle:
    """:param text: attach info as JSON text."""
    return driver_attach_handle.DriverAttachHandle(
        attach_type=attach_type, attach_info=text, in_use=False)


def deployable(name: str, driver_name: str, handles: Sequence,
               pairs: Sequence[tuple[str, str]], number: int = 1
               ) -> driver_deployable.DriverDeployable:
    """:param pairs: its attributes.
    :param number: accelerators in it, by which Placement counts.
    """
    return driver_deployable.DriverDeployable(
        name=name, num_accelerators=number, driver_name=driver_name,
        attribute_list=[driver_attribute.DriverAttribute(key=key, value=value)
                        for key, value in pairs],
        attach_handle_list=list(handles))


def attributes(resource_class: str, traits: Sequence[str]
               ) -> list[tuple[str, str]]:
    """The resource class, then the traits with a number each."""
    return [('rc', resource_class)] + [
        ('trait%d' % number, trait) for number, trait in enumerate(traits)]


def board_device(first: sysfs.PciDevice, *, kind: str, model: str, vendor: str,
                 board: dict, vendor_board: str, deployables: Sequence,
                 stub: bool = False) -> driver_device.DriverDevice:
    """A device whose control path is its first function."""
    return driver_device.DriverDevice(
        vendor=vendor, model=model, type=kind,
        std_board_info=json.dumps(board), vendor_board_info=vendor_board,
        stub=stub, deployable_list=list(deployables),
        controlpath_id=driver_controlpath_id.DriverControlPathID(
            cpid_type=constants.CPID_TYPE_PCI,
            cpid_info=json.dumps(first.address.fields())))


def described(description: Description, first: sysfs.PciDevice,
              deployables: Sequence, name: str | None = None,
              stub: bool = False) -> driver_device.DriverDevice:
    """:param name: the model, where the description leaves it open."""
    board = {'product_id': description.prefix + first.product_id}
    if description.controller:
        board['controller'] = first.class_name
    return board_device(
        first, kind=description.kind, model=description.model or name,
        vendor=description.prefix + first.vendor_id, board=board,
        vendor_board=description.vendor_board, deployables=deployables,
        stub=stub)


def alone(description: Description, function: sysfs.PciDevice, name: str,
          traits: Sequence[str]) -> driver_device.DriverDevice:
    """A function as a device with one deployable and one handle."""
    return by_slot(description, [function], name, traits)


def by_slot(description: Description, functions: Sequence[sysfs.PciDevice],
            name: str, traits: Sequence[str]) -> driver_device.DriverDevice:
    """Functions that go to one guest as one accelerator, a handle each."""
    return described(description, functions[0], [deployable(
        description.deployable_name(functions[0]), description.driver_name,
        [attach_handle(attach_info(each)) for each in functions],
        attributes(description.resource_class, traits))], name)


def single(description: Description, function: sysfs.PciDevice,
           traits: Sequence[str] = (), physical_network: str | None = None
           ) -> driver_deployable.DriverDeployable:
    """The deployable that is one function; see :func:`by_vf`."""
    return deployable(
        description.deployable_name(function), description.driver_name,
        [attach_handle(attach_info(
            function, physical_network=physical_network))],
        attributes(description.resource_class, traits))


def by_vf(description: Description, pf: sysfs.PciDevice, deployables: Sequence
          ) -> driver_device.DriverDevice:
    """A PF as a device.

    :param deployables: of its VFs, or of the PF itself.
    """
    return described(description, pf, deployables)


def together(description: Description, pf: sysfs.PciDevice,
             functions: Sequence[sysfs.PciDevice], name: str,
             pairs: Sequence[tuple[str, str]], stub: bool = False
             ) -> driver_device.DriverDevice:
    """A PF as a device with one deployable.

    :param functions: the VFs that are its handles, or the PF itself.
    :param name: of the deployable.
    :param pairs: its attributes.
    """
    return described(description, pf, [deployable(
        name, description.driver_name,
        [attach_handle(attach_info(each)) for each in functions], pairs,
        len(functions))], stub=stub)


def pci_function(device: sysfs.PciDevice, *, kind: str, model: str,
                 board: dict, vendor_board: str, driver_name: str,
                 resource_class: str, traits: Sequence[str], handle: str
                 ) -> driver_device.DriverDevice:
    """One function as a device with one deployable and one attach handle.

    :param kind: device type, of ``constants.DEVICE_TYPE``.
    :param board: standard board information, keys in the order stored. That
        of a VF gets its PF, too: the database has no other place for it, and
        a guest must not have one while another has the other (ID-3).
    :param handle: attach info as JSON text.
    """
    if device.physfn is not None:
        board = board | {relatives.PARENT: str(device.physfn)}
    return board_device(
        device, kind=kind, model=model, vendor=device.vendor_id, board=board,
        vendor_board=vendor_board, deployables=[deployable(
            '%s_%s' % (CONF.host, device.address), driver_name,
            [attach_handle(handle)], attributes(resource_class, traits))])

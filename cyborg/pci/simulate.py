# SPDX-License-Identifier: Apache-2.0
"""Builds a sysfs tree of PCI devices that do not exist.

``cyborg-standalone --simulate`` and the tests look at such a tree instead of
a host's. It has the shape of the real one: device directories below
``devices/``, and relative links to and between them.
"""

from collections.abc import Iterable
from collections.abc import Mapping
import os
import re
import shutil
from typing import Any

from cyborg.pci import address as pci_address

PciAddress = pci_address.PciAddress

#: Attributes of a captured device that are files of their own.
_FILES = ('vendor', 'device', 'subsystem_vendor', 'subsystem_device', 'class',
          'revision', 'numa_node', 'sriov_totalvfs', 'sriov_numvfs',
          'sriov_vf_device', 'driver_override', 'modalias', 'enable')
_ETHERNET, _NVME, _ACCELERATOR, _ROOT_PORT = (
    0x020000, 0x010802, 0x120000, 0x060400)


class SysfsTree:
    """A directory that looks like ``/sys`` to a reader of PCI devices.

    :param path: created when absent. Beside it, in ``proc/``, stand the
        tables of routes and mounts that belong to the same host.
    """

    def __init__(self, path: str):
        self.path = os.path.abspath(path)
        self._places: dict[str, str] = {}
        for name in ('bus/pci/devices', 'bus/pci/drivers', 'devices',
                     'class/net', 'class/block', 'class/vfio-dev',
                     'dev/block', 'module', 'kernel/iommu_groups'):
            os.makedirs(self._at(name), exist_ok=True)

    def _at(self, *parts: str) -> str:
        return os.path.join(self.path, *parts)

    def add(self, address: str, vendor_id: int, product_id: int,
            class_code: int, *, parent: str | None = None,
            physfn: str | None = None, totalvfs: int | None = None,
            numa_node: int | None = -1, driver: str | None = None,
            module: str | None = None, iommu_group: int | None = None) -> str:
        """Add one function; its directory is returned.

        :param parent: the bridge above it, added before.
        :param physfn: the PF of a VF, added before; the VF then hangs beside
            it, as in a real tree.
        :param numa_node: None leaves the file out.
        """
        values = {'vendor': '0x%04x' % vendor_id,
                  'device': '0x%04x' % product_id,
                  'class': '0x%06x' % class_code}
        if numa_node is not None:
            values['numa_node'] = str(numa_node)
        if totalvfs is not None:
            values.update(sriov_totalvfs=str(totalvfs), sriov_numvfs='0')
        if physfn is not None:
            above = os.path.dirname(self._places[physfn])
        elif parent is not None:
            above = self._places[parent]
        else:
            above = 'devices/pci' + address.rsplit(':', 1)[0]
        place = self._place(address, os.path.join(above, address), values)
        if physfn is not None:
            self._link_functions(physfn, address)
        if driver is not None:
            self.bind(address, driver, module)
        if iommu_group is not None:
            self.group(address, str(iommu_group))
        return place

    def load(self, captured: Iterable[Mapping[str, Any]]) -> None:
        """Add devices from attributes captured on a real host.

        :param captured: mappings of sysfs file name to text, with the extra
            keys ``address``, ``real_path``, ``driver``, ``iommu_group``,
            ``physfn``.
        """
        captured = list(captured)
        for facts in captured:
            values = {name: str(facts[name]) for name in _FILES
                      if facts.get(name) is not None}
            self._place(facts['address'],
                        facts['real_path'].removeprefix('/sys/'), values)
        for facts in captured:
            if facts.get('driver'):
                self.bind(facts['address'], facts['driver'])
            if facts.get('iommu_group'):
                self.group(facts['address'], facts['iommu_group'])
            if facts.get('physfn'):
                self._link_functions(facts['physfn'], facts['address'])

    def bind(self, address: str, driver: str,
             module: str | None = None) -> None:
        """Bind a function to a driver, away from the one it has."""
        home = 'bus/pci/drivers/%s' % driver
        os.makedirs(self._at(home), exist_ok=True)
        if module is not None:
            os.makedirs(self._at('module', module), exist_ok=True)
            self._link('%s/module' % home, 'module/%s' % module)
        self.unbind(address)
        self._link('%s/driver' % self._places[address], home)

    def unbind(self, address: str) -> None:
        path = self._at(self._places[address], 'driver')
        if os.path.islink(path):
            os.unlink(path)

    def depend(self, module: str, *holders: str) -> None:
        """Let kernel modules depend on another one."""
        for holder in holders:
            os.makedirs(self._at('module', holder), exist_ok=True)
            os.makedirs(self._at('module', module, 'holders'), exist_ok=True)
            self._link('module/%s/holders/%s' % (module, holder),
                       'module/%s' % holder)

    def group(self, address: str, number: str) -> None:
        """Put a function into an IOMMU group."""
        home = 'kernel/iommu_groups/%s' % number
        os.makedirs(self._at(home, 'devices'), exist_ok=True)
        self._link('%s/devices/%s' % (home, address), self._places[address])
        self._link('%s/iommu_group' % self._places[address], home)

    def net(self, address: str, name: str,
            default_route: bool = False) -> None:
        """Put a network interface on a function."""
        place = '%s/net/%s' % (self._places[address], name)
        os.makedirs(self._at(place), exist_ok=True)
        self._link('class/net/%s' % name, place)
        if default_route:
            self.proc('net/route', 'Iface\tDestination\tGateway\tFlags\t'
                      'RefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n'
                      '%s\t00000000\t0100000A\t0003\t0\t0\t100\t00000000'
                      '\t0\t0\t0\n' % name)

    def take_net(self, name: str) -> None:
        """Take an interface away, as a guest does that gets its function."""
        link = self._at('class/net', name)
        shutil.rmtree(os.path.realpath(link))
        os.unlink(link)

    def detach(self, address: str) -> None:
        """Begin to remove a VF, as far as the kernel gets while it is used.

        ``pci_iov_remove_virtfn()`` takes the links between PF and VF away
        before it waits for the VF's driver to let go.
        """
        physfn = self._at(self._places[address], 'physfn')
        parent = os.path.realpath(physfn)
        for name in os.listdir(parent):
            path = os.path.join(parent, name)
            if name.startswith('virtfn') and (
                    os.path.basename(os.readlink(path)) == address):
                os.unlink(path)
        os.unlink(physfn)

    def vfio(self, address: str, name: str) -> None:
        """Register a VFIO device for a function, whatever its driver."""
        place = '%s/vfio-dev/%s' % (self._places[address], name)
        os.makedirs(self._at(place), exist_ok=True)
        self._link('class/vfio-dev/%s' % name, place)

    def block(self, address: str, name: str, number: str,
              mounted_at: str | None = None) -> None:
        """Put a block device on a function; ``number`` is ``major:minor``."""
        controller = re.match('nvme[0-9]+', name)
        # As the drivers have it: NVMe namespaces hang below a controller.
        place = '%s/%s/%s' % (
            self._places[address], 'nvme/%s' % controller.group()
            if controller else 'block', name)
        os.makedirs(self._at(place), exist_ok=True)
        self._link('class/block/%s' % name, place)
        self._link('dev/block/%s' % number, place)
        if mounted_at is not None:
            self.proc('self/mountinfo', '25 1 %s / %s rw - ext4 /dev/%s rw\n'
                      % (number, mounted_at, name))

    def multipath(self, name: str, number: str, *addresses: str) -> None:
        """An NVMe drive as native multipath presents it.

        The drive stands in the subsystem, not below its controllers, whose
        own path devices (``nvme0c0n1``) are hidden.

        :param addresses: functions of its controllers.
        """
        home = 'devices/virtual/nvme-subsystem/nvme-subsys0'
        os.makedirs(self._at(home, name), exist_ok=True)
        self._link('class/block/%s' % name, '%s/%s' % (home, name))
        self._link('dev/block/%s' % number, '%s/%s' % (home, name))
        for index, address in enumerate(addresses):
            place = '%s/nvme/nvme%d' % (self._places[address], index)
            os.makedirs(self._at(place, 'nvme0c%dn1' % index), exist_ok=True)
            self._link('%s/nvme%d' % (home, index), place)

    def proc(self, name: str, text: str) -> None:
        path = os.path.join(os.path.dirname(self.path), 'proc', name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w') as stream:
            stream.write(text)

    def write(self, address: str, name: str, data: bytes) -> None:
        """Replace one attribute by any bytes at all."""
        with open(self._at(self._places[address], name), 'wb') as stream:
            stream.write(data)

    def remove(self, address: str) -> None:
        """Unplug a function, its VFs stay."""
        place = self._places.pop(address)
        os.unlink(self._at('bus/pci/devices', address))
        shutil.rmtree(self._at(place))

    def _place(self, address: str, place: str, values) -> str:
        path = self._at(place)
        os.makedirs(path, exist_ok=True)
        self._places[address] = place
        for name, text in values.items():
            with open(os.path.join(path, name), 'w') as stream:
                stream.write(text + '\n')
        self._link('bus/pci/devices/%s' % address, place)
        return path

    def _link_functions(self, physfn: str, address: str) -> None:
        parent = self._places[physfn]
        self._link('%s/physfn' % self._places[address], parent)
        number = len([name for name in os.listdir(self._at(parent))
                      if name.startswith('virtfn')])
        self._link('%s/virtfn%d' % (parent, number), self._places[address])

    def _link(self, name: str, target: str) -> None:
        path = self._at(name)
        relative = os.path.relpath(self._at(target), os.path.dirname(path))
        if os.path.islink(path):
            os.unlink(path)
        os.symlink(relative, path)


def build(path: str) -> SysfsTree:
    """The small host of ``--simulate``: two NUMA nodes, nothing real.

    Node 0 carries an accelerator with four VFs and a NIC; node 1 a second
    accelerator, without VFs, and an NVMe controller.
    """
    tree = SysfsTree(path)
    tree.depend('vfio', 'vfio_pci_core')
    tree.depend('vfio_pci_core', 'vfio_pci', 'sim_vfio_pci')
    tree.add('0000:00:00.0', 0x8086, 0x29c0, 0x060000, iommu_group=0)
    for number, (node, bus) in enumerate((
            (0, '20'), (0, '24'), (1, '40'), (1, '44'))):
        tree.add('0000:%s:00.0' % bus, 0x1b36, 0x000c, _ROOT_PORT,
                 numa_node=node, driver='pcieport', iommu_group=1 + number)
    tree.add('0000:21:00.0', 0x1d0f, 0xefa0, _ACCELERATOR,
             parent='0000:20:00.0', totalvfs=4, numa_node=0,
             driver='sim_accel', module='sim_accel', iommu_group=10)
    for number in range(1, 5):
        tree.add('0000:21:00.%d' % number, 0x1d0f, 0xefa1, _ACCELERATOR,
                 physfn='0000:21:00.0', numa_node=0, driver='sim_vfio_pci',
                 module='sim_vfio_pci', iommu_group=10 + number)
    tree.write('0000:21:00.0', 'sriov_numvfs', b'4\n')
    tree.add('0000:25:00.0', 0x8086, 0x1533, _ETHERNET,
             parent='0000:24:00.0', numa_node=0, driver='igb', module='igb',
             iommu_group=20)
    tree.net('0000:25:00.0', 'sim0', default_route=True)
    tree.add('0000:41:00.0', 0x10de, 0x1eb8, 0x030200,
             parent='0000:40:00.0', numa_node=1, driver='vfio-pci',
             module='vfio_pci', iommu_group=30)
    tree.add('0000:45:00.0', 0x144d, 0xa808, _NVME, parent='0000:44:00.0',
             numa_node=1, driver='nvme', module='nvme', iommu_group=31)
    tree.block('0000:45:00.0', 'nvme0n1', '259:0')
    return tree

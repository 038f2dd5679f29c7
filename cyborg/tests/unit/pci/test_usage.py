# SPDX-License-Identifier: Apache-2.0

import contextlib
import itertools
import os
from unittest import mock

from cyborg.pci import address
from cyborg.pci import device_spec
from cyborg.pci import links
from cyborg.pci import selection
from cyborg.pci import sysfs
from cyborg.pci import usage
from cyborg.tests import base
from cyborg.tests.fixtures import sysfs as sysfs_fixture

NIC, DISK = '0000:3b:00.0', '0000:5e:00.0'


class HostUsesTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.host = self.useFixture(sysfs_fixture.SysfsTree())
        self.tree = self.host.tree
        self.tree.add(NIC, 0x8086, 0x1533, 0x020000)
        self.tree.add(DISK, 0x144d, 0xa808, 0x010802)

    def uses(self):
        return {str(where): list(texts) for where, texts
                in usage.host_uses(self.host.path).items()}

    def make(self, *names):
        for name in names:
            os.makedirs(os.path.join(self.host.path, name), exist_ok=True)

    def test_none(self):
        self.tree.net(NIC, 'eth0')
        self.tree.block(DISK, 'nvme0n1', '259:0')
        self.assertEqual({}, self.uses())

    def test_default_route(self):
        self.tree.net(NIC, 'eth0', default_route=True)
        self.assertEqual(
            {NIC: ['carries the default route of the host (eth0)']},
            self.uses())

    def test_default_route_of_ipv6(self):
        self.tree.net(NIC, 'eth0')
        zero = '0' * 32
        self.tree.proc('net/ipv6_route', ''.join(
            '%s 00 %s 00 %s 00000400 00000001 00000000 00000003 %s\n'
            % (zero, zero, zero, name) for name in ('eth0', 'lo')))
        self.assertEqual([NIC], list(self.uses()))

    def test_default_route_over_a_bond_on_a_bridge(self):
        self.tree.net(NIC, 'eth0')
        # A route to a net is no default route, whatever its number.
        self.tree.net(DISK, 'eth9')
        self.make('class/net/br0/lower_bond0', 'class/net/bond0/lower_eth0')
        self.tree.proc('net/route', 'Iface Destination\n'
                       'br0 00000000 0 3 0 0 0 00000000 0 0 0\n'
                       'eth9 00000000 0 3 0 0 0 000000ff 0 0 0\n')
        self.assertEqual(
            {NIC: ['carries the default route of the host (br0)']},
            self.uses())

    def test_interfaces_that_name_each_other(self):
        """Each is looked at once; a path each would be millions."""
        self.tree.net(NIC, 'eth0')
        names = ['bond%d' % number for number in range(9)]
        self.make(*('class/net/%s/lower_%s' % (upper, lower)
                    for upper in names for lower in [*names, 'eth0']))
        self.tree.proc('net/route', 'bond0 00000000 0 3 0 0 0 00000000\n')
        with self.looked_at() as paths:
            self.assertEqual(
                {NIC: ['carries the default route of the host (bond0)']},
                self.uses())
        self.assertEqual(len(set(paths)), len(paths))

    def test_block_devices_that_name_each_other(self):
        self.tree.block(DISK, 'nvme0n1', '259:0')
        names = ['dm-%d' % number for number in range(9)]
        self.make(*('class/block/%s/slaves/%s' % (upper, lower)
                    for upper in names for lower in [*names, 'nvme0n1']),
                  'dev/block/254:0/slaves/dm-0')
        self.tree.proc('self/mountinfo',
                       '25 1 254:0 / / rw - ext4 /dev/dm-0 rw\n')
        with self.looked_at() as paths:
            self.assertEqual({DISK: ['holds the mounted file system /']},
                             self.uses())
        self.assertEqual(len(set(paths)), len(paths))

    @contextlib.contextmanager
    def looked_at(self):
        """Directories that are listed meanwhile."""
        paths, listdir = [], os.listdir

        def record(path):
            paths.append(path)
            if len(paths) > 1000:
                self.fail('1000 directories were looked at')
            return listdir(path)

        with mock.patch.object(os, 'listdir', new=record):
            yield paths

    def test_layers_without_end(self):
        """However many stand between the route and the function."""
        self.tree.net(NIC, 'eth0')
        names = [*('vlan%d' % number for number in range(20)), 'eth0']
        self.make(*('class/net/%s/lower_%s' % pair
                    for pair in itertools.pairwise(names)))
        self.tree.proc('net/route', 'vlan0 00000000 0 3 0 0 0 00000000\n')
        self.assertEqual([NIC], list(self.uses()))

    def test_a_function_with_two_ways_to_it_is_told_once(self):
        for name in ('eth0', 'eth1'):
            self.tree.net(NIC, name)
        self.make('class/net/bond0/lower_eth0', 'class/net/bond0/lower_eth1')
        self.tree.proc('net/route', 'bond0 00000000 0 3 0 0 0 00000000\n')
        self.assertEqual(
            {NIC: ['carries the default route of the host (bond0)']},
            self.uses())

    def test_mounted_file_system(self):
        self.tree.block(DISK, 'nvme0n1', '259:0', mounted_at='/srv')
        self.assertEqual({DISK: ['holds the mounted file system /srv']},
                         self.uses())

    def test_mounted_logical_volume(self):
        self.tree.block(DISK, 'nvme0n1', '259:0')
        self.make('dev/block/254:0/slaves/nvme0n1')
        self.tree.proc('self/mountinfo',
                       '25 1 254:0 / / rw - ext4 /dev/mapper/root rw\n')
        self.assertEqual({DISK: ['holds the mounted file system /']},
                         self.uses())

    def test_file_system_with_a_number_of_its_own(self):
        self.tree.block(DISK, 'nvme0n1', '259:0')
        self.tree.proc('self/mountinfo',
                       '25 1 0:42 / /srv rw - btrfs /dev/nvme0n1 rw\n'
                       '26 1 0:43 / /proc rw - proc proc rw\n'
                       'garbage\n25 1\n')
        self.assertEqual({DISK: ['holds the mounted file system /srv']},
                         self.uses())

    def test_a_disk_mounted_many_times_is_told_once(self):
        """Bind mounts of containers come and go."""
        self.tree.block(DISK, 'nvme0n1', '259:0')
        self.tree.proc('self/mountinfo', ''.join(
            '25 1 259:0 /x %s rw - ext4 /dev/nvme0n1 rw\n' % place
            for place in ('/', '/etc/hosts', '/var/lib/x\x1b[2J')))
        self.assertEqual({DISK: ['holds the mounted file system /']},
                         self.uses())
        self.tree.proc('self/mountinfo', '25 1 259:0 / /\x1b[2J rw - ext4 '
                       '/dev/nvme0n1 rw\n')
        self.assertEqual(
            {DISK: [r'holds the mounted file system /\x1b[2J']}, self.uses())

    def test_another_hosts_tree_is_not_mixed_with_this_one(self):
        """A tree without its own proc/ has no routes and mounts."""
        self.tree.net(NIC, 'lo')
        self.assertEqual({}, self.uses())
        self.assertIsInstance(usage.host_uses('/sys'), dict)

    def test_keys_are_addresses(self):
        self.tree.net(NIC, 'eth0', default_route=True)
        self.assertEqual([address.PciAddress.parse(NIC)],
                         list(usage.host_uses(self.host.path)))


class RealKernelsTest(base.TestCase):
    """Paths as current kernels have them."""

    def setUp(self):
        super().setUp()
        self.host = self.useFixture(sysfs_fixture.SysfsTree())
        self.tree = self.host.tree
        self.tree.add(NIC, 0x8086, 0x1533, 0x020000)
        self.tree.add(DISK, 0x144d, 0xa808, 0x010802)

    uses = HostUsesTest.uses
    make = HostUsesTest.make

    def link(self, name, target):
        self.tree._link(name, target)

    def partition(self, disk, number):
        """``nvme0n1p2`` below its disk, wherever that stands."""
        path = os.path.join(self.host.path, 'class/block', disk)
        place = os.path.relpath(os.path.realpath(path), self.host.path)
        name = '%s/%sp2' % (place, disk)
        self.make(name)
        self.link('class/block/%sp2' % disk, name)
        self.link('dev/block/%s' % number, name)

    def test_nvme_with_native_multipath(self):
        """The default: the drive stands in no PCI function's directory."""
        other = '0000:5f:00.0'
        self.tree.add(other, 0x144d, 0xa808, 0x010802)
        self.tree.multipath('nvme0n1', '259:0', DISK, other)
        self.tree.proc('self/mountinfo',
                       '25 1 259:0 / / rw - xfs /dev/nvme0n1 rw\n')
        expected = ['holds the mounted file system /']
        self.assertEqual({DISK: expected, other: expected}, self.uses())

    def test_logical_volume_on_a_partition_of_one(self):
        self.tree.multipath('nvme0n1', '259:0', DISK)
        self.partition('nvme0n1', '259:2')
        self.make('devices/virtual/block/dm-0/slaves')
        self.link('class/block/dm-0', 'devices/virtual/block/dm-0')
        self.link('dev/block/254:0', 'devices/virtual/block/dm-0')
        self.link('devices/virtual/block/dm-0/slaves/nvme0n1p2',
                  'class/block/nvme0n1p2')
        self.tree.proc('self/mountinfo',
                       '25 1 254:0 / / rw - ext4 /dev/mapper/root rw\n')
        self.assertEqual({DISK: ['holds the mounted file system /']},
                         self.uses())

    def test_partition_of_a_software_raid(self):
        self.tree.block(DISK, 'nvme0n1', '259:0')
        place = 'devices/virtual/block/md127'
        self.make(place + '/slaves', place + '/md127p2')
        self.link('class/block/md127', place)
        self.link(place + '/slaves/nvme0n1', 'class/block/nvme0n1')
        self.link('class/block/md127p2', place + '/md127p2')
        self.link('dev/block/259:9', place + '/md127p2')
        self.tree.proc('self/mountinfo',
                       '25 1 259:9 / /boot rw - ext4 /dev/md127p2 rw\n')
        self.assertEqual({DISK: ['holds the mounted file system /boot']},
                         self.uses())

    def test_swap(self):
        self.tree.block(DISK, 'nvme0n1', '259:0')
        self.partition('nvme0n1', '259:2')
        self.tree.proc('swaps', 'Filename\tType\tSize\tUsed\tPriority\n'
                       '/dev/nvme0n1p2  partition\t8388604\t0\t-2\n'
                       '/var/swapfile   file\t1048572\t0\t-3\ngarbage\n')
        self.assertEqual({DISK: ['holds swap space in use (nvme0n1p2)']},
                         self.uses())

    def ovs(self, *ports):
        """``br-ex`` is a port inside, the others lead outside."""
        for name in ('ovs-system', 'br-ex'):
            self.make('devices/virtual/net/' + name)
            self.link('class/net/' + name, 'devices/virtual/net/' + name)
        for port in ports:
            place = os.path.relpath(os.path.realpath(os.path.join(
                self.host.path, 'class/net', port)), self.host.path)
            self.link('%s/master' % place, 'devices/virtual/net/ovs-system')
            self.link('devices/virtual/net/ovs-system/lower_%s' % port,
                      place)
        self.tree.proc('net/route', 'br-ex 00000000 0 3 0 0 0 00000000\n')

    def test_default_route_over_open_vswitch(self):
        self.tree.net(NIC, 'eth0')
        self.tree.net(DISK, 'eth9')
        self.ovs('eth0')
        self.assertEqual(
            {NIC: ['may carry the default route of the host (br-ex, a port '
                   'of Open vSwitch)']}, self.uses())

    def bond(self):
        self.make('devices/virtual/net/bond0/bonding')
        self.link('class/net/bond0', 'devices/virtual/net/bond0')
        self.tree.net(NIC, 'eth0')
        self.link(self.tree._places[NIC] + '/net/eth0/master',
                  'devices/virtual/net/bond0')

    def test_default_route_over_a_bond_in_open_vswitch(self):
        self.bond()
        self.ovs('bond0')
        self.assertEqual([NIC], list(self.uses()))

    def test_default_route_over_a_bond(self):
        """Told by its members alone, as older kernels have it."""
        self.bond()
        self.tree.proc('net/route', 'bond0 00000000 0 3 0 0 0 00000000\n')
        self.assertEqual(
            {NIC: ['carries the default route of the host (bond0)']},
            self.uses())

    def test_another_virtual_interface(self):
        """A tunnel says nothing, where no switch is."""
        self.tree.net(NIC, 'eth0')
        self.make('devices/virtual/net/wg0')
        self.link('class/net/wg0', 'devices/virtual/net/wg0')
        self.tree.proc('net/route', 'wg0 00000000 0 3 0 0 0 00000000\n')
        self.assertEqual({}, self.uses())


class BelowTest(base.TestCase):
    """f08: a VMD controller with the host's disks below it."""

    VMD, PORT = '0000:d7:05.5', '10001:00:00.0'
    DISKS = tuple('10001:%02x:00.0' % bus for bus in (1, 2))

    def setUp(self):
        super().setUp()
        self.host = self.useFixture(sysfs_fixture.SysfsTree())
        tree = self.tree = self.host.tree
        tree.add(self.VMD, 0x8086, 0x201d, 0x010400, driver='vmd')
        tree.add('0000:57:05.5', 0x8086, 0x201d, 0x010400, driver='vmd')
        tree._places['pci10001:00'] = tree._places[self.VMD] + '/pci10001:00'
        tree.add(self.PORT, 0x8086, 0x2030, 0x060400, parent='pci10001:00')
        for disk in self.DISKS:
            tree.add(disk, 0x8086, 0x0a54, 0x010802, parent=self.PORT)
        tree.block(self.DISKS[0], 'nvme0n1', '259:0', mounted_at='/')

    def test_the_hosts_use_is_told_of_all_above(self):
        text = 'holds the mounted file system /'
        below = '%s, on %s below it' % (text, self.DISKS[0])
        self.assertEqual(
            {self.VMD: [below], self.PORT: [below], self.DISKS[0]: [text]},
            {str(where): list(texts) for where, texts in
             usage.host_uses(self.host.path).items()})

    def test_links(self):
        found = {str(where): [str(each) for each in hanging] for
                 where, hanging in links.below(self.host.path).items()}
        self.assertEqual({self.VMD: [self.PORT, *self.DISKS],
                          self.PORT: list(self.DISKS)}, found)

    def verdicts(self, allow_unsafe=False):
        return {str(v.device.address): v for v in selection.select(
            sysfs.scan(self.host.path).devices,
            device_spec.load(['{"product_id": "201d"}']).rules, (),
            allow_unsafe, usage.host_uses(self.host.path),
            below=links.below(self.host.path))}

    def test_the_class_check_looks_below(self):
        """DSC-4"""
        found = self.verdicts()
        self.assertEqual('offered', str(found['0000:57:05.5'].outcome))
        self.assertEqual('class-refused', str(found[self.VMD].outcome))
        self.assertEqual(
            'class 0108: Non-Volatile memory controller, 10001:01:00.0 below '
            'it', found[self.VMD].decided_by)

    def test_the_workaround_and_its_advice(self):
        """DSC-5, DSC-7"""
        found = self.verdicts(allow_unsafe=True)[self.VMD]
        self.assertEqual((True, True, True), (
            found.offered, found.unsafe, found.stateful))
        self.assertEqual(
            ['10001:01:00.0, 10001:02:00.0 below it would go to the guest '
             'with it', 'it holds the mounted file system /, on '
             '10001:01:00.0 below it'], list(found.advice))

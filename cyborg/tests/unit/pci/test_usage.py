# SPDX-License-Identifier: Apache-2.0

import contextlib
import itertools
import os
from unittest import mock

from cyborg.pci import address
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

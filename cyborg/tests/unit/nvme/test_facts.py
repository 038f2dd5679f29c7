# SPDX-License-Identifier: Apache-2.0
"""Who uses a disk, as a host's files tell."""

import os

from cyborg.nvme import facts
from cyborg.nvme import holders
from cyborg.nvme import records
from cyborg.pci import links
from cyborg.tests.unit.nvme import base

ADDRESS = base.ADDRESS


class FactsTest(base.DiskTestCase):

    def setUp(self):
        super().setUp()
        self.roots = self.world.kernel().roots

    def read(self, **options):
        return facts.read(self.roots, ADDRESS, **options)

    def put(self, name, text):
        path = self.world.at(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w') as stream:
            stream.write(text)

    def uses(self, **options):
        return ['%s: %s' % (use.kind, use.holder)
                for use in self.read(**options).uses]

    def test_a_disk_at_rest(self):
        self.plug()
        found = self.read()
        self.assertEqual(
            ('nvme0', 'live', 'S1', 'SIMULATED NVME', 'SIM1.0', '100', ()),
            (found.controller, found.state, found.serial, found.model,
             found.firmware, found.iommu_group, found.uses))
        self.assertEqual((records.BlockDevice('nvme0n1', '259:1', 1,
                                              1 << 20),), found.blocks)
        self.assertEqual(records.Binding('nvme'), found.binding)
        self.assertTrue(found.is_nvme)

    def test_addresses_are_those_of_the_class(self):
        """CLEAN-4"""
        self.plug('0000:10:00.0')
        self.plug('0000:02:00.0', 'S2', driver=None)
        self.world._tree.add('0000:03:00.0', 0x8086, 1, 0x010802 + 1)
        self.assertEqual(('0000:02:00.0', '0000:10:00.0'),
                         facts.addresses(self.roots))

    def test_an_absent_function(self):
        self.assertEqual(records.Facts(ADDRESS, False), self.read())

    def test_a_path_of_a_shared_namespace(self):
        """Linux names the path nvme0c3n1; what can be opened is nvme0n1."""
        self.plug()
        place = self.world.at('sys/bus/pci/devices', ADDRESS, 'nvme/nvme0')
        os.makedirs(os.path.join(place, 'nvme0c3n2'))
        self.put('sys/class/block/nvme0n2/dev', '259:77\n')
        self.put('sys/class/block/nvme0n2/nsid', '2\n')
        self.assertEqual(['nvme0n1', 'nvme0n2'], [
            each.name for each in self.read().blocks])

    def test_partitions_and_what_stands_on_them(self):
        self.plug()
        self.put('sys/class/block/nvme0n1/nvme0n1p1/partition', '1\n')
        for name, number in (('nvme0n1p1', '259:50'), ('dm-3', '254:3'),
                             ('dm-4', '254:4')):
            self.put('sys/class/block/%s/dev' % name, number + '\n')
        self.put('sys/class/block/dm-3/dm/name', 'vg-root\n')
        os.makedirs(self.world.at('sys/class/block/nvme0n1p1/holders/dm-3'))
        os.makedirs(self.world.at('sys/class/block/dm-3/holders/dm-4'))
        self.put('proc/1/mountinfo',
                 '9 1 254:4 / / rw - xfs /dev/mapper/x rw\n'
                 '10 1 0:33 / /data rw - btrfs /dev/nvme0n1p1 rw\n')
        self.put('proc/swaps', 'Filename Type\n/dev/dm-4 partition 1 0\n')
        self.assertEqual(
            ['holder: dm-3 (vg-root) on nvme0n1p1', 'boot disk: / on dm-4',
             'mount: /data on nvme0n1p1', 'swap: /dev/dm-4'], self.uses())

    def test_loop_devices_and_exports(self):
        """They open without a process, and not for themselves alone."""
        self.plug()
        self.put('sys/block/loop0/loop/backing_file', '/dev/nvme0n1\n')
        home = 'sys/kernel/config/nvmet/subsystems/%s/namespaces/1/%s'
        for name, enable in (('on', '1'), ('off', '0')):
            self.put(home % (name, 'device_path'), '/dev/nvme0n1\n')
            self.put(home % (name, 'enable'), enable + '\n')
        self.assertEqual(['holder: loop0 on nvme0n1',
                          'holder: NVMe target on on nvme0n1'], self.uses())

    def test_processes(self):
        self.plug()
        self.world.open_by(7, 'qemu', 'vfio/100')
        self.world.open_by(12, 'dd', 'nvme0n1')
        self.world.open_by(13, 'other', 'nvme1n1')
        self.assertEqual(['vfio: qemu (process 7) has /dev/vfio/100',
                          'opener: dd (process 12) has /dev/nvme0n1'],
                         self.uses())
        self.assertEqual(['vfio: qemu (process 7) has /dev/vfio/100'],
                         self.uses(own_pids=frozenset({12})))

    def test_many_disks_at_the_cost_of_one(self):
        """A look at 64 disks reads the processes once, and not 64 times."""
        names = ['0000:%02x:00.0' % number for number in range(1, 9)]
        for name in names:
            self.plug(name, 'S' + name[5:7])
        self.world.open_by(7, 'dd', 'nvme3n1')
        reads = []
        plain = links.list_names

        def list_names(path):
            reads.append(path)
            return plain(path)

        self.patch(links, 'list_names', list_names)
        found = facts.read_all(self.roots, names)
        self.assertEqual(1, reads.count(self.roots.proc))
        self.assertEqual(['opener: dd (process 7) has /dev/nvme3n1'], [
            '%s: %s' % (use.kind, use.holder)
            for each in found.values() for use in each.uses])

    def test_names_can_be_shown(self):
        self.plug()
        self.world.open_by(7, 'a\x1b[31mb', 'vfio/100')
        self.assertEqual(['vfio: a\\x1b[31mb (process 7) has /dev/vfio/100'],
                         self.uses())
        self.assertEqual('? (process 99)',
                         holders.process_name(self.roots, '99'))

    def test_other_functions_of_the_group(self):
        self.plug()
        place = self.world.at('sys/kernel/iommu_groups/100/devices')
        os.symlink('x', os.path.join(place, '0000:09:00.0'))
        self.assertEqual(('0000:09:00.0',), self.read().group_members)

    def test_garbage_is_no_answer(self):
        self.plug()
        self.put('proc/self/mountinfo', '\x00\n- - -\n1 2 3\n')
        self.put('proc/swaps', '')
        self.world._pci(ADDRESS, 'class', 'nonsense\n')
        self.assertEqual((0, ()), (self.read().class_code, self.read().uses))

    def test_one_who_only_looks_is_waited_for(self):
        self.plug()
        self.world.open_by(7, '(udev-worker)', 'nvme0n1')
        looks = []

        def look():
            looks.append(1)
            if len(looks) == 3:
                self.world.end_process(7)
            return self.read()

        self.assertEqual((), facts.await_touchable(look, seconds=60).uses)
        self.assertEqual(3, len(looks))

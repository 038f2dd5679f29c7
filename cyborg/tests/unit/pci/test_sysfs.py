# SPDX-License-Identifier: Apache-2.0

import builtins
import contextlib
import errno
import os
from unittest import mock

from cyborg.pci import address
from cyborg.pci import links
from cyborg.pci import simulate
from cyborg.pci import sysfs
from cyborg.tests import base
from cyborg.tests.fixtures import sysfs as sysfs_fixture

A = address.PciAddress.parse
ETHERNET = 0x020000


class ScanTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.host = self.useFixture(sysfs_fixture.SysfsTree())
        self.tree = self.host.tree

    def add(self, where='0000:3b:00.0', **facts):
        self.tree.add(where, 0x8086, 0x154c, ETHERNET, **facts)

    def scan(self):
        found = sysfs.scan(self.host.path)
        return {str(d.address): d for d in found.devices}, found.faults

    def only(self, **facts):
        self.add(**facts)
        devices, faults = self.scan()
        self.assertEqual((), faults)
        return devices['0000:3b:00.0']

    def test_a_plain_device(self):
        """DSC-1"""
        device = self.only(driver='igb', module='igb', iommu_group=7,
                           numa_node=1)
        self.assertEqual(
            ('8086', '154c', ETHERNET, 'igb', 'igb', '7', 1, 'PCI'),
            (device.vendor_id, device.product_id, device.class_code,
             device.driver, device.driver_module, device.iommu_group,
             device.numa_node, device.kind))
        self.assertEqual('Ethernet controller', device.class_name)

    def test_pf_and_vfs_know_each_other(self):
        """B21: a VF without network interface is a device like others."""
        self.add(totalvfs=8)
        for function in '12':
            self.add('0000:3b:00.' + function, physfn='0000:3b:00.0')
        devices, _faults = self.scan()
        pf, vf = devices['0000:3b:00.0'], devices['0000:3b:00.1']
        self.assertEqual((A('0000:3b:00.1'), A('0000:3b:00.2')), pf.virtfns)
        self.assertEqual(('PF', 8), (pf.kind, pf.totalvfs))
        self.assertEqual(('VF', A('0000:3b:00.0'), None),
                         (vf.kind, vf.physfn, vf.totalvfs))

    def test_pf_and_vfs_where_links_cannot_be_asked_about(self):
        with mock.patch.object(sysfs, '_ASKS_ABOUT_LINKS', new=False):
            self.test_pf_and_vfs_know_each_other()

    def test_a_pf_without_vfs_enabled(self):
        self.assertEqual(('PF', ()), (
            (d := self.only(totalvfs=8)).kind, d.virtfns))

    def test_numa_node(self):
        """B31, DSC-7: 0 is a node, anything odd is unknown."""
        self.add(numa_node=0)
        for text, expected in {
                b'0\n': 0, b'1\n': 1, b'-1\n': None, b'': None,
                b'one\n': None, b'\xff\xfe\n': None, b'1 2\n': None,
                b'\xd9\xa3\n': None, b'9999999999999\n': None}.items():
            self.tree.write('0000:3b:00.0', 'numa_node', text)
            device = self.scan()[0]['0000:3b:00.0']
            self.assertEqual(expected, device.numa_node, text)

    def test_numa_node_absent(self):
        self.assertIsNone(self.only(numa_node=None).numa_node)

    def test_totalvfs_garbage_is_no_pf(self):
        self.add(totalvfs=4)
        for text in (b'junk', b'0', b'-4', b'\xff'):
            self.tree.write('0000:3b:00.0', 'sriov_totalvfs', text)
            self.assertFalse(self.scan()[0]['0000:3b:00.0'].sriov, text)

    def test_ids_are_lower_case_whatever_is_read(self):
        """B08"""
        self.add()
        self.tree.write('0000:3b:00.0', 'vendor', b'0X10DE\n')
        self.tree.write('0000:3b:00.0', 'device', b'1EB8')
        device = self.scan()[0]['0000:3b:00.0']
        self.assertEqual(('10de', '1eb8'),
                         (device.vendor_id, device.product_id))

    def test_upper_case_name(self):
        self.add('0000:3B:00.0')
        self.assertEqual(['0000:3b:00.0'], list(self.scan()[0]))

    def test_bad_attribute_names_the_device_and_spares_the_others(self):
        """DSC-10"""
        for name, data, reason in (
                ('vendor', b'', "vendor holds ''"),
                ('vendor', b'0xzz', "vendor holds '0xzz'"),
                ('device', b'\xff\xfe\n', r"device holds '\\xff\\xfe'"),
                ('class', b'0x1234567', "class holds '0x1234567'"),
                ('class', b'-1', "class holds '-1'")):
            host = self.useFixture(sysfs_fixture.SysfsTree())
            for where in ('0000:3b:00.0', '0000:3c:00.0'):
                host.tree.add(where, 0x8086, 0x154c, ETHERNET)
            host.tree.write('0000:3b:00.0', name, data)
            found = sysfs.scan(host.path)
            self.assertEqual([A('0000:3c:00.0')],
                             [d.address for d in found.devices])
            self.assertEqual((sysfs.Fault('0000:3b:00.0', reason),),
                             found.faults)
            self.assertEqual(A('0000:3b:00.0'), found.faults[0].address)

    def test_missing_attribute(self):
        self.add()
        os.unlink(os.path.join(
            self.host.path, 'bus/pci/devices/0000:3b:00.0/class'))
        self.assertEqual(
            (sysfs.Fault('0000:3b:00.0', 'class: No such file or directory'),
             ), self.scan()[1])

    def test_dangling_entry(self):
        self.add()
        os.symlink('../../../devices/gone', os.path.join(
            self.host.path, 'bus/pci/devices/0000:3c:00.0'))
        devices, faults = self.scan()
        self.assertEqual(['0000:3b:00.0'], list(devices))
        self.assertEqual((sysfs.Fault(
            '0000:3c:00.0', 'it vanished while it was read'),), faults)

    def test_vanishing_during_the_read(self):
        """DSC-10: the kernel answers ENODEV once a device is unplugged."""
        self.add()
        self.add('0000:3c:00.0')
        real = os.read

        def read(descriptor, size):
            path = os.readlink('/proc/self/fd/%d' % descriptor)
            if path.endswith('0000:3b:00.0/class'):
                raise OSError(errno.ENODEV, os.strerror(errno.ENODEV))
            return real(descriptor, size)

        with mock.patch.object(os, 'read', new=read):
            devices, faults = self.scan()
        self.assertEqual(['0000:3c:00.0'], list(devices))
        self.assertEqual('class: No such device', faults[0].reason)

    def remove_while_reading(self, where, step, remove):
        """Let a device go when a scan comes to one of its files.

        :param step: name of a file or link; ``remove`` is called before it
            is asked for, and for ``source``, where the ids come from, after
            it was read.
        """
        place = os.path.realpath(os.path.join(
            self.host.path, 'bus/pci/devices', where))
        waiting = [remove]

        def go(path):
            if path == os.path.join(place, step) and waiting:
                waiting.pop()()

        def at_name(function):
            def ask(name, *args, dir_fd=None, **kwargs):
                if dir_fd is not None:
                    go(os.path.join(readlink(
                        '/proc/self/fd/%d' % dir_fd), name))
                return function(name, *args, dir_fd=dir_fd, **kwargs)
            return ask

        def after_read(descriptor, size):
            data = read(descriptor, size)
            if step == self.source:
                go(readlink('/proc/self/fd/%d' % descriptor))
            return data

        readlink, read = os.readlink, os.read
        with contextlib.ExitStack() as patches:
            for name in ('access', 'open', 'readlink'):
                if step != self.source:
                    patches.enter_context(mock.patch.object(
                        os, name, new=at_name(getattr(os, name))))
            patches.enter_context(mock.patch.object(
                os, 'read', new=after_read))
            devices, faults = self.scan()
        self.assertEqual([], waiting, step)
        return devices, faults

    #: The last file that identifies a device.
    source = 'class'

    def add_function(self):
        self.add('0000:3b:00.1', physfn='0000:3b:00.0', numa_node=1,
                 driver='igbvf', iommu_group=7)

    def test_a_device_without_its_last_attributes_is_no_good_one(self):
        """DSC-10: their files answer as if it had never had them."""
        self.add(totalvfs=4)
        for step in (self.source, 'physfn', 'sriov_totalvfs', 'numa_node',
                     'iommu_group'):
            where = '0000:3b:00.1'
            self.add_function()
            if step == 'sriov_totalvfs':
                self.add(where := '0000:3c:00.0', totalvfs=4)
            devices, faults = self.remove_while_reading(
                where, step, lambda where=where: self.tree.remove(where))
            self.assertEqual(
                (False, (sysfs.Fault(
                    where, 'it vanished while it was read'),)),
                (where in devices, faults), step)
            self.assertIn('0000:3b:00.0', devices)

    def test_a_device_whose_removal_has_begun(self):
        """The kernel takes the link below bus/pci/devices away last.

        device_del() in drivers/base/core.c: ``uevent``, then the others.
        """
        self.add()
        self.add('0000:3c:00.0')
        place = os.path.join(self.host.path, 'bus/pci/devices/0000:3b:00.0')

        def remove():
            for name in ('uevent', 'vendor', 'numa_node'):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(os.path.join(place, name))

        devices, faults = self.remove_while_reading(
            '0000:3b:00.0', 'numa_node', remove)
        self.assertEqual(['0000:3c:00.0'], list(devices))
        self.assertEqual((sysfs.Fault(
            '0000:3b:00.0', 'it vanished while it was read'),), faults)

    def test_any_file_may_fail_during_the_read(self):
        """DSC-10: whichever file it is, the other devices are reported."""
        self.add(totalvfs=2)
        self.add('0000:3c:00.0')
        self.tree.write('0000:3b:00.0', 'uevent', b'MODALIAS=x\n')
        real = os.read
        for number in (errno.ENODEV, errno.EIO):
            for name in ('uevent', 'vendor', 'device', 'class',
                         'numa_node', 'sriov_totalvfs'):
                def read(descriptor, size, name=name, number=number):
                    path = os.readlink('/proc/self/fd/%d' % descriptor)
                    if path.endswith('0000:3b:00.0/' + name):
                        raise OSError(number, os.strerror(number))
                    return real(descriptor, size)

                with mock.patch.object(os, 'read', new=read):
                    devices, faults = self.scan()
                self.assertIn('0000:3c:00.0', devices)
                # Without these two, other than for its removal, it is whole.
                if (number, name) not in (
                        (errno.EIO, 'numa_node'),
                        (errno.EIO, 'sriov_totalvfs')):
                    self.assertEqual(
                        '%s: %s' % (name, os.strerror(number)),
                        faults[0].reason)

    def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(self):
        self.add()
        self.add('0000:3c:00.0')
        place = os.path.join(self.host.path, 'bus/pci/devices/0000:3b:00.0')
        for name in ('uevent', 'numa_node', 'sriov_totalvfs', 'vendor'):
            path = os.path.join(place, name)
            if os.path.exists(path):
                os.unlink(path)
            os.mkfifo(path)
            self.assertIn('0000:3c:00.0', self.scan()[0])
        self.assertEqual((sysfs.Fault('0000:3b:00.0', "vendor holds ''"),),
                         self.scan()[1])

    def test_links_in_a_circle(self):
        self.add('0000:3c:00.0')
        os.symlink('0000:3b:00.0', os.path.join(
            self.host.path, 'bus/pci/devices/0000:3b:00.0'))
        devices, faults = self.scan()
        self.assertEqual(['0000:3c:00.0'], list(devices))
        self.assertIn('Too many levels', faults[0].reason)

    def test_names_that_a_terminal_would_obey(self):
        """Or that no stream can encode."""
        self.add()
        place = os.path.join(self.host.path, 'bus/pci/devices/0000:3b:00.0')
        for name in (b'driver', b'iommu_group'):
            os.symlink(b'../\xff\x1b[2J', os.fsencode(place) + b'/' + name)
        os.symlink(place, os.fsencode(self.host.path)
                   + b'/class/net/e\xff\n')
        os.symlink(os.path.realpath(place), os.fsencode(self.host.path)
                   + b'/bus/pci/devices/\x1b[2J')
        devices, faults = self.scan()
        device = devices['0000:3b:00.0']
        self.assertEqual(r'\udcff\x1b[2J', device.iommu_group)
        for text in (device.driver, *device.net_names,
                     *(fault.name for fault in faults)):
            text.encode('ascii')
            self.assertTrue(text.isprintable(), text)
        self.assertEqual(1, len(device.net_names))

    def test_driver_of_the_summary_that_a_terminal_would_obey(self):
        self.add()
        self.tree.write('0000:3b:00.0', 'uevent', b'DRIVER=\x1b[2J\xff\n'
                        b'PCI_CLASS=20000\nPCI_ID=8086:154C\n')
        self.assertEqual(r'\x1b[2J\xff',
                         self.scan()[0]['0000:3b:00.0'].driver)

    def test_a_pf_with_vfs_is_one_whatever_its_attribute_holds(self):
        self.add(totalvfs=4)
        self.add('0000:3b:00.1', physfn='0000:3b:00.0')
        self.tree.write('0000:3b:00.0', 'sriov_totalvfs', b'junk')
        self.assertEqual('PF', self.scan()[0]['0000:3b:00.0'].kind)

    def test_names_that_are_no_addresses(self):
        self.add()
        root = os.path.join(self.host.path, 'bus/pci/devices')
        os.mkdir(os.path.join(root, 'garbage'))
        os.mkdir(os.path.join(os.fsencode(root), b'\xff\xfe'))
        devices, faults = self.scan()
        self.assertEqual(['0000:3b:00.0'], list(devices))
        self.assertEqual([r'\xff\xfe', 'garbage'],
                         sorted(fault.name for fault in faults))
        self.assertEqual([None, None], [fault.address for fault in faults])

    def test_physfn_that_is_no_function(self):
        self.add()
        place = os.path.join(self.host.path, 'bus/pci/devices/0000:3b:00.0')
        os.symlink('../garbage', os.path.join(place, 'physfn'))
        self.assertIn("physfn: 'garbage' is no PCI address",
                      self.scan()[1][0].reason)

    def test_one_function_under_two_names(self):
        """B39"""
        self.add('0000:3b:00.0')
        self.add('0000:3B:00.0')
        devices, faults = self.scan()
        self.assertEqual(1, len(devices))
        self.assertEqual('another entry has the same address',
                         faults[0].reason)

    def test_no_list_is_an_error_and_not_an_empty_host(self):
        """MIS-7"""
        error = self.assertRaises(
            sysfs.SysfsUnreadable, sysfs.scan, self.host.path + '/nowhere')
        self.assertEqual(
            'PCI devices cannot be listed in %s/nowhere/bus/pci/devices: No '
            'such file or directory. Check [pci] sysfs_path.'
            % self.host.path, str(error))

    def test_troubles_of_this_process_are_no_faults_of_devices(self):
        """MIS-7: else all devices would count as missing."""
        self.add()
        real = os.open
        for number in (errno.EMFILE, errno.ENFILE, errno.EACCES):
            for wanted in ('0000:3b:00.0', 'vendor', 'numa_node'):
                def fail(path, *args, wanted=wanted, number=number, **kwargs):
                    if os.path.basename(path) == wanted:
                        raise OSError(number, os.strerror(number), path)
                    return real(path, *args, **kwargs)

                with mock.patch.object(os, 'open', new=fail):
                    error = self.assertRaises(
                        sysfs.SysfsUnreadable, sysfs.scan, self.host.path)
                self.assertEqual(os.strerror(number), error.reason)

    def test_a_file_of_which_nobody_can_tell_whether_it_is_there(self):
        """MIS-7: access() answers "no" whatever it is that went wrong."""
        self.add()
        error = OSError(errno.ENOMEM, os.strerror(errno.ENOMEM), 'vendor')
        with mock.patch.object(os, 'access', new=lambda *a, **k: False):
            self.assertEqual((['0000:3b:00.0'], ()), (
                list(self.scan()[0]), self.scan()[1]))
            with mock.patch.object(os, 'stat', side_effect=error):
                self.assertEqual(error.strerror, self.assertRaises(
                    sysfs.SysfsUnreadable, sysfs.scan,
                    self.host.path).reason)

    def test_an_entry_that_is_no_directory(self):
        self.add()
        with open(os.path.join(self.host.path,
                               'bus/pci/devices/0000:3c:00.0'), 'w'):
            pass
        devices, faults = self.scan()
        self.assertEqual(['0000:3b:00.0'], list(devices))
        self.assertIn('Not a directory', faults[0].reason)

    def test_vfio(self):
        """B26: a variant driver counts, a host driver doesn't."""
        self.tree.depend('vfio', 'vfio_pci_core')
        self.tree.depend('vfio_pci_core', 'mlx5_vfio_pci')
        self.add('0000:3b:00.0', driver='vfio-pci', module='vfio_pci')
        self.add('0000:3b:00.1', driver='mlx5_vfio_pci',
                 module='mlx5_vfio_pci')
        self.add('0000:3b:00.2', driver='igb', module='igb')
        self.add('0000:3b:00.3')
        self.add('0000:3b:00.4', driver='nvidia', module='nvidia')
        self.tree.vfio('0000:3b:00.4', 'vfio0')
        devices, _faults = self.scan()
        self.assertEqual(
            [True, True, False, False, True],
            [devices['0000:3b:00.%d' % n].vfio for n in range(5)])

    def test_vfio_by_way_of_another_module(self):
        self.tree.depend('vfio_pci_core', 'vendor_common')
        self.tree.depend('vendor_common', 'vendor_vfio', 'vfio_pci_core')
        self.add(driver='vendor_vfio', module='vendor_vfio')
        self.assertTrue(self.scan()[0]['0000:3b:00.0'].vfio)

    def test_network_interfaces(self):
        self.add()
        self.tree.net('0000:3b:00.0', 'ens1f0')
        self.assertEqual(('ens1f0',),
                         self.scan()[0]['0000:3b:00.0'].net_names)

    def test_a_link_whose_part_is_no_address_ends_no_scan(self):
        """DSC-10: slot ff has the shape of an address and is none."""
        self.add()
        for kind, name in (('net', 'odd0'), ('vfio-dev', 'vfio9')):
            os.symlink('../../devices/pci0000:50/0000:50:ff.0/%s' % name,
                       os.path.join(self.host.path, 'class', kind, name))
        self.tree.net('0000:3b:00.0', 'ens1f0')
        devices, faults = self.scan()
        self.assertEqual(((), ('ens1f0',)),
                         (faults, devices['0000:3b:00.0'].net_names))

    def test_owner_is_what_the_last_part_names(self):
        """Above it stand bridges, which own nothing of it."""
        for path, owner in (
                ('pci0000:50/0000:50:00.0/0000:51:00.0/net/x',
                 A('0000:51:00.0')),
                ('pci0000:50/0000:50:00.0/0000:51:ff.0/net/x', None),
                ('pci0000:50/0000:50:ff.0/0000:51:00.0/net/x',
                 A('0000:51:00.0')),
                # A name that only ends as an address does.
                ('0000:51:00.0/mdio_bus/mdio-0000:52:00.0',
                 A('0000:51:00.0')),
                ('virtual/net/lo', None), ('', None)):
            self.assertEqual(owner, links.owner_of(path), path)

    def test_upstream_passes_over_a_part_that_is_no_address(self):
        self.add()
        os.symlink('../../../devices/pci0000:3a/0000:3a:00.0/0000:3b:ff.0/'
                   '0000:3c:00.0', os.path.join(
                       self.host.path, 'bus/pci/devices/0000:3c:00.0'))
        self.assertEqual((A('0000:3a:00.0'),), links.upstream(
            self.host.path, A('0000:3c:00.0')))

    def test_upstream_bridges(self):
        self.tree.add('0000:3a:00.0', 0x1b36, 0xc, 0x060400)
        self.add(parent='0000:3a:00.0')
        for where, bridges in (('0000:3b:00.0', (A('0000:3a:00.0'),)),
                               ('0000:3a:00.0', ()), ('0000:99:00.0', ())):
            self.assertEqual(bridges, links.upstream(
                self.host.path, A(where)))

    def test_each_attribute_is_opened_once_and_nothing_is_written(self):
        """PERF-1, B18"""
        self.add(totalvfs=2)
        self.add('0000:3b:00.1', physfn='0000:3b:00.0')
        opened, real = [], os.open

        def record(path, flags, *args, dir_fd=None):
            self.assertEqual(0, flags & (os.O_WRONLY | os.O_RDWR))
            folder = dir_fd and os.readlink('/proc/self/fd/%d' % dir_fd)
            opened.append((folder, os.path.basename(path)))
            return real(path, flags, *args, dir_fd=dir_fd)

        with mock.patch.object(os, 'open', new=record), \
                mock.patch.object(builtins, 'open', new=None):
            sysfs.scan(self.host.path)
        self.assertEqual(len(set(opened)), len(opened))
        self.assertIn('vendor', [name for folder, name in opened
                                 if folder and folder.endswith('3b:00.1')])


class CapturedHostTest(base.TestCase):
    """Attributes as real hosts show them."""

    def scan(self, name):
        host = self.useFixture(sysfs_fixture.SysfsTree(name))
        return sysfs.scan(host.path), sysfs_fixture.captured(name)

    def test_every_capture(self):
        for name in ('no-iommu', 'sriov-off', 'sriov-on', 'nvme-vf-on-vfio'):
            found, facts = self.scan(name)
            self.assertEqual((), found.faults)
            self.assertEqual(len(facts), len(found.devices))
            for device, fact in zip(found.devices, facts, strict=True):
                node = int(fact['numa_node'])
                self.assertEqual(
                    (fact['address'], int(fact['vendor'], 16),
                     int(fact['device'], 16), int(fact['class'], 16),
                     fact.get('driver'), fact.get('iommu_group'),
                     node if node >= 0 else None, fact.get('physfn'),
                     fact.get('virtfn', [])),
                    (str(device.address), int(device.vendor_id, 16),
                     int(device.product_id, 16), device.class_code,
                     device.driver, device.iommu_group, device.numa_node,
                     str(device.physfn) if device.physfn else None,
                     [str(vf) for vf in device.virtfns]))

    def test_vfs_share_the_port_of_their_pf(self):
        host = self.useFixture(sysfs_fixture.SysfsTree('sriov-on'))
        self.assertEqual((A('0000:20:00.0'),), links.upstream(
            host.path, A('0000:21:10.2')))


class SimulatedHostTest(base.TestCase):

    def test_the_host_of_simulate(self):
        """BASE-3: PFs, VFs, NUMA nodes, an NVMe and a NIC."""
        path = os.path.join(self.temp_dir(), 'sys')
        simulate.build(path)
        found = sysfs.scan(path)
        self.assertEqual((), found.faults)
        kinds = [d.kind for d in found.devices]
        self.assertEqual((1, 4), (kinds.count('PF'), kinds.count('VF')))
        self.assertEqual({None, 0, 1}, {d.numa_node for d in found.devices})
        names = {d.class_name for d in found.devices}
        self.assertEqual(
            set(), {'Ethernet controller', 'Processing accelerators',
                    'Non-Volatile memory controller'} - names)

    def test_unplugging(self):
        path = os.path.join(self.temp_dir(), 'sys')
        tree = simulate.build(path)
        before = len(sysfs.scan(path).devices)
        tree.remove('0000:41:00.0')
        found = sysfs.scan(path)
        self.assertEqual((before - 1, ()), (len(found.devices), found.faults))


class SummaryTest(ScanTest):
    """The same scan where the kernel's summary file is there, as on a host.

    Every test of the parent runs on attributes alone.
    """

    source = 'uevent'

    def add_function(self):
        super().add_function()
        self.summarize('0000:3b:00.1', driver='igbvf')

    def summarize(self, where='0000:3b:00.0', text=None, driver='igb'):
        text = text or (
            'DRIVER=%s\nPCI_CLASS=20000\nPCI_ID=8086:154C\n'
            'PCI_SUBSYS_ID=0000:0000\nPCI_SLOT_NAME=%s\n' % (driver, where))
        self.tree.write(where, 'uevent', text.encode())

    def add(self, where='0000:3b:00.0', **facts):
        super().add(where, **facts)
        self.tree.write(where, 'uevent', b'MODALIAS=of:nothing\n')

    def test_summary_says_what_the_attributes_say(self):
        """DSC-1"""
        self.add(driver='igb', module='igb')
        by_attributes = self.scan()
        self.summarize()
        self.assertEqual(by_attributes, self.scan())

    def test_other_lines_of_the_summary_are_not_taken_for_the_driver(self):
        self.add()
        self.summarize(text='OTHER_DRIVER=x\nPCI_CLASS=20000\n'
                       'PCI_ID=8086:154C\nMY_DRIVER=y\n')
        self.assertIsNone(self.scan()[0]['0000:3b:00.0'].driver)

    def test_summary_takes_the_place_of_the_attributes(self):
        self.add(driver='igb')
        for name in ('vendor', 'device', 'class'):
            self.tree.write('0000:3b:00.0', name, b'not read')
        self.summarize(text='DRIVER=other\nPCI_CLASS=10802\n'
                       'PCI_ID=144D:A808\nPCI_SUBSYS_ID=0000:0000\n')
        device = self.scan()[0]['0000:3b:00.0']
        self.assertEqual(('144d', 'a808', 0x010802, 'other'), (
            device.vendor_id, device.product_id, device.class_code,
            device.driver))

    def test_summary_of_an_unbound_device(self):
        self.add()
        self.summarize(text='PCI_CLASS=20000\nPCI_ID=8086:154C\n')
        self.assertIsNone(self.scan()[0]['0000:3b:00.0'].driver)

    def test_summary_without_meaning_is_not_believed(self):
        for text in ('', 'PCI_CLASS=zz\nPCI_ID=8086:154C\n',
                     'PCI_CLASS=20000\n', 'PCI_ID=8086:154C\n', '\x00\xff'):
            self.add()
            self.summarize(text=text or '\n')
            self.assertEqual('8086',
                             self.scan()[0]['0000:3b:00.0'].vendor_id, text)
            self.tree.remove('0000:3b:00.0')

    def test_this_machine_reads_the_same_with_and_without_summary(self):
        """The attributes of the host itself, where it has PCI devices."""
        with_summary = sysfs.scan('/sys')
        with mock.patch('cyborg.pci.uevent.parse', return_value=None):
            self.assertEqual(sysfs.scan('/sys'), with_summary)

# SPDX-License-Identifier: Apache-2.0
"""The system calls, with the kernel's side of an ioctl played."""

import ctypes
import errno
import fcntl
import os
from unittest import mock

from cyborg.nvme import linux
from cyborg.nvme import roots
from cyborg.nvme import structures
from cyborg.tests import base as tests_base
from cyborg.tests.unit.nvme import base


class AdminTest(base.DiskTestCase):
    """A simulated disk behind the pointer that the kernel would follow."""

    def setUp(self):
        super().setUp()
        self.plug()
        self.device = self.world.device(base.ADDRESS)
        self.kernel = linux.Kernel()
        patcher = mock.patch.object(fcntl, 'ioctl', self.ioctl)
        patcher.start()
        self.addCleanup(patcher.stop)

    def ioctl(self, _descriptor, request, packed):
        self.assertEqual(0xc0484e41, request)
        command = bytearray(packed)
        place = int.from_bytes(command[24:32], 'little')
        command[24:32] = bytes(8)
        parts = structures.Command.unpack(bytes(command))
        self.assertEqual(bool(parts.data_len), bool(place))
        self.assertEqual(0, place % os.sysconf('SC_PAGESIZE'))
        found = self.device.admin(bytes(command), ctypes.string_at(
            place, parts.data_len) if parts.to_controller else b'')
        if parts.from_controller:
            ctypes.memmove(place, found.data, parts.data_len)
        packed[68:72] = found.result.to_bytes(4, 'little')
        return found.status

    def admin(self, command, data=b''):
        return self.kernel.admin(0, command.pack(), data)

    def test_data_from_the_controller(self):
        found = self.admin(structures.identify(structures.CNS_CONTROLLER))
        self.assertEqual(('S1', 0), (
            structures.identity(found.data).serial, found.status))

    def test_data_to_the_controller_and_a_result(self):
        namespace = self.device.namespaces()[0]
        self.assertEqual(0, self.admin(structures.delete_namespace(1),
                                       bytes(4096)).status)
        self.assertEqual(1, self.admin(*structures.create_namespace(
            namespace)).result)

    def test_no_data_and_a_status(self):
        found = self.admin(structures.sanitize(3))
        self.assertEqual((0x002, b''), (found.status, found.data))


class BlockTest(tests_base.TestCase):
    """On a file, where the file system has direct transfers."""

    def setUp(self):
        super().setUp()
        self.path = os.path.join(self.temp_dir(), 'disk')
        with open(self.path, 'wb') as stream:
            stream.truncate(8192)
        self.kernel = linux.Kernel(roots.Roots(
            dev=os.path.dirname(self.path)))
        self.name = os.path.basename(self.path)

    def open(self, writable=True):
        try:
            handle = self.kernel.open_block(self.name, writable)
        except OSError as error:
            if error.errno == errno.EINVAL:
                self.skipTest('no direct transfers in this file system')
            raise
        self.addCleanup(self.kernel.close, handle)
        return handle

    def test_read_and_write_past_caches(self):
        handle = self.open()
        flags = fcntl.fcntl(handle, fcntl.F_GETFL)
        self.assertTrue(flags & os.O_DIRECT and flags & os.O_DSYNC)
        self.assertEqual(4096, self.kernel.write(handle, 4096, b'x' * 4096))
        self.assertEqual(b'x' * 4096, self.kernel.read(handle, 4096, 4096))
        # The end: what is short is given as it is.
        self.assertEqual(4096, len(self.kernel.read(handle, 4096, 8192)))

    def test_write_only_what_was_opened_for_it(self):
        self.assertRaises(OSError, self.kernel.write, self.open(False), 0,
                          bytes(512))

    def test_files_of_sysfs_are_never_made(self):
        self.assertRaises(FileNotFoundError, self.kernel.write_file,
                          self.path + '.absent', 'x')
        self.kernel.write_file(self.path, 'text')
        with open(self.path, 'rb') as stream:
            self.assertEqual(b'text', stream.read(4))

    def test_what_is_open_has_its_number(self):
        kernel = linux.Kernel()
        handle = kernel.open_controller('null')
        self.addCleanup(kernel.close, handle)
        self.assertEqual('1:3', kernel.number(handle))
        self.assertEqual(frozenset({os.getpid()}), kernel.pids())

# SPDX-License-Identifier: Apache-2.0
"""The system calls that a disk of this host takes.

Needs CAP_SYS_ADMIN and the device nodes. Sources: include/uapi/linux/
nvme_ioctl.h and fs.h of the Linux kernel, open(2) for O_EXCL and O_DIRECT.
"""

import array
import ctypes
import fcntl
import mmap
import os

from cyborg.nvme import port as nvme_port
from cyborg.nvme import roots as nvme_roots
from cyborg.nvme import structures

#: _IOWR('N', 0x41, struct nvme_passthru_cmd) and _IO('N', 0x46).
_ADMIN_CMD = 0xc0484e41
_RESCAN = 0x4e46
#: _IOR(0x12, 114, size_t)
_BLKGETSIZE64 = 0x80081272
#: Places of ``addr`` and ``result`` in the command.
_ADDR, _RESULT = 24, 68


class Kernel:
    """Keeps :class:`cyborg.nvme.port.Kernel` with what Linux offers."""

    def __init__(self, roots: nvme_roots.Roots | None = None):
        self.roots = roots or nvme_roots.Roots()

    def pids(self) -> frozenset[int]:
        return frozenset({os.getpid()})

    def open_controller(self, name: str) -> int:
        return self._open(name, os.O_RDONLY)

    def open_group(self, name: str) -> int:
        return self._open(name, os.O_RDWR)

    def open_block(self, name: str, writable: bool) -> int:
        flags = os.O_EXCL | os.O_DIRECT
        # O_DSYNC: what was written stands on the medium, not in a cache.
        return self._open(name, flags | (os.O_RDWR | os.O_DSYNC if writable
                                         else os.O_RDONLY))

    def _open(self, name, flags):
        return os.open(os.path.join(self.roots.dev, name),
                       flags | os.O_CLOEXEC)

    def close(self, handle: int) -> None:
        os.close(handle)

    def number(self, handle: int) -> str:
        device = os.fstat(handle).st_rdev
        return '%d:%d' % (os.major(device), os.minor(device))

    def size(self, handle: int) -> int:
        size = array.array('Q', [0])
        fcntl.ioctl(handle, _BLKGETSIZE64, size)
        return size[0]

    def admin(self, handle: int, command: bytes,
              data: bytes) -> nvme_port.Completion:
        parts = structures.Command.unpack(command)
        packed = bytearray(command)
        # Anonymous memory begins at a page, as direct transfers like it.
        with mmap.mmap(-1, max(parts.data_len, 1)) as memory:
            memory[:len(data)] = data
            place = ctypes.c_char.from_buffer(memory)
            try:
                if parts.data_len:
                    packed[_ADDR:_ADDR + 8] = ctypes.addressof(
                        place).to_bytes(8, 'little')
                status = fcntl.ioctl(handle, _ADMIN_CMD, packed)
            finally:
                # A mapping with a view on it can't be closed.
                del place
            return nvme_port.Completion(
                status,
                int.from_bytes(packed[_RESULT:_RESULT + 4], 'little'),
                memory[:parts.data_len] if parts.from_controller else b'')

    def rescan(self, handle: int) -> None:
        fcntl.ioctl(handle, _RESCAN)

    def read(self, handle: int, offset: int, length: int) -> bytes:
        with mmap.mmap(-1, length) as memory:
            return memory[:os.preadv(handle, [memory], offset)]

    def write(self, handle: int, offset: int, data: bytes) -> int:
        with mmap.mmap(-1, len(data)) as memory:
            memory[:] = data
            return os.pwritev(handle, [memory], offset)

    def write_file(self, path: str, text: str) -> None:
        descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            # sysfs wants all of it in one write.
            os.write(descriptor, text.encode())
        finally:
            os.close(descriptor)

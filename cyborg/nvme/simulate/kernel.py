# SPDX-License-Identifier: Apache-2.0
"""What one process has of a simulated host's kernel.

Exclusive handles are file locks: they end with :meth:`Kernel.die` or with
the real process, as those of a killed process do.
"""

from collections.abc import Callable
import dataclasses
import errno
import fcntl
import os
import re
from typing import Protocol

from cyborg.nvme import port as nvme_port
from cyborg.nvme import roots as nvme_roots
from cyborg.nvme import structures
from cyborg.nvme.simulate import device as sim_device

_PCI_FILE = re.compile(r'bus/pci/devices/([^/]+)/(driver_override|'
                       r'driver/unbind)')
#: Commands that the ``blocks`` fault lets wait.
_BLOCKING = (structures.FORMAT_NVM, structures.SANITIZE)


class World(Protocol):
    """What a kernel stands over: see :mod:`cyborg.nvme.simulate.world`."""

    def at(self, *names: str) -> str: ...

    def address_of(self, controller: str) -> str | None: ...

    def protected(self, address: str, nsid: int) -> bool: ...

    def claimed(self, name: str) -> bool: ...

    def device(self, address: str) -> sim_device.Device: ...

    def wait_while_blocked(self, address: str) -> None: ...

    def publish(self, address: str) -> None: ...

    def override(self, address: str, driver: str | None) -> None: ...

    def unbind(self, address: str) -> None: ...

    def probe(self, address: str) -> None: ...


class Killed(BaseException):
    """Raised by a hook of :class:`Kernel`: the process ends here.

    No Exception, so that nothing of ours can catch it and go on.
    """


@dataclasses.dataclass
class _Handle:
    kind: str
    name: str
    node: str
    address: str | None = None
    nsid: int = 0
    lock: int | None = None
    writable: bool = True


def _address(found: _Handle) -> str:
    if found.address is None:
        raise _error(errno.ENODEV)
    return found.address


class Kernel:
    """Keeps :class:`cyborg.nvme.port.Kernel` over a simulated world.

    :param on_call: called with ``'before'`` and ``'after'`` and the name of
        the call, for each one that reaches a disk or changes something; may
        raise :class:`Killed`.
    """

    def __init__(self, world: World,
                 on_call: Callable[[str, str], None] | None = None):
        self.world = world
        self.roots = nvme_roots.Roots(world.at('sys'), world.at('proc'),
                                      world.at('dev'))
        self._on_call = on_call or (lambda stage, call: None)
        self._handles: dict[int, _Handle] = {}
        self._next = 100

    def die(self) -> None:
        """The process ends, in whatever it was doing."""
        for handle in tuple(self._handles):
            self.close(handle)

    def pids(self) -> frozenset[int]:
        return frozenset()

    def open_controller(self, name: str) -> int:
        address = self.world.address_of(name)
        return self._new(_Handle('controller', name, self._node(name),
                                 address))

    def open_group(self, name: str) -> int:
        node = self._node(name)
        return self._new(_Handle('group', name, node,
                                 lock=self._lock(name)))

    def open_block(self, name: str, writable: bool) -> int:
        node = self._node(name)
        controller, _n, nsid = name.rpartition('n')
        address = self.world.address_of(controller)
        if address is None:
            raise _error(errno.ENODEV)
        if writable and self.world.protected(address, int(nsid)):
            raise _error(errno.EACCES)
        return self._new(_Handle('block', name, node, address, int(nsid),
                                 self._lock(name), writable))

    def _node(self, name: str) -> str:
        """What tells a device node from others; absent can't be opened."""
        try:
            with open(os.path.join(self.roots.dev, name)) as stream:
                return stream.read()
        except FileNotFoundError:
            raise _error(errno.ENOENT) from None

    def _lock(self, name: str) -> int:
        if self.world.claimed(name):
            raise _error(errno.EBUSY)
        path = self.world.at('locks', name.replace('/', '-'))
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            raise _error(errno.EBUSY) from None
        return lock

    def _new(self, handle) -> int:
        self._next += 1
        self._handles[self._next] = handle
        return self._next

    def close(self, handle: int) -> None:
        found = self._handles.pop(handle)
        if found.lock is not None:
            os.close(found.lock)

    def number(self, handle: int) -> str:
        return self._handles[handle].node.split()[0]

    def size(self, handle: int) -> int:
        found = self._handles[handle]
        if not self._there(found):
            return 0
        return next((each.size for each in self.world.device(
            _address(found)).namespaces() if each.nsid == found.nsid), 0)

    def _there(self, found) -> bool:
        """Whether the node that was opened is still the same device."""
        try:
            return self._node(found.name) == found.node
        except OSError:
            return False

    def admin(self, handle: int, command: bytes,
              data: bytes) -> nvme_port.Completion:
        found = self._handles[handle]
        parts = structures.Command.unpack(command)
        self._on_call('before', parts.name)
        if not self._there(found):
            raise _error(errno.ENODEV)
        device = self.world.device(_address(found))
        if parts.opcode in _BLOCKING:
            self.world.wait_while_blocked(_address(found))
        completion = device.admin(command, data)
        self._on_call('after', parts.name)
        return completion

    def rescan(self, handle: int) -> None:
        self._on_call('before', 'rescan')
        self.world.publish(_address(self._handles[handle]))
        self._on_call('after', 'rescan')

    def read(self, handle: int, offset: int, length: int) -> bytes:
        found = self._handles[handle]
        if not self._there(found):
            return b''
        return self.world.device(_address(found)).read(found.nsid, offset,
                                                       length)

    def write(self, handle: int, offset: int, data: bytes) -> int:
        found = self._handles[handle]
        if not found.writable:
            raise _error(errno.EBADF)
        if not self._there(found):
            raise _error(errno.ENODEV)
        self._on_call('before', 'write')
        written = self.world.device(_address(found)).write(
            found.nsid, offset, data)
        self._on_call('after', 'write')
        return written

    def write_file(self, path: str, text: str) -> None:
        place = os.path.relpath(path, self.roots.sys)
        self._on_call('before', place)
        match = _PCI_FILE.fullmatch(place)
        if match and match.group(2) == 'driver_override':
            self.world.override(match.group(1), text.strip() or None)
        elif match:
            self.world.unbind(match.group(1))
        elif place == 'bus/pci/drivers_probe':
            self.world.probe(text)
        else:
            raise _error(errno.ENOENT)
        self._on_call('after', place)


def _error(number: int) -> OSError:
    return OSError(number, os.strerror(number))

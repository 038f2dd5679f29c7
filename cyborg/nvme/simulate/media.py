# SPDX-License-Identifier: Apache-2.0
"""What a simulated NVM subsystem keeps when power and processes end."""

from collections.abc import Iterator
import contextlib
import dataclasses
import fcntl
import json
import os
from typing import Any

from cyborg.nvme import plain
from cyborg.nvme import records

#: A megabyte is enough for canaries, and quick to erase.
DEFAULT_SIZE = 1 << 20
BLOCK = records.BlockFormat(512)


@dataclasses.dataclass(frozen=True)
class Faults:
    """What is wrong with a disk.

    :ivar lies: erases answer success and erase nothing.
    :ivar keeps_unallocated: likewise for what is in no namespace.
    :ivar short_reads: reads give this many bytes less.
    :ivar read_errors: reads fail with EIO from this byte of a namespace on;
        -1 for none.
    :ivar loses_writes: writes answer success and write nothing.
    :ivar sanitize_hangs_at: progress (0 to 65535) that is never passed;
        -1 for none.
    :ivar sanitize_fails: it ends as failed, and reads fail from then on.
    :ivar format_status: what a format answers; 0 is success.
    :ivar dead: every command fails with ENODEV.
    :ivar blocks: a format or sanitize command does not return.
    """

    lies: bool = False
    keeps_unallocated: bool = False
    short_reads: int = 0
    read_errors: int = -1
    loses_writes: bool = False
    sanitize_hangs_at: int = -1
    sanitize_fails: bool = False
    format_status: int = 0
    dead: bool = False
    blocks: bool = False


@dataclasses.dataclass(frozen=True)
class Extent:
    """A namespace, and where on the media its blocks are."""

    namespace: records.Namespace
    start: int


@dataclasses.dataclass(frozen=True)
class Running:
    """A sanitize operation.

    :ivar began: seconds of the world's clock; ``seconds`` it takes.
    """

    scdw10: int
    began: float
    seconds: float


@dataclasses.dataclass(frozen=True)
class State:
    """One subsystem. ``identity`` is that of its first controller.

    :ivar controllers: ids of its controllers.
    :ivar sstat: SSTAT of the sanitize log; ``scdw10`` likewise.
    :ivar failed: the last sanitize failed; the media can't be read.
    """

    identity: records.Identity
    extents: tuple[Extent, ...] = ()
    controllers: tuple[int, ...] = (0,)
    health: records.Health = records.Health()
    firmware: records.Firmware = records.Firmware()
    faults: Faults = Faults()
    running: Running | None = None
    sanitize_seconds: float = 0.0
    sstat: int = 0
    scdw10: int = 0
    failed: bool = False

    def extent(self, nsid: int) -> Extent | None:
        return next((each for each in self.extents
                     if each.namespace.nsid == nsid), None)

    def replace_extent(self, nsid: int, **changes: Any) -> 'State':
        return dataclasses.replace(self, extents=tuple(
            dataclasses.replace(each, namespace=dataclasses.replace(
                each.namespace, **changes))
            if each.namespace.nsid == nsid else each
            for each in self.extents))

    @property
    def free(self) -> int:
        return self.identity.tnvmcap - sum(
            each.namespace.size for each in self.extents)


class Media:
    """A directory with a subsystem's state, its bytes, and a log.

    Each change is durable when the method returns, as on a disk with a
    protected cache. Safe for several processes and threads.
    """

    def __init__(self, path: str):
        self.path = path
        #: What the file of a stamp held; it is never written to again.
        self._read: tuple[tuple, State] | None = None

    @classmethod
    def create(cls, path: str, state: State) -> 'Media':
        os.makedirs(path)
        media = cls(path)
        with open(media._at('bytes'), 'wb') as stream:
            stream.truncate(state.identity.tnvmcap)
        media._put(state)
        return media

    def _at(self, name: str) -> str:
        return os.path.join(self.path, name)

    def state(self) -> State:
        with open(self._at('state.json')) as stream:
            found = os.fstat(stream.fileno())
            stamp = found.st_ino, found.st_mtime_ns, found.st_size
            known = self._read
            if known is None or known[0] != stamp:
                known = self._read = (stamp, plain.from_plain(
                    State, json.load(stream)))
        return known[1]

    def _put(self, state: State) -> None:
        temporary = self._at('state.new')
        with open(temporary, 'w') as stream:
            stream.write(json.dumps(plain.to_plain(state)))
        os.rename(temporary, self._at('state.json'))

    def set(self, **changes: Any) -> None:
        with self.changing() as state:
            self.put(dataclasses.replace(state, **changes))

    def put(self, state: State) -> None:
        """Only inside of :meth:`changing`."""
        self._put(state)

    @contextlib.contextmanager
    def changing(self) -> Iterator[State]:
        """The state, which nobody else changes meanwhile."""
        with open(self._at('lock'), 'w') as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield self.state()

    def read(self, start: int, length: int) -> bytes:
        with open(self._at('bytes'), 'rb') as stream:
            stream.seek(start)
            return stream.read(length)

    def write(self, start: int, data: bytes) -> None:
        with open(self._at('bytes'), 'r+b') as stream:
            stream.seek(start)
            stream.write(data)

    def erase(self, start: int, length: int) -> None:
        self.write(start, bytes(length))

    def log(self, line: dict) -> None:
        """Append to the log of all that was done to the disk."""
        with open(self._at('log'), 'a') as stream:
            stream.write(json.dumps(line) + '\n')

    def logged(self) -> list[dict]:
        """Oldest first: ``{'opcode': …}``, ``{'write': nsid}``…"""
        try:
            with open(self._at('log')) as stream:
                return [json.loads(line) for line in stream]
        except FileNotFoundError:
            return []

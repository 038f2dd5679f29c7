# SPDX-License-Identifier: Apache-2.0
"""The files of the journal: one a disk, atomic, durable, the owner's alone.

Operators' requests come through the same directory, so that only who may
write there can have a disk erased.
"""

import contextlib
import dataclasses
import fcntl
import json
import os
import time
import uuid

from oslo_log import log as logging

from cyborg.cleaner import exceptions
from cyborg.cleaning import journal
from cyborg.cleaning import records
from cyborg.cleaning import states
from cyborg.nvme import plain
from cyborg.pci import address as pci_address
from cyborg.pci import printable

LOG = logging.getLogger(__name__)

#: What an operator can ask for.
COMMANDS = ('clean', 'retry', 'hold', 'release')

_LOCK = 'lock'
_REQUESTS = 'requests'


@dataclasses.dataclass(frozen=True)
class Request:
    """What an operator asked for.

    :ivar command: one of COMMANDS.
    """

    command: str
    address: str
    reason: str = ''


class Journal:
    """The journal of one host; made by the first who writes.

    Each method raises exceptions.JournalUnusable when it can't be used.
    """

    def __init__(self, path: str, host: str):
        self.path = path
        self._host = host
        self._lock = None

    def _make(self) -> None:
        with self._explained():
            os.makedirs(self.path, mode=0o700, exist_ok=True)
            os.makedirs(os.path.join(self.path, _REQUESTS), mode=0o700,
                        exist_ok=True)

    @contextlib.contextmanager
    def _explained(self):
        try:
            yield
        except OSError as error:
            raise exceptions.JournalUnusable(
                path=self.path, host=self._host,
                reason='%s: %s' % (error.filename, error.strerror)
                if error.filename else error.strerror) from None

    def lock(self) -> None:
        """Keep it for this process.

        :raises exceptions.AnotherCleaner: another one has it.
        """
        self._make()
        with self._explained():
            stream = open(os.path.join(self.path, _LOCK), 'a')
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            stream.close()
            raise exceptions.AnotherCleaner(host=self._host,
                                            path=self.path) from None
        self._lock = stream

    def unlock(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    # Entries

    def load(self) -> dict[str, records.Entry]:
        """File name -> entry. A damaged one becomes an entry in error."""
        found = {}
        with self._explained():
            names = (sorted(os.listdir(self.path))
                     if os.path.exists(self.path) else ())
        for name in names:
            if not name.endswith(journal.SUFFIX):
                continue
            path = os.path.join(self.path, name)
            try:
                with open(path, 'rb') as stream:
                    found[name] = journal.load(stream.read())
            except journal.DamagedEntry as error:
                found[name] = self._damaged(name, str(error))
            except OSError as error:
                found[name] = self._damaged(name, error.strerror)
        return found

    @staticmethod
    def _damaged(name, why):
        serial, model, address = journal.disk_of(name)
        return records.Entry(
            serial, model, address, states.State.ERROR,
            states.JOURNAL_DAMAGED, 'the file %s of the journal cannot be '
            'used: %s' % (name, why), time.time())

    def put(self, entry: records.Entry) -> str:
        """Write an entry; it is on the disk when this returns.

        :returns: its file name.
        """
        name = journal.file_name(entry.serial, entry.model, entry.address)
        with self._explained():
            self._write(name, journal.dump(entry))
        return name

    def remove(self, name: str) -> None:
        with self._explained(), contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(self.path, name))
            self._sync()

    def _write(self, name: str, data: bytes) -> None:
        path = os.path.join(self.path, name)
        temporary = path + '.new'
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC
                             | os.O_CLOEXEC, 0o600)
        try:
            os.fchmod(descriptor, 0o600)
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view):]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.rename(temporary, path)
        self._sync()

    def _sync(self) -> None:
        descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    # Requests

    def ask(self, request: Request) -> None:
        """Leave a request for the cleaner."""
        self._make()
        name = os.path.join(_REQUESTS, uuid.uuid4().hex + journal.SUFFIX)
        with self._explained():
            self._write(name, json.dumps(
                dataclasses.asdict(request)).encode())

    def _waiting(self) -> list[str]:
        """File names of the requests that wait."""
        with self._explained():
            return [name for name in os.listdir(os.path.join(
                self.path, _REQUESTS)) if name.endswith(journal.SUFFIX)]

    @property
    def asked(self) -> bool:
        """Whether a request waits; cheap."""
        return bool(self._waiting())

    def requests(self) -> list[tuple[str, Request]]:
        """File name and request, the oldest first."""
        place = os.path.join(self.path, _REQUESTS)
        found = []
        for name in self._waiting():
            path = os.path.join(place, name)
            try:
                with open(path, 'rb') as stream:
                    found.append((os.stat(path).st_mtime_ns, name,
                                  _request(stream.read())))
            except (OSError, _NoRequest) as error:
                LOG.warning('The request %(name)s in %(place)s is of no use '
                            'and was dropped: %(reason)s', {
                                'name': name, 'place': place,
                                'reason': error})
                self.done(name)
        return [(name, request) for _when, name, request in sorted(
            found, key=lambda each: each[:2])]

    def done(self, name: str) -> None:
        with self._explained(), contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(self.path, _REQUESTS, name))


class _NoRequest(ValueError):
    """A file that is no request; the text says why."""


def _request(data: bytes) -> Request:
    """:raises _NoRequest: it is none; what it asks for can't be guessed."""
    try:
        found = plain.from_plain(Request, json.loads(data))
        pci_address.PciAddress.parse(found.address)
    except plain.BrokenRecord as error:
        raise _NoRequest(str(error)) from None
    except pci_address.InvalidPciAddress as error:
        raise _NoRequest(str(error)) from None
    except (ValueError, RecursionError):
        raise _NoRequest('it is no JSON') from None
    if found.command not in COMMANDS:
        raise _NoRequest('Request.command must be one of %s, not %s' % (
            ', '.join(COMMANDS), printable.quoted(found.command)))
    return found

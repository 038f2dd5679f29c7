# SPDX-License-Identifier: Apache-2.0
"""The journal in memory: which entry is whose, and one way to change it."""

from collections.abc import Callable
import dataclasses
import threading

from cyborg.cleaner import journal as cleaner_journal
from cyborg.cleaning import journal
from cyborg.cleaning import records
from cyborg.cleaning import states
from cyborg.nvme import port as nvme_port
from cyborg.nvme import records as nvme_records

State = states.State
Facts = nvme_records.Facts


class Book:
    """All entries of a host; loop and jobs write through it.

    :ivar entries: file name -> entry.
    """

    def __init__(self, journal_: cleaner_journal.Journal,
                 disks: nvme_port.Host, now: Callable[[], float]):
        self.journal = journal_
        self._disks = disks
        self._now = now
        self._lock = threading.RLock()
        self.entries: dict[str, records.Entry] = {}

    def load(self) -> None:
        self.entries = self.journal.load()

    def all(self) -> list[records.Entry]:
        with self._lock:
            return list(self.entries.values())

    def entry_for(self, address: str, facts: Facts) -> tuple[
            records.Entry | None, str]:
        """The journal's entry of the disk at an address.

        :returns: it, and the disk that it displaced there, or ''.
        """
        with self._lock:
            entries = dict(self.entries)
        at = [entry for entry in entries.values()
              if entry.address == address]
        here = next(iter(sorted(at, key=lambda entry: (
            entry.state is State.ABSENT, -entry.since))), None)
        if not self.tells(facts):
            return here, ''
        named = entries.get(journal.file_name(facts.serial, facts.model or '',
                                              address))
        if named is not None:
            if self._elsewhere(named, address):
                # One subsystem with two controllers has one serial.
                return next((e for e in at if not e.known), None), ''
            return named, ''
        if here is None or not here.known:
            return here, ''
        return None, '' if here.state is State.ABSENT else here.label

    @staticmethod
    def tells(facts: Facts) -> bool:
        """Whether the disk's own name can be gone by.

        Not while a guest has it, nor where two controllers share the name.
        """
        return (facts.present and facts.serial is not None
                and not facts.neighbours)

    def _elsewhere(self, entry, address) -> bool:
        """Whether the disk of an entry is still where it was."""
        if entry.address in ('', address):
            return False
        other = self._disks.port(entry.address).facts()
        return other.present and other.serial in (None, entry.serial)

    def write(self, entry: records.Entry) -> None:
        """The one way into the journal, for the loop and for the jobs."""
        with self._lock:
            name = self.journal.put(entry)
            for other, known in list(self.entries.items()):
                if other != name and not known.known and (
                        known.address == entry.address):
                    # It has told its name meanwhile.
                    self.journal.remove(other)
                    del self.entries[other]
            self.entries[name] = entry

    def set_absent(self, address: str, label: str) -> None:
        for entry in self.all():
            if entry.address == address and entry.label == label:
                self.write(dataclasses.replace(entry.gone(),
                                                since=self._now()))

    def is_free(self, facts: Facts, address: str) -> bool:
        return journal.file_name(facts.serial, facts.model or '',
                                 address) not in self.entries

# SPDX-License-Identifier: Apache-2.0
"""What a cleaner would do now, from the code that decides; writes nothing."""

import dataclasses
import fcntl
import os
import time

from oslo_config import cfg

from cyborg.cleaner import loop
from cyborg.cleaner import service
from cyborg.cleaning import decide
from cyborg.cleaning import interlocks
from cyborg.cleaning import records
from cyborg.cleaning import states
from cyborg.common import exception
from cyborg.nvme import port as nvme_port
from cyborg.nvme import records as nvme_records
from cyborg.placement import tree


@dataclasses.dataclass(frozen=True)
class Disk:
    """One disk, and what would be done with it.

    :ivar trouble: why Placement could not be asked, or ''.
    :ivar overdue: its erase takes longer than ``[nvme] cleanup_timeout``.
    """

    address: str
    facts: nvme_records.Facts
    entry: records.Entry | None
    view: records.View | None
    decision: decide.Decision | None
    interlocks: tuple[interlocks.Interlock, ...]
    trouble: str = ''
    overdue: bool = False

    @property
    def state(self) -> str:
        return self.entry.state.value if self.entry else '-'

    @property
    def reason(self) -> str:
        if self.overdue:
            return states.OVERDUE
        return self.entry.reason if self.entry else ''

    @property
    def needs_a_person(self) -> bool:
        return self.overdue or self.entry is not None and (
            self.entry.state is states.State.ERROR or
            self.entry.reason in (states.UNKNOWN_DISK, states.ANOTHER_DISK))


def disks(conf: cfg.ConfigOpts, host: nvme_port.Host,
          client: tree.TreeClient | None = None) -> list[Disk]:
    """Every disk that is selected or that the journal knows.

    :raises exception.CyborgException: an option is wrong.
    """
    return look(service.build(conf, host, client))


def look(cleaner: loop.Cleaner) -> list[Disk]:
    """As :func:`disks`, with a cleaner that was not started."""
    cleaner.book.load()
    selected, both, facts = cleaner.survey()
    views, trouble = {}, ''
    try:
        views = cleaner.views(facts)
    except exception.CyborgException as error:
        trouble = exception.plain_text(error)
    found = []
    now = time.time()
    for address in sorted(facts):
        entry, displaced = cleaner.book.entry_for(address, facts[address])
        host = records.Host(facts[address], address in selected,
                            both.get(address, ''), displaced)
        view = views.get(address)
        locks = interlocks.all_of(view, host, entry, cleaner.options, now)
        found.append(Disk(
            address, facts[address], entry, view, None if trouble else
            decide.decide(view, host, entry, cleaner.options, now), locks,
            trouble, entry is not None and cleaner.is_overdue(entry, now)))
    return found


def running(path: str) -> bool:
    """Whether a cleaner holds this journal."""
    try:
        with open(os.path.join(path, 'lock')) as stream:
            fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False

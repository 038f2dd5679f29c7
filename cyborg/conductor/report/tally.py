# SPDX-License-Identifier: Apache-2.0
"""Which reports are worth a line of their own.

Each host reports every minute, nearly always the same. A report that changed
something, and the first one of a host, is told; the others are counted and
told of together, now and then.
"""

from collections.abc import Callable
import dataclasses
import logging
import threading
import time

LOG = logging.getLogger(__name__)

#: Seconds between two summaries.
INTERVAL = 3600


@dataclasses.dataclass(frozen=True)
class Counts:
    """What a report found and did."""

    discovered: int
    new: int
    changed: int
    removed: int
    retained: int
    returned: int
    refused: int
    failed: int

    @property
    def did_something(self) -> bool:
        return bool(self.new or self.changed or self.removed
                    or self.returned or self.failed)

    @property
    def standing(self) -> tuple[int, int, int]:
        """What goes on from one report to the next."""
        return self.discovered, self.retained, self.refused


class Tally:
    """Of the reports of all hosts in one conductor; safe for threads.

    :param clock: seconds, ever rising.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._lock = threading.Lock()
        self._last: dict[str, tuple[int, int, int]] = {}
        self._since = clock()
        self._reports = 0
        self._hosts: set[str] = set()

    def level(self, hostname: str, counts: Counts) -> int:
        """Level of the line about a report; the quiet ones are counted.

        Writes the summary of those when it is due.
        """
        with self._lock:
            is_news = counts.did_something or self._last.get(
                hostname) != counts.standing
            self._last[hostname] = counts.standing
            if not is_news:
                self._count(hostname)
            summary = self._due()
        self._tell(summary)
        return logging.INFO if is_news else logging.DEBUG

    def tell(self, hostname: str, counts: Counts) -> None:
        """Log a report, or count it."""
        LOG.log(
            self.level(hostname, counts),
            'Report of host %(host)s: %(discovered)d devices discovered, '
            '%(new)d new, %(changed)d changed, %(removed)d removed, '
            '%(retained)d missing but retained, %(returned)d returned, '
            '%(refused)d changes refused, %(failed)d providers failed.',
            {'host': hostname, **dataclasses.asdict(counts)})

    def quiet(self, hostname: str) -> None:
        """Count a report that was known to be what the last one was."""
        with self._lock:
            self._count(hostname)
            summary = self._due()
        self._tell(summary)

    def _count(self, hostname: str) -> None:
        self._reports += 1
        self._hosts.add(hostname)

    @staticmethod
    def _tell(summary: tuple[int, int, int] | None) -> None:
        if summary:
            LOG.info('%d reports of %d hosts in the last %d minutes changed '
                     'nothing.', *summary)

    def _due(self) -> tuple[int, int, int] | None:
        """Reports, hosts and minutes, when it is time to tell of them."""
        passed = self._clock() - self._since
        if passed < INTERVAL:
            return None
        found = self._reports, len(self._hosts), round(passed / 60)
        self._since += passed
        self._reports, self._hosts = 0, set()
        return found if found[0] else None

# SPDX-License-Identifier: Apache-2.0
"""What the last whole report was about, and whether a digest may follow it."""

from collections.abc import Callable
from collections.abc import Sequence
import time

from cyborg.inventory import digest
from cyborg.inventory import values


class LastReport:
    """Of one agent; nothing until a whole report has succeeded.

    :param clock: seconds, ever rising.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._refused_at: float | None = None
        self.forget()

    def forget(self) -> None:
        """The next report is to be a whole one."""
        self._at: float | None = None
        self._found = self._stored_digest = ''
        self._stored: values.PersistedHost | None = None

    def remember(self, stored: values.PersistedHost,
                 found: Sequence[values.DiscoveredDevice]) -> None:
        """A whole report has succeeded.

        :param stored: what the drivers had in mind when they looked.
        """
        self._at = self._clock()
        self._stored = stored
        self._found = digest.of_found(found)
        self._stored_digest = digest.of_stored(stored)

    def refused(self) -> None:
        """The conductors do not know digests; one may be newer later."""
        self._refused_at = self._clock()

    def stored(self, interval: float) -> values.PersistedHost | None:
        """What to look at the host with, when a digest may be sent.

        :param interval: seconds between two whole reports.
        :returns: None when a whole report is due.
        """
        now = self._clock()
        if self._at is None or now - self._at >= interval or (
                self._refused_at is not None
                and now - self._refused_at < interval):
            return None
        return self._stored

    def digests(self, found: Sequence[values.DiscoveredDevice]
                ) -> tuple[str, str] | None:
        """Of what is found now, and of what is stored.

        :returns: None when something else was found than last time.
        """
        now = digest.of_found(found)
        return (now, self._stored_digest) if now == self._found else None

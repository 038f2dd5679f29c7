# SPDX-License-Identifier: Apache-2.0
"""Figures for Prometheus, by way of the node exporter's text files."""

import collections
from collections.abc import Iterable
import os

from cyborg.cleaning import records
from cyborg.cleaning import states

_PREFIX = 'cyborg_cleaner_'
_HELP = {
    'disks': ('gauge', 'Disks by state.'),
    'oldest_dirty_seconds': ('gauge', 'Age of the oldest dirty disk.'),
    'cleanings_total': ('counter', 'Verified cleanings by method.'),
    'cleaning_seconds_total': ('counter', 'Time these took, by method.'),
    'failures_total': ('counter', 'Failed cleanings by reason.'),
    'hints_total': ('counter', 'Hints heard from listeners.'),
    'seals_broken_total': ('counter', 'Offered disks found changed.'),
    'used_while_dirty_total': ('counter', 'Disks allocated before clean.'),
    'last_look_timestamp_seconds': ('gauge', 'End of the last whole look.'),
}
_NOT_CLEAN = {states.State.DIRTY, states.State.CLEANING,
              states.State.VERIFYING, states.State.RELEASING}


class Metrics:
    """Counters of this process."""

    def __init__(self):
        self.counters: collections.Counter = collections.Counter()
        self.last_look = 0.0

    def count(self, name: str, label: str = '', amount: float = 1) -> None:
        self.counters[name, label] += amount

    def text(self, entries: Iterable[records.Entry], now: float) -> str:
        by_state = collections.Counter(dict.fromkeys(states.State, 0))
        dirty = [now]
        for entry in entries:
            by_state[entry.state] += 1
            if entry.state in _NOT_CLEAN:
                dirty.append(entry.since)
        values = {('disks', 'state="%s"' % state.value): number
                  for state, number in by_state.items()}
        values['oldest_dirty_seconds', ''] = max(0, now - min(dirty))
        values['last_look_timestamp_seconds', ''] = self.last_look
        for name in ('hints_total', 'seals_broken_total',
                     'used_while_dirty_total'):
            values[name, ''] = 0
        values.update(self.counters)
        lines = []
        for name, (kind, text) in _HELP.items():
            lines += ['# HELP %s%s %s' % (_PREFIX, name, text),
                      '# TYPE %s%s %s' % (_PREFIX, name, kind)]
            lines += ['%s%s%s %.15g' % (
                _PREFIX, name, label and '{%s}' % label, value)
                for (each, label), value in sorted(values.items())
                if each == name]
        return '\n'.join(lines) + '\n'

    def write(self, path: str, entries: Iterable[records.Entry],
              now: float) -> None:
        """Replace the file in one step.

        :raises OSError: it can't be written.
        """
        temporary = '%s.%d' % (path, os.getpid())
        with open(temporary, 'w') as stream:
            stream.write(self.text(entries, now))
        os.chmod(temporary, 0o644)
        os.rename(temporary, path)

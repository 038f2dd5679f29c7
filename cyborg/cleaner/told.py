# SPDX-License-Identifier: Apache-2.0
"""What an operator is told: a line a change of state, a warning a refusal."""

from oslo_log import log as logging

from cyborg.cleaner import metrics as cleaner_metrics
from cyborg.cleaning import records
from cyborg.cleaning import states

LOG = logging.getLogger(__name__)
State = states.State
#: Seconds after which somebody who opened a disk is there to stay.
_LASTING = 5


class Teller:
    """Remembers what was said already."""

    def __init__(self, host: str, metrics: cleaner_metrics.Metrics):
        self._host = host
        self._metrics = metrics
        self._said: dict[str, str] = {}
        #: Key -> when something that mostly passes was first seen.
        self._began: dict[str, float] = {}

    def change(self, before: records.Entry,
               entry: records.Entry) -> None:
        if entry.reason == states.SEAL_BROKEN:
            self._metrics.count('seals_broken_total')
        if entry.reason == states.USED_WHILE_DIRTY:
            self._metrics.count('used_while_dirty_total')
            LOG.error(
                'Disk %(disk)s of host %(host)s was allocated before it was '
                'clean: its user may read the data of the one before. It is '
                'not touched.', {'disk': entry.label,
                                 'host': self._host})
        elif entry.reason == states.UNKNOWN_DISK and (
                entry.state is State.HELD):
            LOG.warning(
                'Disk %(disk)s of host %(host)s is free, and the journal does '
                'not know it: it is reserved and not erased. To clean and '
                'offer it: cyborg-nvme clean %(address)s', {
                    'disk': entry.label, 'host': self._host,
                    'address': entry.address})
        LOG.info(
            'Disk %(address)s of host %(host)s, serial %(serial)s: '
            '%(before)s -> %(state)s (%(reason)s), consumer %(consumer)s, '
            'method %(method)s, %(seconds).1f s', {
                'address': entry.address, 'host': self._host,
                'serial': entry.serial or 'unknown',
                'before': before.state.value, 'state': entry.state.value,
                'reason': entry.reason, 'consumer': entry.consumer or '-',
                'method': entry.method or '-',
                'seconds': entry.seconds or 0})

    def refusal(self, key: str, text: str) -> None:
        """Once a refusal of a disk."""
        if self._is_new(key, text):
            LOG.warning('Disk %(disk)s of host %(host)s: %(text)s', {
                'disk': key, 'host': self._host, 'text': text})

    def passing(self, key: str, text: str, now: float) -> None:
        """A refusal that mostly goes by itself: told once it has lasted."""
        if now - self._began.setdefault(key, now) >= _LASTING:
            self.refusal(key, text)

    def passed(self, key: str) -> None:
        """Nothing of that kind stands in the way of a disk."""
        self._began.pop(key, None)

    def trouble(self, key: str, text: str) -> None:
        """What is no disk's alone; ``text`` names the host.

        Once until it is well: what differs is just which file or call met
        it first.
        """
        if key not in self._said:
            self._said[key] = text
            LOG.warning('%s', text)

    def _is_new(self, key: str, text: str) -> bool:
        new = self._said.get(key) != text
        self._said[key] = text
        return new

    def well(self, key: str) -> None:
        """What was refused no longer is."""
        self._said.pop(key, None)

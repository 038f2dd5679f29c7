# SPDX-License-Identifier: Apache-2.0
"""What goes wrong in a race, as dice say."""

import random
import threading


class Killed(BaseException):
    """A conductor is gone from one moment to the next.

    Not an ``Exception``: no code of a service may notice it.
    """


#: What can go wrong: (chance at each point where it can, most times a race).
KILL = 'conductor killed'
LOST_REPLY = 'reply lost'
DEADLOCK = 'deadlock'
CONFLICT = 'placement 409'
BROKEN = 'placement 500'
SILENT = 'placement timeout'
LOST_ANSWER = 'placement answer lost'

PLACEMENT = {CONFLICT: {'status': 409,
                        'code': 'placement.concurrent_update'},
             BROKEN: {'status': 500},
             SILENT: {'status': None},
             LOST_ANSWER: {'status': None, 'delivered': True}}


class Mischief:
    """Decides at each opportunity.

    :param kinds: what may happen at all.
    :param intensity: chance of each at each opportunity; the fewer
        opportunities a kind has, the larger its factor.
    :ivar done: what did happen, in order.
    """

    _FACTORS = {LOST_REPLY: 5, DEADLOCK: 4}
    _LIMITS = {KILL: 2, LOST_REPLY: 2, DEADLOCK: 6}

    def __init__(self, dice: random.Random, kinds: tuple[str, ...] = (),
                 intensity: float = 0):
        self._dice = dice
        self._intensity = intensity
        self._left = {kind: self._LIMITS.get(kind, 3) for kind in kinds}
        self._lock = threading.Lock()
        self.done: list[str] = []

    def strikes(self, kind: str) -> bool:
        with self._lock:
            if not self._left.get(kind):
                return False
            chance = self._intensity * self._FACTORS.get(kind, 1)
            if self._dice.random() >= chance:
                return False
            self._left[kind] -= 1
            self.done.append(kind)
            return True

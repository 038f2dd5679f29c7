# SPDX-License-Identifier: Apache-2.0
"""The gate and the warning for devices that nobody cleans between users.

Shared by the drivers that can hand out such devices (specification,
"Unsafe-device workaround"), so that both say the same.
"""

from collections.abc import Hashable
from collections.abc import Iterable
from typing import Any

from cyborg.common import exception
from cyborg.conf import CONF

_WARNING = (
    'UNSAFE DEVICE: %(address)s of host %(host)s is handed out by %(driver)s, '
    'which cannot clean it between users: a guest can read what earlier '
    'guests left on it. [workarounds] allow_unsafe_devices admits it, and '
    'the operator answers for every multi-tenancy issue that follows.')


def require_workaround(driver_name: str) -> None:
    """Refuse a driver all of whose devices are unsafe.

    :raises exception.UnsafeDriverRefused: the workaround is not enabled.
    """
    if not CONF.workarounds.allow_unsafe_devices:
        raise exception.UnsafeDriverRefused(name=driver_name, host=CONF.host)


class Standing:
    """What holds now, to tell of each state when it begins (again)."""

    def __init__(self):
        self._now: frozenset = frozenset()

    def begun(self, now: Iterable[Hashable]) -> frozenset:
        """What holds now and did not the last time; keeps it."""
        before, self._now = self._now, frozenset(now)
        return self._now - before


class Announcer:
    """Says each thing once for as long as the agent runs.

    A driver object lives as long as the agent's process, so one of these in
    it makes "once a device and agent start".
    """

    def __init__(self):
        self._said: set = set()

    def first_time(self, *what: Any) -> bool:
        """True for the first call with these arguments, then False."""
        if what in self._said:
            return False
        self._said.add(what)
        return True

    def unsafe_device(self, log: Any, driver_name: str, address: str) -> None:
        """Warn that an unsafe device is admitted."""
        if self.first_time('unsafe', address):
            log.warning(_WARNING, {'address': address, 'host': CONF.host,
                                   'driver': driver_name})

# SPDX-License-Identifier: Apache-2.0
"""Notices two machines that report under one host name.

Each removes the devices of the other, and the log of every single report
looks as it should. An agent sends along which start of which machine it runs
on (see ``cyborg.agent.machine``); an agent of 2026.2 sends nothing.
"""

import collections
import logging

from cyborg.pci import printable

LOG = logging.getLogger(__name__)

#: Starts of machines remembered for a host.
_KEPT = 8


class Reporters:
    """Who reported each host, as far as this conductor was asked."""

    def __init__(self):
        #: host -> marks of machines, the last one that reported at the end
        self._heard: dict[str, collections.OrderedDict] = {}
        self._warned: set[tuple[str, frozenset[str]]] = set()

    def heard(self, hostname: str, machine: str | None) -> None:
        """Warn when a machine reports again after another one did.

        A machine that was started again never comes back as what it was
        before, so one that does is a second one.

        :param machine: ``NAME/BOOT`` of the one that reports, if it said so.
        """
        if not isinstance(machine, str) or not machine:
            return
        mark = printable.one_line(machine)
        heard = self._heard.setdefault(hostname, collections.OrderedDict())
        last = next(reversed(heard), None)
        again = mark in heard and mark != last
        heard[mark] = None
        heard.move_to_end(mark)
        while len(heard) > _KEPT:
            heard.popitem(last=False)
        if not again:
            return
        pair = hostname, frozenset((mark, last))
        if pair not in self._warned:
            self._warned.add(pair)
            LOG.warning(
                'Two machines report as host %s in turn, %s and %s: each '
                'removes the devices of the other. Give each a name of its '
                'own, with [DEFAULT] host and [agent] '
                'resource_provider_name.', hostname, last, mark)

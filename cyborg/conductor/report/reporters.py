# SPDX-License-Identifier: Apache-2.0
"""Which machines report under one host name.

An agent of this release says with each report which machine it runs
on (see ``cyborg.agent.machine``); an agent of 2026.2 sends nothing. Which ones
reported lately stands in the database, see ``cyborg.db.report_order``: two
agents may send their reports to two conductors.
"""

from collections.abc import Sequence
import logging
import re

from cyborg.pci import printable

LOG = logging.getLogger(__name__)

#: Longest mark that is kept; two of them fit into a row, with their times.
_LONGEST = 105


def mark(machine: str | None) -> str | None:
    """What is kept of ``NAME/BOOT`` as a peer sent it; None if it did not."""
    if not isinstance(machine, str) or not machine.strip():
        return None
    text = re.sub(r'\s', '_', printable.one_line(machine))
    # The boot at its end tells machines apart that call themselves alike.
    return text.encode('ascii', 'backslashreplace').decode()[-_LONGEST:]


class Reporters:
    """Of whom this conductor has told that they report in turn."""

    def __init__(self):
        self._warned: set[tuple[str, frozenset[str]]] = set()

    def heard(self, hostname: str, machine: str | None,
              before: Sequence[str]) -> None:
        """Warn when a machine reports again after another one did.

        A machine that was started again never comes back as what it was
        before, so one that does is a second one.

        :param machine: :func:`mark` of the one that reports.
        :param before: those of others, the last one at the end.
        """
        if (machine is None or machine not in before[:-1]
                or machine == before[-1]):
            return
        pair = hostname, frozenset((machine, before[-1]))
        if pair not in self._warned:
            self._warned.add(pair)
            LOG.warning(
                'Two machines report as host %s in turn, %s and %s: each '
                'removes the devices of the other. Give each a name of its '
                'own, with [DEFAULT] host and [agent] '
                'resource_provider_name.', hostname, before[-1], machine)

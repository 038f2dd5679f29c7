# SPDX-License-Identifier: Apache-2.0
"""Whether a report would change nothing, told without the report (PERF-5).

What a whole report does follows from four things: what the host shows, what
is stored of it, its providers in Placement, and what the conductor remembers.
One that found all in order notes a digest of the first three in the
database, beside the turn of the host (``cyborg.db.report_order``), for every
conductor and beyond restarts. The next report of which the digest is the same
would do nothing, too. What is in order only as far as one conductor remembers,
or depends on what is allocated, is never noted.

Pure, but for :class:`Known`, which asks database and Placement. Neither has
to be asked at one moment, nor together with the note: that a report which sees
these three finds nothing to do stays true, whenever it was found out. What
changes in between the next report sees, as with whole reports.
"""

from collections.abc import Sequence
import dataclasses

from cyborg.common import context as cyborg_context
from cyborg.conductor.providers import run as provider_run
from cyborg.conductor.providers import sync as provider_sync
from cyborg.db import host_print
from cyborg.db import report_order
from cyborg.inventory import changes
from cyborg.inventory import digest
from cyborg.inventory import values
from cyborg.placement import tree_print

# Changes with every change of what is compared, so that conductors of two
# releases do not take each other's word.
_VERSION = '1'
#: Parts of a plan that stand for nothing to be done.
_STANDING = ('hostname', 'discovered', 'present', 'deferred', 'retained',
             'faults', 'shared')


def is_quiet(plan: changes.Plan) -> bool:
    """Whether nothing of a plan is to be written or told."""
    return not any(getattr(plan, field.name)
                   for field in dataclasses.fields(plan)
                   if field.name not in _STANDING)


@dataclasses.dataclass(frozen=True)
class Settled:
    """What a report saw that found all in order.

    :ivar rows: see ``cyborg.db.host_print``.
    :ivar machine: which one reported, see ``cyborg.agent.machine``.
    """

    found: str
    stored: str
    rows: str
    host: str
    root: str
    tree: str
    machine: str | None

    def text(self) -> str:
        """What is noted: the provider to ask for, and one digest of all."""
        return '%s %s' % (self.root, digest.of_texts(
            _VERSION, self.found, self.stored, self.rows,
            self.host.casefold(), self.tree, self.machine))


def settled(context: cyborg_context.RequestContext, hostname: str,
            discovered: Sequence[values.DiscoveredDevice],
            persisted: values.PersistedHost, rows: str | None,
            host: provider_run.Host) -> Settled | None:
    """Of a report that changed nothing.

    :param persisted: of which ``rows`` is the print.
    :param host: as the report saw it.
    :returns: None where there is no print.
    """
    if rows is None:
        return None
    return Settled(
        digest.of_found(discovered), digest.of_stored(persisted), rows,
        hostname, host.provider.root, tree_print.of(host.tree.values()),
        context.machine)


class Known:
    """Answers reports that say only what they would be about."""

    def __init__(self, sync: provider_sync.ProviderSync):
        self._sync = sync

    def is_known(self, context: cyborg_context.RequestContext,
                 hostname: str, found: str, stored: str) -> bool:
        """Whether the whole report would change nothing.

        Two statements and one call to Placement at most.

        :param found: digest of what the host shows.
        :param stored: digest of what its agent believes is stored.
        :raises exception.PlacementServerError,
            exception.PlacementUnauthorized: Placement could not be asked.
        """
        note = report_order.noted(context, hostname)
        if note is None:
            return False
        rows = host_print.of(context, hostname)
        root = note.partition(' ')[0]
        if rows is None:
            return False
        return note == Settled(
            found, stored, rows, hostname, root,
            self._sync.tree_print(context, root), context.machine).text()

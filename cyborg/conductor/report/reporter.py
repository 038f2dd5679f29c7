# SPDX-License-Identifier: Apache-2.0
"""Takes the reports of hosts, each in its turn.

A report ends where a newer one of the host begins, at whatever conductor: its
transactions fail (see ``cyborg.db.report_order``), Placement is not written to
any more, and providers that it made for rows which are gone are removed again.
What a kill leaves there the next report removes.
"""

import collections
from collections.abc import Sequence
import logging
import threading

from oslo_db import exception as db_exc

from cyborg.common import context as cyborg_context
from cyborg.common import exception
from cyborg.conductor.providers import sync as provider_sync
from cyborg.conductor.report import course
from cyborg.conductor.report import notes
from cyborg.conductor.report import reporters
from cyborg.conductor.report import tally
from cyborg.conductor.report import unchanged
from cyborg.db import report_order
from cyborg.inventory import values

LOG = logging.getLogger(__name__)


class Reporter:
    """Applies the reports of hosts; one per conductor.

    :param sync: keeps the providers.
    """

    def __init__(self, sync: provider_sync.ProviderSync):
        self._sync = sync
        self._notebook = notes.Notebook()
        self._tally = tally.Tally()
        self._known = unchanged.Known(sync)
        self._reporters = reporters.Reporters()
        self._locks: dict[str, threading.Lock] = collections.defaultdict(
            threading.Lock)

    def report(self, context: cyborg_context.RequestContext, hostname: str,
               discovered: Sequence[values.DiscoveredDevice]) -> None:
        """Apply one complete discovery of a host.

        :raises exception.ReportOutdated: a newer report of the host has
            begun, here or at another conductor; nothing more was done.
        :raises exception.HostNameChanged: new devices are known under
            another name of the host; nothing was changed.
        :raises exception.PlacementResourceProviderNotFound: Placement does
            not know the host; nothing was changed.
        :raises exception.PlacementServerError,
            exception.PlacementUnauthorized: Placement could not be asked for
            the host's providers; nothing was changed, or it is not known
            whether all is as it should be.
        """
        # Two reports of a host that overlap would be right, too, but each
        # would do the other's work again.
        with self._locks[hostname]:
            machine = reporters.mark(context.machine)
            turn = report_order.begin(context, hostname, machine)
            self._reporters.heard(hostname, machine, turn.machines)
            one = course.Course(context, hostname, discovered, self._sync,
                                self._notebook, self._tally, turn)
            try:
                settled = one.run()
            except exception.ReportOutdated as error:
                LOG.info('%s', error.message)
                one.take_back(context)
                raise
            except exception.HostNameChanged as error:
                self._notebook.refuse(hostname, error.message)
                raise
            # Who numbers no reports sends no digests either.
            if settled is not None and context.report is not None:
                self._note(context, turn, settled)

    @staticmethod
    def _note(context, turn: report_order.Turn,
              settled: unchanged.Settled) -> None:
        try:
            turn.note(context, settled.text())
        except db_exc.DBError as error:
            # The report is carried out, and the next one is sent whole.
            LOG.debug('The report of host %s is not noted: %s',
                      turn.hostname, error)

    def is_known(self, context: cyborg_context.RequestContext,
                 hostname: str, found: str, stored: str) -> bool:
        """See :meth:`cyborg.conductor.report.unchanged.Known.is_known`."""
        known = self._known.is_known(context, hostname, found, stored)
        if known:
            self._tally.quiet(hostname)
        return known

# SPDX-License-Identifier: Apache-2.0
"""The course of one report: database and Placement become what a host shows.

The order of writes is such that the next report repairs whatever a failure
or a kill in between leaves:

* new: rows first, without a provider, then the provider, then its UUID in
  the row;
* changed: Placement first, then the row, which still differs until then;
* removed: the provider first, which Placement refuses while anything is
  allocated, then the rows, under the condition that nothing claims them.

Only the rows tell which traits of a provider are ours. Another report of the
host (a second agent, one that is being replaced) may give a provider a trait
while this one takes it out of the rows, and then nobody would know it. So a
report that changed a known provider or attributes looks at both again.
"""

from collections.abc import Sequence
import dataclasses
import functools
import logging

from oslo_db import exception as db_exc

from cyborg.common import context as cyborg_context
from cyborg.common import exception
from cyborg.conductor.providers import outcomes
from cyborg.conductor.providers import run as provider_run
from cyborg.conductor.providers import sync as provider_sync
from cyborg.conductor.providers import wanted as wanted_providers
from cyborg.conductor.report import absences
from cyborg.conductor.report import namesakes
from cyborg.conductor.report import new_rows
from cyborg.conductor.report import notes
from cyborg.conductor.report import old_rows
from cyborg.conductor.report import placing
from cyborg.conductor.report import stages
from cyborg.conductor.report import tally
from cyborg.conductor.report import unbindable
from cyborg.conductor.report import unchanged
from cyborg.db import host_inventory
from cyborg.db import host_print
from cyborg.db import report_order
from cyborg.inventory import changes
from cyborg.inventory import plan as planner
from cyborg.inventory import values

LOG = logging.getLogger(__name__)

# Times a report looks again at what it changed; two that contradict each
# other end here, the later next one decides.
_ROUNDS = 5


class Course:
    """One report of a host on its way.

    :param turn: of this report; every write is on the condition that no
        newer report of the host has begun.
    """

    def __init__(self, context: cyborg_context.RequestContext, hostname: str,
                 discovered: Sequence[values.DiscoveredDevice],
                 sync: provider_sync.ProviderSync, notebook: notes.Notebook,
                 reports: tally.Tally, turn: report_order.Turn):
        self._context = report_order.on_condition(context, turn.still)
        self._check = functools.partial(turn.check, context)
        self._hostname = hostname
        self._discovered = tuple(discovered)
        self._sync = sync
        self._notebook = notebook
        self._tally = reports
        self._unbindable = unbindable.Notes(self._context, turn)
        self._ledger = stages.Ledger()

    def run(self) -> unchanged.Settled | None:
        """Carry the report out.

        :returns: what was found in order, when nothing was to be done.
        :raises: what ``Reporter.report`` raises.
        """
        history = stages.History()
        for _round in range(_ROUNDS):
            done, history = self._round(history)
            if done.is_last:
                break
        self._tell(done, history)
        return done.settled

    def _round(self, history: stages.History
               ) -> tuple[stages.Round, stages.History]:
        """All stages once."""
        planned = self._plan()
        namesakes.check(self._context, self._hostname,
                        planned.plan.new_devices)
        host = self._sync.find_host(self._context, self._hostname,
                                    _provider_uuids(planned.plan))
        stored = new_rows.store(self._context, planned, self._plan)
        plan = stored.planned.plan
        self._unbindable.begin(plan)
        wanted = wanted_providers.providers(plan, history.traits)
        place = placing.Placing(self._context, host, self._sync, self._check,
                                self._ledger)
        known = place.known(plan, wanted, history.remade)
        history = _after(history, stored, wanted, known)
        synced = place.new(wanted, known)
        written = old_rows.OldRows(self._context, plan,
                                   synced.outcomes).write(wanted)
        history = dataclasses.replace(
            history, removed=history.removed + written.removed)
        self._unbindable.add(written.kept)
        self._unbindable.end()
        has_strays, said = place.without_strays(stored.planned, wanted)
        return stages.Round(
            stored, synced, written,
            stored.said | written.said | said,
            is_last=_is_last(plan, known, synced),
            settled=None if has_strays or history.remade
            else self._settled(stored.planned, host, wanted)), history

    def _plan(self) -> stages.Planned:
        stored, rows = host_print.load(self._context, self._hostname)
        return stages.Planned(stored, rows, planner.plan(
            self._discovered, stored, self._notebook.missing(self._hostname)))

    def _settled(self, planned: stages.Planned, host: provider_run.Host,
                 wanted: wanted_providers.Wanted) -> unchanged.Settled | None:
        if not unchanged.is_quiet(planned.plan) or not all(
                self._sync.is_verified(host, each)
                for each in wanted.known.values()):
            return None
        return unchanged.settled(self._context, self._hostname,
                                 self._discovered, planned.stored,
                                 planned.rows, host)

    def _tell(self, done: stages.Round, history: stages.History) -> None:
        plan = absences.with_returned(done.plan, history.looked)
        said = done.said | notes.of_plan(plan)
        self._notebook.say(
            self._hostname, said, notes.endings(plan),
            *absences.begun_and_told(said, history.looked))
        retained = done.written.retained | {
            record.device.id for record in plan.retained}
        self._tally.tell(self._hostname, tally.Counts(
            discovered=plan.discovered, new=len(history.new),
            changed=len(history.changed), removed=history.removed,
            retained=len(retained), returned=len(plan.returned),
            refused=len(plan.refused) + len(plan.managed_changes),
            failed=len(done.synced.outcomes.failed)))

    def take_back(self, context: cyborg_context.RequestContext) -> None:
        """Undo what was written for rows that are not so any more.

        :param context: without a condition: this report is not the newest.
        """
        try:
            host = self._sync.find_host(context, self._hostname)
            stored = host_inventory.load(context, self._hostname)
            self._sync.strays.take_back(
                context, host, [row for device in stored.devices
                                for row in device.deployables],
                self._ledger.made, self._ledger.given)
        except (exception.CyborgException, db_exc.DBError) as error:
            LOG.warning('What an outdated report of host %s wrote to '
                        'Placement is left to the next one: %s',
                        self._hostname, exception.plain_text(error))


def _after(history: stages.History, stored: stages.Stored,
           wanted: wanted_providers.Wanted, known: stages.Synced
           ) -> stages.History:
    """The history when the providers of known rows have been looked at."""
    plan = stored.planned.plan
    remade = {each.uuid: each for each in wanted.known.values()
              if known.outcomes[each.uuid].kind == outcomes.Kind.CREATED}
    looked = {row.uuid: known.outcomes[each.uuid]
              for row, each in absences.rows(plan, wanted)
              if known.outcomes[each.uuid].was_missing is not None}
    return dataclasses.replace(
        history, new=history.new | stored.new,
        changed=history.changed | plan.changed_device_ids,
        remade={**history.remade, **remade},
        # What was seen first is what was so before this report.
        looked={**looked, **history.looked},
        traits=wanted_providers.traits(plan, history.traits))


def _is_last(plan: changes.Plan, known: stages.Synced,
             synced: stages.Synced) -> bool:
    """Whether no other report can have got in between."""
    # A provider that was to be created and was there is another's work.
    return not (plan.attribute_changes or not known.found_all_as_wanted
                or synced.rows_went
                or synced.outcomes.of(outcomes.Kind.UPDATED))


def _provider_uuids(plan: changes.Plan) -> list[str]:
    """Providers that Placement should know, to find the host's tree by."""
    rows = [deployable for _, deployable, _ in plan.present]
    rows += [record.deployable for record in plan.retained]
    rows += [d for device in plan.removed_devices for d in device.deployables]
    return [row.rp_uuid for row in rows if row.rp_uuid]

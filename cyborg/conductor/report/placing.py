# SPDX-License-Identifier: Apache-2.0
"""Makes the providers of a host what the plan of its report wants.

Those of known rows first, then new ones, then those that no row stands for
are removed. The UUID of a provider is noted in its row after it was made:
until then Nova may choose a provider that no bind can find, so new ones are
made and noted some at a time.
"""

from collections.abc import Callable
from collections.abc import Mapping

from cyborg.common import context as cyborg_context
from cyborg.common import exception
from cyborg.conductor.providers import run as provider_run
from cyborg.conductor.providers import strays
from cyborg.conductor.providers import sync as provider_sync
from cyborg.conductor.providers import wanted as wanted_providers
from cyborg.conductor.report import notes
from cyborg.conductor.report import stages
from cyborg.db import host_changes
from cyborg.inventory import changes
from cyborg.placement import provider_plan

# New providers between two notes of their UUIDs in the database.
_BATCH = 16


class Placing:
    """In one round of a report.

    :param context: with the condition that the report is the newest one.
    :param check: raises ReportOutdated when a newer report has begun.
    :param ledger: gets what is written.
    """

    def __init__(self, context: cyborg_context.RequestContext,
                 host: provider_run.Host, sync: provider_sync.ProviderSync,
                 check: Callable[[], None], ledger: stages.Ledger):
        self._context = context
        self._host = host
        self._sync = sync
        self._check = check
        self._ledger = ledger

    def known(self, plan: changes.Plan, wanted: wanted_providers.Wanted,
              remade: Mapping[str, provider_plan.DesiredProvider]
              ) -> stages.Synced:
        """Of rows that were there before, and of those that are to go.

        :param remade: see ``stages.History``.
        """
        touched = {wanted.known[row.id].uuid for row in (
            *(record.deployable for record in plan.deployable_changes),
            *(record.deployable for record in plan.attribute_changes))}
        desired = {each.uuid: each for each in wanted.known.values()}
        self._ledger.will_give([*wanted.known.values(),
                                *wanted.new.values()])
        # Another report removed provider and rows after this one had read
        # the rows; now that they are gone nobody else would remove it again.
        removed = {uuid: each for uuid, each in remade.items()
                   if uuid not in wanted.uuids}
        removed |= {each.uuid: each for each in wanted.removed.values()}
        found = self._sync.sync(
            self._context, self._host.name, list(desired.values()),
            changed=touched, host=self._host, removed=list(removed.values()),
            check=self._check, made=self._ledger.made)
        noted = {row.id: row for _, row, _ in plan.present}
        return stages.Synced(found, self._note({
            noted[row_id].name: found[each.uuid].provider_uuid
            for row_id, each in wanted.known.items()
            if row_id in noted and found[each.uuid].is_present
            and found[each.uuid].provider_uuid != noted[row_id].rp_uuid}))

    def new(self, wanted: wanted_providers.Wanted, known: stages.Synced
            ) -> stages.Synced:
        """Of rows that are new; ``known`` with what became of them."""
        todo = [each for each in wanted.new.values()
                if each.uuid not in known.outcomes]
        found, rows_went = known.outcomes, known.rows_went
        for start in range(0, len(todo), _BATCH):
            batch = todo[start:start + _BATCH]
            part = self._sync.sync(
                self._context, self._host.name, batch, host=self._host,
                changed=[each.uuid for each in batch], check=self._check,
                made=self._ledger.made)
            found |= part
            rows_went |= self._note({
                each.name: part[each.uuid].provider_uuid for each in batch
                if part[each.uuid].is_present})
        return stages.Synced(found, rows_went)

    def _note(self, by_name: dict[str, str]) -> bool:
        """:returns: whether rows went since they were read."""
        return bool(by_name) and host_changes.set_provider_uuids(
            self._context, by_name, self._host.name) < len(by_name)

    def without_strays(self, planned: stages.Planned,
                       wanted: wanted_providers.Wanted
                       ) -> tuple[bool, notes.Notes]:
        """Remove providers of ours to which no row belongs.

        :returns: whether there were any, and what is to be told of them.
        """
        rows, hostname = planned.known_rows, self._host.name
        found = strays.candidates(
            self._host,
            wanted.uuids | {wanted_providers.uuid_of(row) for row in rows},
            {row.name for row in rows} | {each.name for each in (
                *wanted.known.values(), *wanted.new.values())})
        if not found:
            return False, {}
        self._check()
        try:
            held = self._sync.strays.remove(self._context, hostname,
                                            found).held
        except exception.CyborgException as error:
            return True, {('strays', ''): notes.strays_stay(
                hostname, exception.plain_text(error))}
        return True, {('stray', each.uuid): notes.stray(
            hostname, each.name, each.uuid) for each in held}

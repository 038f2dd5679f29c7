# SPDX-License-Identifier: Apache-2.0
"""Brings database and Placement in line with what a host shows.

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

A report ends where a newer one of the host begins, at whatever conductor: its
transactions fail (see ``cyborg.db.report_order``), Placement is not written to
any more, and providers that it made for rows which are gone are removed again.
What a kill leaves there the next report removes.
"""

import collections
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
import functools
import logging
import threading

from oslo_db import exception as db_exc
import sqlalchemy as sa

from cyborg.common import exception
from cyborg.conductor import absences
from cyborg.conductor import namesakes
from cyborg.conductor import notes
from cyborg.conductor import providers
from cyborg.conductor import reporters
from cyborg.conductor import strays
from cyborg.conductor import tally
from cyborg.conductor import unbindable
from cyborg.conductor import unchanged
from cyborg.conductor import wanted as wanted_providers
from cyborg.db import host_changes
from cyborg.db import host_inventory
from cyborg.db import host_print
from cyborg.db import report_order
from cyborg.inventory import changes
from cyborg.inventory import plan as planner
from cyborg.inventory import values
from cyborg.placement import plan as placement_plan

LOG = logging.getLogger(__name__)

# Times a report starts again because another one wrote the same rows first.
_ATTEMPTS = 4
# New providers between two notes of their UUIDs in the database: until then
# Nova may choose a provider that no bind can find.
_BATCH = 16
# Times a report looks again at what it changed; two that contradict each
# other end here, the later next one decides.
_ROUNDS = 5

_REFUSED_ROWS = (db_exc.DBError, sa.exc.StatementError,
                 exception.TextNotStorable)
_HAS_PROVIDER = (providers.UNCHANGED, providers.CREATED, providers.UPDATED,
                 providers.DEFERRED)


class Reporter:
    """Applies the reports of hosts; one per conductor.

    :param sync: keeps the providers, see ``cyborg.conductor.providers``.
    """

    def __init__(self, sync: providers.ProviderSync):
        self._sync = sync
        self._notebook = notes.Notebook()
        self._tally = tally.Tally()
        self._known = unchanged.Known(sync)
        self._reporters = reporters.Reporters()
        self._locks: dict[str, threading.Lock] = collections.defaultdict(
            threading.Lock)

    def report(self, context, hostname: str,
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
            one = _Report(context, hostname, discovered, self._sync,
                          self._notebook, self._tally, turn)
            try:
                one.run()
            except exception.ReportOutdated as error:
                LOG.info('%s', error.message)
                one.take_back(context)
                raise
            except exception.HostNameChanged as error:
                self._notebook.refuse(hostname, error.message)
                raise
            # Who numbers no reports sends no digests either.
            if one.settled is not None and context.report is not None:
                self._note(context, turn, one.settled)

    @staticmethod
    def _note(context, turn, settled: unchanged.Settled) -> None:
        try:
            turn.note(context, settled.text())
        except db_exc.DBError as error:
            # The report is carried out, and the next one is sent whole.
            LOG.debug('The report of host %s is not noted: %s',
                      turn.hostname, error)

    def is_known(self, context, hostname: str, found: str, stored: str
                 ) -> bool:
        """See :meth:`cyborg.conductor.unchanged.Known.is_known`."""
        known = self._known.is_known(context, hostname, found, stored)
        if known:
            self._tally.quiet(hostname)
        return known


class _Report:
    """One report on its way through database and Placement."""

    def __init__(self, context, hostname, discovered, sync, notebook,
                 reports: tally.Tally, turn):
        self.context = report_order.on_condition(context, turn.still)
        self.check = functools.partial(turn.check, context)
        self.hostname = hostname
        self.discovered = tuple(discovered)
        self.sync = sync
        self.notebook = notebook
        self.tally = reports
        self.unbindable = unbindable.Notes(self.context, turn)
        self.notes: dict[tuple, notes.Note] = {}
        self.new: set[str] = set()
        self.changed: set[int] = set()
        self.retained: set[int] = set()
        self.removed = 0
        self.rows_went = False
        #: whether a provider was seen to which no row belongs
        self.has_strays = False
        #: what was found in order, when nothing was to be done
        self.settled: unchanged.Settled | None = None
        #: uuids of providers that this report made, or tried to
        self.made: set[str] = set()
        #: provider's uuid -> traits that this report may have given it
        self.given: dict[str, frozenset[str]] = {}
        #: what was stored when the plan was made
        self.persisted = values.PersistedHost(hostname)
        self.rows: str | None = None
        #: provider's uuid -> what it was made as, for rows that were known
        self.remade: dict[str, placement_plan.DesiredProvider] = {}
        #: deployable's uuid -> what became of its provider when it was first
        #: looked at in this report
        self.looked: dict[str, providers.Outcome] = {}
        #: deployable's name -> traits that its rows had in any round
        self.traits: dict[str, frozenset[str]] = {}

    def run(self) -> None:
        for _round in range(_ROUNDS):
            plan, outcomes, settled = self._round()
            if settled:
                break
        plan = absences.with_returned(plan, self.looked)
        self.notes |= notes.of_plan(plan)
        self.notebook.say(
            self.hostname, self.notes, notes.endings(plan),
            *absences.begun_and_told(self.notes, self.looked))
        self._count(plan, outcomes)

    def _round(self) -> tuple[changes.Plan, dict, bool]:
        """:returns: what was planned, what became of the providers, and
            whether no other report can have got in between.
        """
        self.notes, self.retained, self.rows_went = {}, set(), False
        self.has_strays = False
        plan = self._plan()
        namesakes.check(self.context, self.hostname, plan.new_devices)
        host = self.sync.find_host(self.context, self.hostname,
                                   _provider_uuids(plan))
        plan = self._insert(plan)
        self.unbindable.begin(plan)
        wanted = wanted_providers.providers(plan, self.traits)
        self.traits = wanted_providers.traits(plan, self.traits)
        outcomes = self._sync_known(host, plan, wanted)
        alone = not plan.attribute_changes and not _kinds(outcomes) & {
            providers.CREATED, providers.UPDATED}
        self._sync_new(host, wanted, outcomes)
        self._change(plan, outcomes)
        self._remove(plan, wanted, outcomes)
        self.unbindable.end()
        self._remove_strays(host, wanted)
        self.changed |= plan.changed_device_ids
        self._note_settled(plan, host, wanted)
        # A provider that was to be created and was there is another's work.
        return plan, outcomes, (
            alone and not self.rows_went
            and providers.UPDATED not in _kinds(outcomes))

    def _note_settled(self, plan, host, wanted) -> None:
        self.settled = None
        if (unchanged.is_quiet(plan) and not self.has_strays
                and not self.remade and all(
                    self.sync.is_verified(host, each)
                    for each in wanted.known.values())):
            self.settled = unchanged.settled(
                self.context, self.hostname, self.discovered, self.persisted,
                self.rows, host)

    def _plan(self) -> changes.Plan:
        self.persisted, self.rows = host_print.load(self.context,
                                                    self.hostname)
        return planner.plan(self.discovered, self.persisted,
                            self.notebook.missing(self.hostname))

    # New rows

    def _insert(self, plan: changes.Plan) -> changes.Plan:
        """Store what is new.

        :returns: the plan that was followed; where others stored the same
            meanwhile, one made from what is there now.
        """
        for attempt in range(1, _ATTEMPTS + 1):
            self.new |= {device.cpid_info for device in plan.new_devices}
            try:
                self._insert_all(plan)
                return plan
            except db_exc.DBDuplicateEntry:
                LOG.debug('Report of host %s: rows appeared meanwhile, '
                          'attempt %d', self.hostname, attempt)
                fresh = self._plan()
                if attempt == _ATTEMPTS:
                    return self._insert_singly(fresh)
                plan = fresh
            except _REFUSED_ROWS as error:
                LOG.debug('Report of host %s: the database refused new rows, '
                          'trying one at a time: %s', self.hostname, error)
                return self._insert_singly(self._plan())

    def _insert_all(self, plan: changes.Plan) -> None:
        if plan.new_devices:
            host_changes.insert_devices(self.context, self.hostname,
                                        plan.new_devices)
        if plan.new_deployables:
            host_changes.insert_deployables(self.context, self.hostname,
                                            plan.new_deployables)
        if plan.new_handles:
            host_changes.insert_handles(self.context, plan.new_handles)

    def _insert_singly(self, plan: changes.Plan) -> changes.Plan:
        """As _insert_all, but what the database refuses is left out."""
        host = self.hostname
        return dataclasses.replace(
            plan,
            new_devices=self._accepted(
                plan.new_devices, lambda device: device.cpid_info,
                lambda device: host_changes.insert_devices(
                    self.context, host, [device])),
            new_deployables=self._accepted(
                plan.new_deployables, lambda new: new.deployable.name,
                lambda new: host_changes.insert_deployables(
                    self.context, host, [new])),
            new_handles=self._accepted(
                plan.new_handles, lambda new: new.handle.attach_info,
                lambda new: host_changes.insert_handles(
                    self.context, [new])))

    def _accepted(self, records: Iterable, label: Callable,
                  insert: Callable) -> tuple:
        accepted = []
        for record in records:
            try:
                insert(record)
                accepted.append(record)
            except _REFUSED_ROWS as error:
                self.notes['rows', label(record)] = notes.Note(
                    logging.ERROR,
                    '%s of host %s was not stored, the database refused it: '
                    '%s' % (label(record), self.hostname,
                            exception.plain_text(error)))
        return tuple(accepted)

    # Placement

    def _sync_known(self, host, plan, wanted) -> dict:
        """Outcomes by the UUID that was wanted."""
        touched = {wanted.known[record.deployable.id].uuid for record in (
            *plan.deployable_changes, *plan.attribute_changes)}
        desired = {d.uuid: d for d in wanted.known.values()}
        for d in (*wanted.known.values(), *wanted.new.values()):
            self.given[d.uuid] = self.given.get(
                d.uuid, frozenset()) | d.traits
        # Another report removed provider and rows after this one had read
        # the rows; now that they are gone nobody else would remove it again.
        removed = {uuid: d for uuid, d in self.remade.items()
                   if uuid not in wanted.uuids}
        removed |= {d.uuid: d for d in wanted.removed.values()}
        result = self.sync.sync(
            self.context, self.hostname, list(desired.values()),
            changed=touched, host=host, removed=list(removed.values()),
            check=self.check, made=self.made)
        self.remade |= {uuid: d for uuid, d in desired.items()
                        if result.outcomes[uuid].kind == providers.CREATED}
        for row, d in absences.rows(plan, wanted):
            if result.outcomes[d.uuid].was_missing is not None:
                self.looked.setdefault(row.uuid, result.outcomes[d.uuid])
        names = {d.id: (d.name, d.rp_uuid) for _, d, _ in plan.present}
        self._note_providers({
            names[row_id][0]: result.outcomes[d.uuid].provider_uuid
            for row_id, d in wanted.known.items() if row_id in names
            and result.outcomes[d.uuid].kind in _HAS_PROVIDER
            and result.outcomes[d.uuid].provider_uuid != names[row_id][1]})
        return dict(result.outcomes)

    def _sync_new(self, host, wanted, outcomes: dict) -> None:
        todo = [d for d in wanted.new.values() if d.uuid not in outcomes]
        for start in range(0, len(todo), _BATCH):
            batch = todo[start:start + _BATCH]
            result = self.sync.sync(
                self.context, self.hostname, batch, host=host,
                changed=[d.uuid for d in batch], check=self.check,
                made=self.made)
            outcomes.update(result.outcomes)
            self._note_providers({
                d.name: result.outcomes[d.uuid].provider_uuid for d in batch
                if result.outcomes[d.uuid].kind in _HAS_PROVIDER})

    def _note_providers(self, by_name: dict[str, str]) -> None:
        if by_name and host_changes.set_provider_uuids(
                self.context, by_name, self.hostname) < len(by_name):
            # Rows went since they were read; so do their providers.
            self.rows_went = True

    def _remove_strays(self, host, wanted) -> None:
        rows = _rows(self.persisted)
        found = strays.candidates(
            host, wanted.uuids | {_provider_of(row) for row in rows},
            {row.name for row in rows} | {d.name for d in (
                *wanted.known.values(), *wanted.new.values())})
        self.has_strays = bool(found)
        if not found:
            return
        self.check()
        try:
            result = self.sync.strays.remove(self.context, self.hostname,
                                             found)
        except exception.CyborgException as error:
            self.notes['strays', ''] = notes.Note(
                logging.WARNING, 'Providers of host %s that belong to no '
                'device could not be removed: %s' % (
                    self.hostname, exception.plain_text(error)))
            return
        for provider in result.held:
            self.notes['stray', provider.uuid] = notes.stray(
                self.hostname, provider.name, provider.uuid)

    def take_back(self, context) -> None:
        """Undo what was written for rows that are not so any more.

        :param context: without a condition: this report is not the newest.
        """
        try:
            host = self.sync.find_host(context, self.hostname)
            self.sync.strays.take_back(
                context, host, _rows(host_inventory.load(
                    context, self.hostname)), self.made, self.given)
        except (exception.CyborgException, db_exc.DBError) as error:
            LOG.warning('What an outdated report of host %s wrote to '
                        'Placement is left to the next one: %s',
                        self.hostname, exception.plain_text(error))

    # Changed and removed rows

    def _change(self, plan: changes.Plan, outcomes: dict) -> None:
        self._in_bulk(plan.device_changes, host_changes.update_devices)
        # What is stale was claimed or changed since it was read; the next
        # report looks at it again.
        self._in_bulk(plan.handle_updates, host_changes.update_handles)
        failed = _failed(outcomes)
        numbers = {c.deployable.id: c.num_accelerators
                   for c in plan.deployable_changes
                   if _provider_of(c.deployable) not in failed}
        attributes = {c.deployable.id: c for c in plan.attribute_changes
                      if _provider_of(c.deployable) not in failed}
        for row_id in sorted(numbers.keys() | attributes.keys()):
            self._guarded('deployable %d' % row_id, lambda row_id=row_id: (
                host_changes.update_deployable(
                    self.context, row_id, numbers.get(row_id),
                    attributes.get(row_id))))
        for record in plan.removed_handles:
            if _provider_of(record.deployable) in failed or not (
                    self._guarded(
                        'attach handle %s' % record.handle.uuid,
                        lambda record=record: host_changes.delete_handle(
                            self.context, record.handle.id))):
                self.unbindable.add([record.handle])

    def _in_bulk(self, records: Sequence, write: Callable) -> None:
        """All in one transaction; if that fails, each in its own."""
        if not records:
            return
        try:
            write(self.context, records)
        except _REFUSED_ROWS:
            for record in records:
                self._guarded('device %s' % record.device.uuid,
                              lambda record=record: write(
                                  self.context, [record]))

    def _guarded(self, what: str, write: Callable):
        """Run a write; if the database refuses it the others go on."""
        try:
            return write()
        except _REFUSED_ROWS as error:
            self.notes['rows', what] = notes.Note(
                logging.ERROR, 'Changes of %s of host %s were not stored, '
                'the database refused them: %s' % (
                    what, self.hostname, exception.plain_text(error)))
            return None

    def _remove(self, plan, wanted, outcomes) -> None:
        for device in plan.removed_devices:
            self._remove_rows(device, device.deployables, wanted, outcomes,
                              host_changes.delete_device, device.id)
        for record in plan.removed_deployables:
            self._remove_rows(record.device, [record.deployable], wanted,
                              outcomes, host_changes.delete_deployable,
                              record.deployable.id)

    def _remove_rows(self, device, deployables, wanted, outcomes, delete,
                     row_id) -> None:
        kinds = {outcomes[wanted.removed[d.id].uuid].kind
                 for d in deployables if d.id in wanted.removed}
        if providers.FAILED in kinds:
            self._keep(deployables)
            return
        if providers.RETAINED in kinds:
            self.retained.add(device.id)
            self._keep(deployables)
            for deployable in deployables:
                self.notes['missing', deployable.uuid] = notes.unreleased(
                    self.hostname, deployable)
            return
        deleted = self._guarded('device %s' % device.uuid,
                                lambda: delete(self.context, row_id))
        if deleted:
            self.removed += 1
            LOG.info('%s on host %s is gone and was removed, with attach '
                     'handles %s.', ', '.join(d.name for d in deployables)
                     or 'Device %s' % device.uuid, self.hostname,
                     ', '.join(h.uuid for d in deployables
                               for h in d.handles) or 'none')
        else:
            self._keep(deployables)
            if deleted is False:
                self.retained.add(device.id)

    def _keep(self, deployables) -> None:
        for deployable in deployables:
            self.unbindable.add(deployable.handles)

    # Words

    def _count(self, plan: changes.Plan, outcomes: dict) -> None:
        retained = self.retained | {r.device.id for r in plan.retained}
        counts = tally.Counts(
            discovered=plan.discovered, new=len(self.new),
            changed=len(self.changed), removed=self.removed,
            retained=len(retained), returned=len(plan.returned),
            refused=len(plan.refused) + len(plan.managed_changes),
            failed=len(_failed(outcomes)))
        LOG.log(
            self.tally.level(self.hostname, counts),
            'Report of host %(host)s: %(discovered)d devices discovered, '
            '%(new)d new, %(changed)d changed, %(removed)d removed, '
            '%(retained)d missing but retained, %(returned)d returned, '
            '%(refused)d changes refused, %(failed)d providers failed.',
            {'host': self.hostname, **dataclasses.asdict(counts)})


def _provider_of(deployable) -> str:
    return wanted_providers.uuid_of(deployable)


def _kinds(outcomes: dict) -> set[str]:
    return {outcome.kind for outcome in outcomes.values()}


def _failed(outcomes: dict) -> set[str]:
    return {uuid for uuid, outcome in outcomes.items()
            if outcome.kind == providers.FAILED}


def _rows(host: values.PersistedHost) -> list[values.PersistedDeployable]:
    return [d for device in host.devices for d in device.deployables]


def _provider_uuids(plan: changes.Plan) -> list[str]:
    """Providers that Placement should know, to find the host's tree by."""
    rows = [deployable for _, deployable, _ in plan.present]
    rows += [record.deployable for record in plan.retained]
    rows += [d for device in plan.removed_devices for d in device.deployables]
    return [row.rp_uuid for row in rows if row.rp_uuid]

# SPDX-License-Identifier: Apache-2.0
"""Changes and removes the rows that a host had before its report.

After Placement, and only where that went well: rows that still differ, or
are still there, are what makes the next report try again.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import functools
import logging

from cyborg.common import context as cyborg_context
from cyborg.conductor.providers import outcomes
from cyborg.conductor.providers import wanted as wanted_providers
from cyborg.conductor.report import notes
from cyborg.conductor.report import row_errors
from cyborg.conductor.report import stages
from cyborg.db import host_changes
from cyborg.inventory import changes
from cyborg.inventory import values

LOG = logging.getLogger(__name__)


class OldRows:
    """Those of one host, in one round of its report.

    :param context: with the condition that the report is the newest one.
    """

    def __init__(self, context: cyborg_context.RequestContext,
                 plan: changes.Plan, synced: outcomes.Outcomes):
        self._context = context
        self._plan = plan
        self._hostname = plan.hostname
        self._synced = synced
        self._notes: notes.Notes = {}

    def write(self, wanted: wanted_providers.Wanted) -> stages.Written:
        """Change what differs, then remove what is gone."""
        done = self._change()
        for device in self._plan.removed_devices:
            done |= self._remove(
                device, device.deployables, wanted, functools.partial(
                    host_changes.delete_device, self._context, device.id))
        for record in self._plan.removed_deployables:
            done |= self._remove(
                record.device, [record.deployable], wanted, functools.partial(
                    host_changes.delete_deployable, self._context,
                    record.deployable.id))
        return done | stages.Written(said=self._notes)

    def _change(self) -> stages.Written:
        plan = self._plan
        self._in_bulk(plan.device_changes, host_changes.update_devices)
        # What is stale was claimed or changed since it was read; the next
        # report looks at it again.
        self._in_bulk(plan.handle_updates, host_changes.update_handles)
        numbers = {record.deployable.id: record.num_accelerators
                   for record in self._synced_ones(plan.deployable_changes)}
        attributes = {record.deployable.id: record
                      for record in self._synced_ones(plan.attribute_changes)}
        for row_id in sorted(numbers.keys() | attributes.keys()):
            self._guarded('deployable %d' % row_id, functools.partial(
                host_changes.update_deployable, self._context, row_id,
                numbers.get(row_id), attributes.get(row_id)))
        gone = {
            record.handle.id
            for record in self._synced_ones(plan.removed_handles)
            if self._guarded(
                'attach handle %s' % record.handle.uuid, functools.partial(
                    host_changes.delete_handle, self._context,
                    record.handle.id))}
        return stages.Written(kept=tuple(
            record.handle for record in plan.removed_handles
            if record.handle.id not in gone))

    def _synced_ones(self, records: Iterable) -> Iterator:
        """Of deployables whose provider is not behind."""
        for record in records:
            uuid = wanted_providers.uuid_of(record.deployable)
            if uuid not in self._synced.failed:
                yield record

    def _remove(self, device: values.PersistedDevice,
                deployables: Sequence[values.PersistedDeployable],
                wanted: wanted_providers.Wanted,
                delete: Callable[[], bool]) -> stages.Written:
        kinds = {self._synced[wanted.removed[d.id].uuid].kind
                 for d in deployables if d.id in wanted.removed}
        kept = tuple(h for d in deployables for h in d.handles)
        if outcomes.Kind.FAILED in kinds:
            return stages.Written(kept)
        if outcomes.Kind.RETAINED in kinds:
            return stages.Written(kept, frozenset([device.id]), said={
                ('missing', d.uuid): notes.unreleased(self._hostname, d)
                for d in deployables})
        deleted = self._guarded('device %s' % device.uuid, delete)
        if deleted:
            LOG.info('%s on host %s is gone and was removed, with attach '
                     'handles %s.', ', '.join(d.name for d in deployables)
                     or 'Device %s' % device.uuid, self._hostname,
                     ', '.join(h.uuid for h in kept) or 'none')
            return stages.Written(removed=1)
        # False: something claims it. None: the database refused, as is told.
        return stages.Written(kept, frozenset(
            [device.id] if deleted is False else ()))

    def _in_bulk(self, records: Sequence, write: Callable) -> None:
        """All in one transaction; if that fails, each in its own."""
        if records and row_errors.of(lambda: write(self._context, records)):
            for record in records:
                self._guarded(
                    'device %s' % record.device.uuid,
                    functools.partial(write, self._context, [record]))

    def _guarded(self, what: str, write: Callable[[], object]):
        """Run a write; if the database refuses it the others go on."""
        try:
            return write()
        except row_errors.REFUSED as error:
            self._notes['rows', what] = row_errors.not_changed(
                self._hostname, what, error)
            return None

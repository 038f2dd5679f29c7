# SPDX-License-Identifier: Apache-2.0
"""Stores what a host shows for the first time.

All in one transaction a kind of row. Names and UUIDs follow from what is
stored, so that two conductors which store the same collide on the columns
that are unique, and the later one plans again from what is there.
"""

from collections.abc import Callable
from collections.abc import Iterable
import dataclasses
import functools
import logging

from oslo_db import exception as db_exc

from cyborg.common import context as cyborg_context
from cyborg.conductor.report import row_errors
from cyborg.conductor.report import stages
from cyborg.db import host_changes
from cyborg.inventory import changes

LOG = logging.getLogger(__name__)

# Times a report starts again because another one wrote the same rows first.
_ATTEMPTS = 4


def store(context: cyborg_context.RequestContext, planned: stages.Planned,
          plan_again: Callable[[], stages.Planned]) -> stages.Stored:
    """Store the new devices, deployables and handles of a plan.

    :param plan_again: plans from what is stored by then.
    """
    hostname = planned.plan.hostname
    new: frozenset[str] = frozenset()
    for attempt in range(1, _ATTEMPTS + 1):
        new |= {device.cpid_info for device in planned.plan.new_devices}
        try:
            _insert(context, planned.plan)
            return stages.Stored(planned, new)
        except db_exc.DBDuplicateEntry:
            LOG.debug('Report of host %s: rows appeared meanwhile, attempt '
                      '%d', hostname, attempt)
            planned = plan_again()
        except row_errors.REFUSED as error:
            LOG.debug('Report of host %s: the database refused new rows, '
                      'trying one at a time: %s', hostname, error)
            planned = plan_again()
            break
    return _store_singly(context, planned, new)


def _insert(context, plan: changes.Plan) -> None:
    if plan.new_devices:
        host_changes.insert_devices(context, plan.hostname, plan.new_devices)
    if plan.new_deployables:
        host_changes.insert_deployables(context, plan.hostname,
                                        plan.new_deployables)
    if plan.new_handles:
        host_changes.insert_handles(context, plan.new_handles)


def _store_singly(context, planned: stages.Planned, new: frozenset[str]
                  ) -> stages.Stored:
    """Each in a transaction of its own; what is refused is left out."""
    plan, host, notes = planned.plan, planned.plan.hostname, {}

    def accepted(records: Iterable, label: Callable, insert: Callable
                 ) -> tuple:
        result = []
        for record in records:
            error = row_errors.of(functools.partial(insert, record))
            if error is None:
                result.append(record)
            else:
                notes['rows', label(record)] = row_errors.not_stored(
                    host, label(record), error)
        return tuple(result)

    devices = accepted(
        plan.new_devices, lambda device: device.cpid_info,
        lambda device: host_changes.insert_devices(context, host, [device]))
    deployables = accepted(
        plan.new_deployables, lambda each: each.deployable.name,
        lambda each: host_changes.insert_deployables(context, host, [each]))
    handles = accepted(
        plan.new_handles, lambda each: each.handle.attach_info,
        lambda each: host_changes.insert_handles(context, [each]))
    plan = dataclasses.replace(
        plan, new_devices=devices, new_deployables=deployables,
        new_handles=handles)
    return stages.Stored(dataclasses.replace(planned, plan=plan), new, notes)

# SPDX-License-Identifier: Apache-2.0
"""Which devices went, and which came back, by the marks in Placement.

A conductor remembers what it told of, and others serve the same hosts. The
mark of a missing device is the one thing that all of them see; who sets it or
takes it away tells of it. Pure: values in, values out.
"""

from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses

from cyborg.conductor.providers import outcomes
from cyborg.conductor.providers import wanted as wanted_providers
from cyborg.conductor.report import notes
from cyborg.inventory import changes
from cyborg.inventory import values
from cyborg.placement import provider_plan

#: Deployable's UUID -> what became of its provider when it was looked at.
Looked = Mapping[str, outcomes.Outcome]


def with_returned(plan: changes.Plan, looked: Looked) -> changes.Plan:
    """The plan with what returned by Placement's account, not by ours."""
    missing = {record.deployable.uuid for record in plan.retained}
    ours = {deployable.uuid for deployable in plan.returned}

    def was_missing(uuid: str) -> bool:
        return bool(looked[uuid].was_missing) if uuid in looked else (
            uuid in ours)

    return dataclasses.replace(plan, returned=tuple(
        deployable for _, deployable, _ in plan.present
        if deployable.uuid not in missing and was_missing(deployable.uuid)))


def begun_and_told(said: notes.Notes, looked: Looked
                   ) -> tuple[set[tuple], set[tuple]]:
    """Absences that began with this report, and those of others.

    :param said: the notes of this report.
    :returns: keys of notes: those that began now, whatever this conductor
        said before, and those of which another one has told.
    """
    begun, told = set(), set()
    for uuid, outcome in looked.items():
        key = ('missing', uuid)
        if key not in said:
            if not outcome.was_missing:
                told.add(key)
        elif not outcome.was_missing:
            begun.add(key)
        elif outcome.kind != outcomes.Kind.UPDATED:
            told.add(key)
    return begun, told


def rows(plan: changes.Plan, wanted: wanted_providers.Wanted) -> Iterator[
        tuple[values.PersistedDeployable, provider_plan.DesiredProvider]]:
    """Rows that may be missing, each with what its provider should be."""
    found = {d.id: d for _, d, _ in plan.present}
    found |= {r.deployable.id: r.deployable for r in plan.retained}
    found |= {d.id: d for device in plan.removed_devices
              for d in device.deployables}
    found |= {r.deployable.id: r.deployable for r in plan.removed_deployables}
    for row_id, desired in (wanted.known | wanted.removed).items():
        if row_id in found:
            yield found[row_id], desired

# SPDX-License-Identifier: Apache-2.0
"""What the providers of a host should be, from the plan of its report.

Pure: values in, values out.
"""

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import Any

from cyborg.common import constants
from cyborg.inventory import changes
from cyborg.inventory import identity
from cyborg.inventory import values
from cyborg.placement import provider_plan


@dataclasses.dataclass(frozen=True)
class Wanted:
    """Providers of one host.

    :ivar known: of deployables that have rows, by row id; whole missing ones
        that are allocated among them.
    :ivar new: of deployables that are to get rows, by name.
    :ivar removed: of deployables of which nothing is allocated, by row id.
        One that another deployable needs (a device that came back at another
        address, say) is left out: its provider goes on, the row does not.
    """

    known: dict[int, provider_plan.DesiredProvider]
    new: dict[str, provider_plan.DesiredProvider]
    removed: dict[int, provider_plan.DesiredProvider]

    @property
    def uuids(self) -> frozenset[str]:
        return frozenset(
            wanted.uuid for wanted in (*self.known.values(),
                                       *self.new.values()))


def providers(plan: changes.Plan,
              ours: Mapping[str, frozenset[str]] | None = None) -> Wanted:
    """The providers that follow from a plan.

    :param ours: further traits that may be taken away, see :func:`traits`.
    """
    result = _providers(plan)
    if not ours:
        return result
    return Wanted(*(_with_stale(part, ours) for part in (
        result.known, result.new, result.removed)))


def _with_stale(part: Mapping[Any, provider_plan.DesiredProvider],
                ours: Mapping[str, frozenset[str]]) -> dict:
    return {key: _without(desired, ours.get(desired.name, frozenset()))
            for key, desired in part.items()}


def _without(desired: provider_plan.DesiredProvider, ours: frozenset[str]
             ) -> provider_plan.DesiredProvider:
    stale = desired.stale_traits | ours
    return dataclasses.replace(desired, stale_traits=stale - desired.traits)


def traits(plan: changes.Plan, before: Mapping[str, frozenset[str]]
           ) -> dict[str, frozenset[str]]:
    """``before``, and the traits that the plan's deployables have or get.

    :returns: traits by name of the deployable.
    """
    found = [(deployable.name, attributes)
             for _, deployable, now in plan.present
             for attributes in (_stored(deployable), now.attributes)]
    found += [(deployable.name, deployable.attributes)
              for device in plan.new_devices
              for deployable in device.deployables]
    found += [(record.deployable.name, record.deployable.attributes)
              for record in plan.new_deployables]
    result = dict(before)
    for name, attributes in found:
        _, names = provider_plan.from_attributes(attributes)
        result[name] = result.get(name, frozenset()) | names
    return result


def _providers(plan: changes.Plan) -> Wanted:
    known, new = _known(plan), _new(plan)
    kept = {desired.uuid for desired in (*known.values(), *new.values())}
    return Wanted(known, new, {
        deployable.id: _desired(
            deployable, deployable.num_accelerators, _stored(deployable))
        for deployable in _removed(plan) if uuid_of(deployable) not in kept})


def _known(plan: changes.Plan) -> dict[int, provider_plan.DesiredProvider]:
    disabled = constants.DEVICE_MAINTAINING
    known = {}
    parts = _missing_parts(plan.retained)
    for device, deployable, now in plan.present:
        missing = parts.get(deployable.id, 0)
        known[deployable.id] = dataclasses.replace(_desired(
            deployable, now.num_accelerators + missing, now.attributes,
            missing, device.status == disabled),
            free=_free(deployable, now) if missing else 0)
    for record in plan.retained:
        # Without a provider there is nothing to hold back.
        if record.whole and record.deployable.rp_uuid:
            # The row counts what was there when it was last seen; parts that
            # were missing already then are still allocated.
            total = max(record.deployable.num_accelerators,
                        len(record.handles))
            known[record.deployable.id] = _desired(
                record.deployable, total, _stored(record.deployable), total,
                record.device.status == disabled)
    return known


def _new(plan: changes.Plan) -> dict[str, provider_plan.DesiredProvider]:
    new: dict[str, provider_plan.DesiredProvider] = {}
    for device in plan.new_devices:
        for deployable in device.deployables:
            new.setdefault(deployable.name, _fresh(deployable))
    for record in plan.new_deployables:
        new.setdefault(record.deployable.name, dataclasses.replace(
            _fresh(record.deployable),
            disabled=record.device.status == constants.DEVICE_MAINTAINING))
    return new


def _missing_parts(retained: Iterable[changes.Retained]) -> dict[int, int]:
    return {record.deployable.id: len(record.handles)
            for record in retained if not record.whole}


def _free(deployable: values.PersistedDeployable,
          now: values.DiscoveredDeployable) -> int:
    """Handles that are there and that nobody has."""
    there = {handle.key for handle in now.handles}
    taken = sum(handle.allocated and _key(handle) in there
                for handle in deployable.handles)
    return max(0, len(there) - taken)


def _key(handle: values.PersistedHandle) -> identity.Key | None:
    try:
        return handle.key
    except identity.InvalidInfo:
        return None


def _removed(plan: changes.Plan) -> Sequence[values.PersistedDeployable]:
    return [deployable for device in plan.removed_devices
            for deployable in device.deployables] + [
                record.deployable for record in plan.removed_deployables]


def uuid_of(deployable: values.PersistedDeployable) -> str:
    return deployable.rp_uuid or provider_plan.provider_uuid(deployable.name)


def _stored(deployable) -> tuple[tuple[str, str], ...]:
    return tuple((a.key, a.value) for a in deployable.attributes)


def _desired(deployable, total, attributes, missing=0, disabled=False):
    resource_class, traits = provider_plan.from_attributes(attributes)
    _, before = provider_plan.from_attributes(_stored(deployable))
    return provider_plan.DesiredProvider(
        uuid=uuid_of(deployable), name=deployable.name,
        resource_class=resource_class, total=total, missing=missing,
        disabled=disabled, traits=traits, stale_traits=before - traits)


def _fresh(deployable: values.DiscoveredDeployable):
    resource_class, traits = provider_plan.from_attributes(
        deployable.attributes)
    return provider_plan.DesiredProvider(
        uuid=provider_plan.provider_uuid(deployable.name),
        name=deployable.name, resource_class=resource_class,
        total=deployable.num_accelerators, traits=traits)

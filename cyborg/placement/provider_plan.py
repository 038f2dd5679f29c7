# SPDX-License-Identifier: Apache-2.0
"""What one provider should look like, and what to write to get there.

Pure: values in, values out. The conductor reads what Placement has, asks
``decide()``, and writes what it says.
"""

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import re
import uuid

from cyborg.common import constants
from cyborg.inventory import attribute_bag
from cyborg.placement import client
from cyborg.placement import reservations

_CUSTOM = re.compile(r'CUSTOM_[A-Z0-9_]+')
_STANDARD = re.compile(r'[A-Z][A-Z0-9_]*')
_MAX_NAME = 255

#: Attribute that holds the resource class, and how trait attributes begin.
RC_KEY = 'rc'
TRAIT_PREFIX = attribute_bag.TRAIT


@dataclasses.dataclass(frozen=True)
class DesiredProvider:
    """The provider of one deployable, as the database wants it.

    :ivar uuid: the stored rp_uuid, else ``provider_uuid(name)``
    :ivar name: name of the deployable
    :ivar total: units, missing ones that are still allocated included
    :ivar missing: units that are allocated but not found on the host
    :ivar free: units of a device that is missing in part that can still be
        had; 0 where all that is missing is reserved
    :ivar disabled: an operator disabled the device (status maintaining)
    :ivar traits: values of the trait attributes
    :ivar stale_traits: traits that the database gave this provider before
        and no longer does. Any other trait on the provider is left alone:
        an operator or the programming of an FPGA put it there.
    """

    uuid: str
    name: str
    resource_class: str
    total: int
    missing: int = 0
    free: int = 0
    disabled: bool = False
    traits: frozenset[str] = frozenset()
    stale_traits: frozenset[str] = dataclasses.field(
        default=frozenset(), compare=False)


@dataclasses.dataclass(frozen=True)
class PresentProvider:
    """What Placement has; ``usages`` is None where it was not asked for."""

    generation: int
    inventories: Mapping[str, client.Inventory]
    traits: frozenset[str]
    usages: Mapping[str, int] | None = None


@dataclasses.dataclass(frozen=True)
class Writes:
    """What to write, in which order; None = that part is right already.

    :ivar traits_first: the marker of a missing device is set before its
        units are reserved and taken away after they are free again, so that
        no kill in between leaves a reservation that nobody knows as ours.
    :ivar waits_for: why the provider is not yet what it should be, or ''
    """

    inventories: dict[str, client.Inventory] | None
    traits: frozenset[str] | None
    traits_first: bool
    waits_for: str = ''

    @property
    def any(self) -> bool:
        return self.inventories is not None or self.traits is not None


def provider_uuid(name: str) -> str:
    """UUID of a deployable's provider, as every release has built it."""
    return str(uuid.uuid3(uuid.NAMESPACE_DNS, name))


def from_attributes(attributes: Iterable[tuple[str, str]]
                    ) -> tuple[str, frozenset[str]]:
    """Resource class ('' when there is none) and traits of a deployable.

    Only keys that begin with ``trait`` make traits; other attributes are
    nothing that Placement should see.
    """
    resource_class, traits = '', set()
    for key, value in attributes:
        if key == RC_KEY:
            # Should there be several, the first counts, as in 2026.2.
            resource_class = resource_class or value
        elif key.startswith(TRAIT_PREFIX):
            traits.add(value)
    return resource_class, frozenset(traits)


def is_custom(name: str) -> bool:
    """A trait or resource class that anyone may create."""
    return bool(_CUSTOM.fullmatch(name)) and len(name) <= _MAX_NAME


def is_well_formed(name: str) -> bool:
    """Worth asking Placement about."""
    return bool(_STANDARD.fullmatch(name)) and len(name) <= _MAX_NAME


def needs_usages(desired: DesiredProvider, present: PresentProvider) -> bool:
    """Whether the decision depends on what is allocated."""
    return desired.free > 0 or any(
        name != desired.resource_class or record.total > desired.total
        for name, record in present.inventories.items())


def is_in_line(desired: DesiredProvider, seen: client.Summary) -> bool:
    """Whether a provider needs nothing, by what a listing of its tree tells.

    False where that does not tell enough. It does for a device that is there
    as a whole: just as many units can be had as there are, and no mark says
    that some are reserved. The listing does not tell a total from what is
    reserved; where both differ by the same number nobody gets one unit more
    or less, and :func:`decide` looks again when the provider changes.
    """
    if (desired.missing or desired.free or desired.disabled
            or reservations.owners(seen.traits).disabled):
        return False
    capacity = {desired.resource_class: desired.total} if desired.total else {}
    if dict(seen.capacity) != capacity or any(
            used > desired.total for used in seen.used.values()):
        return False
    wanted = (seen.traits - desired.stale_traits) | desired.traits | {
        constants.OWNER_CYBORG}
    return wanted - {constants.MISSING_TRAIT} == seen.traits


def decide(desired: DesiredProvider, present: PresentProvider,
           lift: bool = False) -> Writes:
    """Compare one provider with what it should be.

    :param lift: the reservation of a disabled device is ours to take away,
        since the device was enabled meanwhile
    """
    marked = constants.MISSING_TRAIT in present.traits
    inventories, mark, waits_for = _inventories(desired, present, marked,
                                                lift)
    traits = (present.traits - desired.stale_traits) | desired.traits
    traits |= {constants.OWNER_CYBORG}
    traits -= {constants.MISSING_TRAIT}
    if lift:
        traits = reservations.without_disabled_mark(traits)
    if mark:
        traits |= {constants.MISSING_TRAIT}
    return Writes(
        None if inventories == dict(present.inventories) else inventories,
        None if traits == present.traits else traits,
        traits_first=mark or not marked,
        waits_for=waits_for)


def _inventories(desired, present, marked, lift):
    """(inventory by class, whether to mark it, what it waits for)"""
    usages = present.usages or {}
    others = reservations.owners(present.traits).others
    wanted = desired.resource_class
    held = {name: used for name, used in usages.items()
            if used and name != wanted and name in present.inventories}
    names = set(held)
    if not held or wanted in present.inventories:
        names.add(wanted)
    result, mark, waits = {}, False, []
    for name in sorted(names):
        used = usages.get(name, 0)
        record, marks = _adjusted(
            desired, present.inventories.get(name), used, marked, others,
            lift)
        if record is not None:
            result[name] = record
        mark |= marks
        if name == wanted and used > desired.total:
            waits.append('%d of %s are allocated, %d exist' % (
                used, name, desired.total))
    if held:
        waits.append('%s replaces %s when the %d allocated units are free' % (
            wanted, ', '.join(sorted(held)), sum(held.values())))
    return result, mark, '; '.join(waits)


def _kept(present, total, others, lift):
    """What stays reserved as far as this service's disable is concerned."""
    if present is None:
        return 0
    return min(present.reserved, total, (others or 0) if lift else total)


def _adjusted(desired, present, used, marked, others, lift):
    """One inventory record and whether we reserve units of a missing device.

    The total never falls below what is allocated: Placement would accept it,
    but then refuse later changes of those allocations (B02).
    """
    total = max(desired.total, used)
    if total == 0:
        return None, False
    missing = min(desired.missing + total - desired.total, total)
    kept = _kept(present, total, others, lift)
    reserved, mark = reservation(kept, total, missing, desired.disabled,
                                 marked)
    if mark and desired.free and not desired.disabled:
        # Placement counts the allocations of missing units already, so that
        # reserving those, too, would take what can still be had.
        reserved = max(0, min(missing, total - used - desired.free))
    if present is None:
        return client.Inventory(total=total, reserved=reserved,
                                max_unit=total), mark
    if (present.total, present.reserved) == (total, reserved):
        return present, mark
    limit = present.max_unit
    if limit is None or limit >= present.total or limit > total:
        limit = total
    return dataclasses.replace(present, total=total, reserved=reserved,
                               max_unit=limit), mark


def reservation(kept: int, total: int, missing: int, disabled: bool,
                marked: bool) -> tuple[int, bool]:
    """Reserved units, and whether the provider is marked as missing.

    The mark says that the reservation is ours and goes when the device
    returns. Where an operator (or a tool that wipes the device after use)
    has reserved as much already, nothing is to be done, and nothing will be
    undone later.

    :param kept: what is reserved now
    :param marked: whether the provider has the mark now
    """
    if disabled:
        return total, missing > 0
    if missing:
        if kept >= missing and not marked:
            return kept, False
        return missing, True
    return (0 if marked else kept), False

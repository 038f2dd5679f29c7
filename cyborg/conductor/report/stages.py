# SPDX-License-Identifier: Apache-2.0
"""What the stages of a report hand to each other.

    planned -> stored -> synced -> written -> round

Every stage takes what came before it and returns a record of what it did;
none changes another's. What is to be told of it is ``said``. What holds for
more than one round is in :class:`History`, and what was written to Placement,
which has to be known however a report ends, in :class:`Ledger`.
"""

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses

from cyborg.conductor.providers import outcomes
from cyborg.conductor.report import notes
from cyborg.conductor.report import unchanged
from cyborg.inventory import changes
from cyborg.inventory import values
from cyborg.placement import provider_plan


@dataclasses.dataclass(frozen=True)
class Planned:
    """What is to be done, and from what that follows.

    :ivar rows: print of what is stored, see ``cyborg.db.host_print``.
    """

    stored: values.PersistedHost
    rows: str | None
    plan: changes.Plan

    @property
    def known_rows(self) -> list[values.PersistedDeployable]:
        return [deployable for device in self.stored.devices
                for deployable in device.deployables]


@dataclasses.dataclass(frozen=True)
class Stored:
    """New rows are stored, but for those that the database refused.

    :ivar planned: the plan that was followed. Where others stored the same
        meanwhile it is one made from what is there now.
    :ivar new: control paths' texts of the devices that were new.
    """

    planned: Planned
    new: frozenset[str] = frozenset()
    said: notes.Notes = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Synced:
    """Providers are what they should be, but for those that failed.

    :ivar rows_went: rows went while their providers were made.
    """

    outcomes: outcomes.Outcomes
    rows_went: bool = False

    @property
    def found_all_as_wanted(self) -> bool:
        return not self.outcomes.of(outcomes.Kind.CREATED,
                                    outcomes.Kind.UPDATED)


@dataclasses.dataclass(frozen=True)
class Written:
    """Rows that were known are changed, or gone.

    :ivar kept: handles that are not there and whose rows stay.
    :ivar retained: ids of devices that were to go and are still in use.
    """

    kept: tuple[values.PersistedHandle, ...] = ()
    retained: frozenset[int] = frozenset()
    removed: int = 0
    said: notes.Notes = dataclasses.field(default_factory=dict)

    def __or__(self, other: 'Written') -> 'Written':
        return Written(self.kept + other.kept,
                       self.retained | other.retained,
                       self.removed + other.removed,
                       {**self.said, **other.said})


@dataclasses.dataclass(frozen=True)
class Round:
    """All stages of a report, once.

    :ivar is_last: no other report can have got in between.
    :ivar settled: what was found in order, when nothing was to be done.
    """

    stored: Stored
    synced: Synced
    written: Written
    said: notes.Notes
    is_last: bool
    settled: unchanged.Settled | None

    @property
    def plan(self) -> changes.Plan:
        return self.stored.planned.plan


@dataclasses.dataclass(frozen=True)
class History:
    """What earlier rounds of a report did.

    :ivar new: control paths' texts of the devices that were stored.
    :ivar changed: ids of devices in which anything was changed.
    :ivar remade: provider's UUID -> what it was made as, for rows that were
        known.
    :ivar looked: deployable's UUID -> what became of its provider when this
        report first looked at it.
    :ivar traits: deployable's name -> traits that its rows had in any round.
    """

    new: frozenset[str] = frozenset()
    changed: frozenset[int] = frozenset()
    removed: int = 0
    remade: Mapping[str, provider_plan.DesiredProvider] = dataclasses.field(
        default_factory=dict)
    looked: Mapping[str, outcomes.Outcome] = dataclasses.field(
        default_factory=dict)
    traits: Mapping[str, frozenset[str]] = dataclasses.field(
        default_factory=dict)


class Ledger:
    """What a report wrote to Placement, should it have to be undone.

    Filled before each write, since a report may end at any of them.

    :ivar made: UUIDs of providers that it made, or tried to.
    :ivar given: provider's UUID -> traits that it may have given it.
    """

    def __init__(self) -> None:
        self.made: set[str] = set()
        self.given: dict[str, frozenset[str]] = {}

    def will_give(self, wanted: Iterable[provider_plan.DesiredProvider]
                  ) -> None:
        for each in wanted:
            self.given[each.uuid] = self.given.get(
                each.uuid, frozenset()) | each.traits

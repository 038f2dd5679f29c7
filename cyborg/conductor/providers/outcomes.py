# SPDX-License-Identifier: Apache-2.0
"""What became of the providers of a host."""

from collections.abc import Mapping
import dataclasses
import enum


class Kind(enum.Enum):
    """How it ended for one provider.

    DEFERRED: present and safe, but Placement has allocations that keep it
    from its final form. RETAINED: was to go, but has allocations; its units
    are reserved.
    """

    UNCHANGED = 'unchanged'
    CREATED = 'created'
    UPDATED = 'updated'
    DEFERRED = 'deferred'
    REMOVED = 'removed'
    RETAINED = 'retained'
    FAILED = 'failed'


_PRESENT = frozenset({Kind.UNCHANGED, Kind.CREATED, Kind.UPDATED,
                      Kind.DEFERRED})


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What became of one provider.

    :ivar provider_uuid: the provider's uuid in Placement; differs from the
        desired one when an existing provider of that name was taken over
    :ivar reason: why, for DEFERRED, RETAINED and FAILED
    :ivar was_missing: whether Placement had it marked as missing until now,
        by whatever conductor; None where nobody looked
    """

    kind: Kind
    provider_uuid: str
    reason: str = ''
    error: Exception | None = dataclasses.field(default=None, compare=False)
    was_missing: bool | None = dataclasses.field(default=None, compare=False)

    @property
    def is_present(self) -> bool:
        """Whether the deployable has a provider that can be noted."""
        return self.kind in _PRESENT


@dataclasses.dataclass(frozen=True)
class Outcomes:
    """Those of a host, by the UUID of the provider that was wanted."""

    by_uuid: Mapping[str, Outcome] = dataclasses.field(default_factory=dict)

    def __getitem__(self, uuid: str) -> Outcome:
        return self.by_uuid[uuid]

    def __contains__(self, uuid: str) -> bool:
        return uuid in self.by_uuid

    def __or__(self, other: 'Outcomes') -> 'Outcomes':
        return Outcomes({**self.by_uuid, **other.by_uuid})

    def of(self, *kinds: Kind) -> dict[str, Outcome]:
        return {uuid: outcome for uuid, outcome in self.by_uuid.items()
                if outcome.kind in kinds}

    @property
    def failed(self) -> dict[str, Outcome]:
        return self.of(Kind.FAILED)

    @property
    def retained(self) -> dict[str, Outcome]:
        return self.of(Kind.RETAINED)

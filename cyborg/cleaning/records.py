# SPDX-License-Identifier: Apache-2.0
"""Values that the decisions are made from."""

import dataclasses

from cyborg.cleaning import states
from cyborg.nvme import canaries as nvme_canaries
from cyborg.nvme import records as nvme_records

State = states.State
#: Longest pause after failures that may pass, in seconds.
LONGEST_PAUSE = 3600
_ERASING = {State.CLEANING, State.VERIFYING}


@dataclasses.dataclass(frozen=True)
class View:
    """The provider of one disk, as a look at Placement found it.

    :ivar generation: never newer than the other values, so that a write
        that carries it is refused when one of them changed since.
    :ivar marked: the provider is in the cleaner's aggregate: a reservation
        on it is the cleaner's, or its listener's.
    :ivar one_time_use: Nova reserves the disk itself when a guest claims it.
    :ivar twins: other providers of the same disk, which no disk should have;
        the numbers are those of all together, and the generation is -1.
    """

    provider: str
    name: str
    generation: int
    resource_class: str = ''
    total: int = 1
    reserved: int = 0
    used: int = 0
    marked: bool = False
    one_time_use: bool = False
    twins: tuple['View', ...] = ()

    @property
    def fully_reserved(self) -> bool:
        return self.reserved >= self.total > 0


@dataclasses.dataclass(frozen=True)
class Entry:
    """The journal's record of one disk.

    :ivar serial: '' while it is not known, because the disk was never seen
        at the nvme driver; the address is all there is then.
    :ivar address: where the disk was seen last; a hint.
    :ivar reason: see :mod:`cyborg.cleaning.states`; ``detail`` is a sentence
        for people.
    :ivar since: seconds since the epoch, likewise every other time.
    :ivar generation: of the provider, after our last look or write. That of
        a sealed disk is the seal.
    :ivar provider: whose generation that is. Nova may make a disk's provider
        anew, with another UUID and a count that begins again.
    :ivar clean: verified, and nobody used it since.
    :ivar was: the state before ABSENT, ``was_reason`` its reason.
    :ivar baseline: the disk as it was recorded before its first user.
    :ivar binding: the driver to put back after cleaning.
    :ivar method: of the erase under way or done last; ``scdw10`` is the
        command dword 10 of its sanitize, ``canaries`` what must be gone.
    :ivar began: when that erase began; ``seconds`` how long the last took.
    :ivar failures: transient ones in a row; ``not_before`` ends the pause.
    :ivar consumer: who has, or had, the allocation; '' when unknown.
    """

    serial: str
    model: str
    address: str
    state: State
    reason: str = ''
    detail: str = ''
    since: float = 0.0
    generation: int | None = None
    clean: bool = False
    was: State | None = None
    was_reason: str = ''
    baseline: nvme_records.Baseline | None = None
    binding: nvme_records.Binding | None = None
    method: str = ''
    scdw10: int | None = None
    canaries: nvme_canaries.Canaries | None = None
    began: float | None = None
    seconds: float | None = None
    failures: int = 0
    not_before: float = 0.0
    consumer: str = ''
    provider: str = ''

    @property
    def known(self) -> bool:
        """Whether the disk itself has told who it is."""
        return bool(self.serial)

    def moved(self, view: View) -> int | None:
        """Writes to the provider since the last one that is known.

        None when it is another provider: anybody may have had the disk.
        """
        if view.provider != self.provider or self.generation is None:
            return None
        return view.generation - self.generation

    def gone(self) -> 'Entry':
        """As it is noted while the host does not have the disk."""
        if self.state is State.ABSENT:
            return self
        return dataclasses.replace(
            self, state=State.ABSENT, reason=states.GONE, was=self.state,
            was_reason=self.reason)

    def back(self) -> 'Entry':
        """As it was before the disk was gone."""
        if self.state is not State.ABSENT:
            return self
        state = self.was if self.was is not State.ABSENT else None
        return dataclasses.replace(
            self, state=state or State.DIRTY, was=None, was_reason='',
            reason=self.was_reason or states.INTERRUPTED)

    def erased_for(self, now: float) -> float | None:
        """Seconds that the erase under way takes; None when there is none."""
        if self.state not in _ERASING or self.began is None:
            return None
        return now - self.began

    @property
    def label(self) -> str:
        return '%s (serial %s)' % (self.address, self.serial or 'unknown')


@dataclasses.dataclass(frozen=True)
class Options:
    """What of ``[cleaner]`` decides.

    :ivar unknown: ``hold`` or ``clean``.
    """

    settle_seconds: float = 10.0
    unknown: str = 'hold'


@dataclasses.dataclass(frozen=True)
class Host:
    """What this process knows of the disk besides the files of the host.

    :ivar facts: of the host's files.
    :ivar selected: an entry of ``[cleaner] device_spec`` selects it.
    :ivar cyborg_rule: the rule of Cyborg's own that selects it too, or ''.
    :ivar displaced: the disk of the journal that stood at this address,
        where this one is another; '' otherwise.
    :ivar working: a thread of this process cleans it.
    :ivar ours: this process holds it, unbroken, since it was verified.
    """

    facts: nvme_records.Facts
    selected: bool = True
    cyborg_rule: str = ''
    displaced: str = ''
    working: bool = False
    ours: bool = False

# SPDX-License-Identifier: Apache-2.0
"""The one function that says what happens next to a disk.

It sees Placement, the host and the journal; what a notification said is no
part of it. Whatever is unsure stays reserved, and untouched.
"""

import dataclasses
import enum

from cyborg.cleaning import interlocks
from cyborg.cleaning import records
from cyborg.cleaning import states

State = states.State


class Step(enum.Enum):
    """What is to be done, after the state was written down."""

    NOTHING = 'nothing'
    RESERVE = 'reserve'
    CLEAN = 'clean'
    RESUME = 'resume'
    RELEASE = 'release'
    WAIT = 'wait'


@dataclasses.dataclass(frozen=True)
class Decision:
    """What follows.

    :ivar state: the disk's state from now on; None leaves the journal alone.
    :ivar clean: see :class:`records.Entry`.
    :ivar refusal: why a step that is due is not taken (WAIT).
    """

    step: Step
    state: State | None
    reason: str = ''
    clean: bool = False
    refusal: interlocks.Interlock | None = None


#: A disk in these has been given back verified, or has never been taken.
_GIVEN = {State.SEALED, State.IN_USE, State.RELEASING}
_UNDER_WAY = {State.CLEANING, State.VERIFYING}


def decide(view: records.View | None, host: records.Host,
           entry: records.Entry | None, options: records.Options,
           now: float) -> Decision:
    """:param view: None when Placement has no provider of the disk.

    :param now: seconds since the epoch.
    """
    if view is None:
        return Decision(Step.NOTHING, None, refusal=interlocks.first_refusal(
            interlocks.of_placement(None)))
    if not host.facts.present:
        return _absent(view, entry)
    if entry is not None:
        entry = entry.back()
    if view.used:
        return _used(view, entry)
    decision = _free(view, host, entry)
    if decision.step in (Step.CLEAN, Step.RESUME):
        return _unless_refused(decision, view, host, entry, options, now)
    if entry is None and decision.reason == states.UNKNOWN_DISK and (
            options.unknown == 'clean'):
        return dataclasses.replace(decision, state=State.DIRTY)
    return decision


def _absent(view, entry):
    if entry is None:
        return Decision(Step.NOTHING, None)
    offered = entry.back().state is State.SEALED and not view.used
    return _kept_reserved(view, State.ABSENT, states.GONE, clean=entry.clean,
                          needed=not offered)


def _kept_reserved(view, state, reason, *, clean=False, needed=True,
                   step=Step.NOTHING):
    """The state, and a reservation where it is not there."""
    if needed and not view.fully_reserved:
        step = Step.RESERVE
    return Decision(step, state, reason, clean)


def _used(view, entry):
    """Somebody has it: it is reserved at once, and never touched."""
    if entry is None or entry.clean or entry.state in _GIVEN:
        return _kept_reserved(view, State.IN_USE, states.ALLOCATED)
    return _kept_reserved(view, State.ERROR, states.USED_WHILE_DIRTY)


def _free(view, host, entry):
    if host.displaced:
        return _kept_reserved(view, State.HELD, states.ANOTHER_DISK)
    if entry is None:
        if view.fully_reserved and _by_others(view):
            return Decision(Step.NOTHING, State.HELD, states.OTHERS)
        return _kept_reserved(view, State.HELD, states.UNKNOWN_DISK)
    return _BY_STATE[entry.state](view, host, entry)


def _by_others(view):
    return not view.marked and not view.one_time_use


def _sealed(view, _host, entry):
    if not view.fully_reserved:
        if view.reserved == 0 and entry.moved(view) == 0:
            return Decision(Step.NOTHING, State.SEALED, entry.reason,
                            entry.clean)
        return _kept_reserved(view, State.DIRTY, states.SEAL_BROKEN)
    if _by_others(view):
        # One write, which was the reservation: nobody used it in between.
        return Decision(
            Step.NOTHING, State.HELD, states.OTHERS,
            clean=entry.clean and entry.moved(view) == 1)
    return Decision(Step.NOTHING, State.DIRTY, states.SEAL_BROKEN)


def _in_use(view, _host, _entry):
    if view.fully_reserved and _by_others(view):
        return Decision(Step.NOTHING, State.HELD, states.OTHERS)
    return _kept_reserved(view, State.DIRTY, states.FREED)


def _dirty(view, host, entry):
    if not view.fully_reserved:
        return Decision(Step.RESERVE, State.DIRTY, states.RESERVATION_LOST)
    if host.working:
        return Decision(Step.NOTHING, None)
    return Decision(Step.CLEAN, State.DIRTY, entry.reason)


def _under_way(view, host, entry):
    if not view.fully_reserved:
        return Decision(Step.RESERVE, State.DIRTY, states.RESERVATION_LOST)
    if host.working:
        return Decision(Step.NOTHING, None)
    if entry.moved(view) is None:
        # Another provider: somebody may have had the disk since.
        return Decision(Step.NOTHING, State.DIRTY, states.RESERVATION_LOST)
    if entry.state is State.VERIFYING:
        return Decision(Step.NOTHING, State.DIRTY, states.INTERRUPTED)
    return Decision(Step.RESUME, State.CLEANING, entry.reason)


def _releasing(view, host, entry):
    if view.reserved == 0 and entry.moved(view) == 1:
        return Decision(Step.NOTHING, State.SEALED, states.VERIFIED,
                        clean=True)
    if not view.fully_reserved:
        return Decision(Step.RESERVE, State.DIRTY, states.RESERVATION_LOST)
    if host.ours:
        return Decision(Step.RELEASE, State.RELEASING, entry.reason)
    if host.working:
        return Decision(Step.NOTHING, None)
    if not view.marked:
        # The write that releases it may still be under way to Placement:
        # the mark raises the generation, and so that write is refused.
        return Decision(Step.RESERVE, State.DIRTY, states.INTERRUPTED)
    return Decision(Step.NOTHING, State.DIRTY, states.INTERRUPTED)


def _error(view, _host, entry):
    return _kept_reserved(view, State.ERROR, entry.reason)


def _held(view, _host, entry):
    if entry.reason != states.OTHERS:
        return _kept_reserved(view, State.HELD, entry.reason)
    moved = entry.moved(view)
    if view.fully_reserved:
        return Decision(Step.NOTHING, State.HELD, states.OTHERS,
                        clean=entry.clean and moved == 0)
    if view.reserved == 0 and entry.clean and moved == 1:
        return Decision(Step.NOTHING, State.SEALED, states.VERIFIED,
                        clean=True)
    return _kept_reserved(view, State.DIRTY, states.SEAL_BROKEN)


_BY_STATE = {
    State.SEALED: _sealed, State.IN_USE: _in_use, State.DIRTY: _dirty,
    State.CLEANING: _under_way, State.VERIFYING: _under_way,
    State.RELEASING: _releasing, State.ERROR: _error, State.HELD: _held,
}


def _unless_refused(decision, view, host, entry, options, now):
    if decision.step is Step.CLEAN and _pausing(entry, now):
        return dataclasses.replace(
            decision, step=Step.WAIT, refusal=interlocks.Interlock(
                'pause', False, 'after %d failures: %s' % (
                    entry.failures, entry.detail)))
    refusal = interlocks.first_refusal(
        interlocks.all_of(view, host, entry, options, now))
    if refusal is None:
        return decision
    return dataclasses.replace(decision, step=Step.WAIT, refusal=refusal)


def _pausing(entry, now):
    # A clock that was put back must not make it wait for ever.
    return bool(entry.failures) and (
        0 < entry.not_before - now <= records.LONGEST_PAUSE)

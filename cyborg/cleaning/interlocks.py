# SPDX-License-Identifier: Apache-2.0
"""Every condition of touching a disk, as a value with an answer.

What cleans asks the same list that ``cyborg-nvme check`` shows.
"""

from collections.abc import Sequence
import dataclasses

from cyborg.cleaning import records
from cyborg.nvme import records as nvme_records


@dataclasses.dataclass(frozen=True)
class Interlock:
    """One condition.

    :ivar holds: whether the disk may be touched, as far as this one goes.
    :ivar holder: who or what stands in the way, '' when it holds.
    """

    name: str
    holds: bool
    holder: str = ''

    def __str__(self) -> str:
        return self.name if self.holds else '%s: %s' % (self.name,
                                                         self.holder)


def _interlock(name: str, holder: str = '') -> Interlock:
    return Interlock(name, not holder, holder)


def of_host(host: records.Host,
            entry: records.Entry | None) -> tuple[Interlock, ...]:
    """Those that the host alone answers."""
    facts = host.facts
    return (
        _interlock('selected', '' if host.selected else
                   'no entry of [cleaner] device_spec selects it'),
        _interlock('cyborg', host.cyborg_rule),
        _interlock('present', '' if facts.present else
                   'the host has no such device'),
        _interlock('class', '' if facts.is_nvme else
                   'its class is %06x, not 010802' % facts.class_code),
        _interlock('no VF', facts.physfn and 'a VF of %s' % facts.physfn
                   or ''),
        _interlock('no VFs', '%d VFs' % facts.vfs if facts.vfs else ''),
        _interlock('identity', _identity(host, entry)),
        _interlock('subsystem', ', '.join(facts.neighbours)),
        *(_interlock(kind, ', '.join(
            use.holder for use in facts.uses if use.kind == kind))
          for kind in nvme_records.USES),
    )


def _identity(host, entry) -> str:
    if host.displaced:
        return 'another disk than %s' % host.displaced
    facts = host.facts
    if entry is None or not entry.known or facts.serial is None:
        return ''
    if (facts.serial, facts.model) == (entry.serial, entry.model):
        return ''
    return 'another disk: serial %s, model %s' % (facts.serial, facts.model)


def of_placement(view: records.View | None) -> tuple[Interlock, ...]:
    """Those that Placement answers."""
    if view is None:
        return (_interlock('provider', 'Placement has no provider of it'),)
    if view.twins:
        return (_interlock('provider', 'Placement has several providers of '
                           'it: %s' % ', '.join(
                               each.name for each in (view, *view.twins))),)
    return (
        _interlock('provider', '' if view.total == 1 else
                   'provider %s has %d units of %s, not 1' % (
                       view.name, view.total, view.resource_class)),
        _interlock('not allocated', 'provider %s has %d allocated' % (
            view.name, view.used) if view.used else ''),
        _interlock('reserved', '' if view.fully_reserved else
                   'provider %s has %d of %d reserved' % (
                       view.name, view.reserved, view.total)),
    )


def settled(entry: records.Entry | None, options: records.Options,
            now: float) -> Interlock:
    """Free for as long as is waited, so that a brief gap is no end."""
    if entry is None:
        return _interlock('settled', 'the journal does not know it yet')
    left = entry.since + options.settle_seconds - now
    # A clock that was put back must not make it wait for ever.
    if 0 < left <= options.settle_seconds:
        return _interlock('settled', 'free for less than %g s'
                          % options.settle_seconds)
    return _interlock('settled')


def all_of(view: records.View | None, host: records.Host,
           entry: records.Entry | None, options: records.Options,
           now: float) -> tuple[Interlock, ...]:
    return (*of_host(host, entry), *of_placement(view),
            settled(entry, options, now))


def first_refusal(locks: Sequence[Interlock]) -> Interlock | None:
    return next((lock for lock in locks if not lock.holds), None)

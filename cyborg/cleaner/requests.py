# SPDX-License-Identifier: Apache-2.0
"""What becomes of a disk when an operator asks for something."""

from collections.abc import Callable
import dataclasses

from oslo_log import log as logging

from cyborg.cleaner import book as cleaner_book
from cyborg.cleaner import exceptions
from cyborg.cleaner import journal as cleaner_journal
from cyborg.cleaner import selection
from cyborg.cleaner import told
from cyborg.cleaner import view as placement_view
from cyborg.cleaning import records
from cyborg.cleaning import states
from cyborg.common import exception
from cyborg.nvme import port as nvme_port
from cyborg.placement import client as placement

LOG = logging.getLogger(__name__)
State = states.State


def requested(request: cleaner_journal.Request, entry: records.Entry,
              view: records.View | None, host: str) -> records.Entry:
    """The entry after what an operator asked for: pure.

    :raises exceptions.RequestRefused: not in this state.
    """
    def refuse(remedy):
        raise exceptions.RequestRefused(
            command=request.command, disk=entry.label, host=host,
            state=entry.state.value, reason=entry.reason, remedy=remedy)

    if view is None:
        refuse('Placement has no provider of it: look at Nova\'s '
               '[pci] report_in_placement.')
    if view.twins:
        refuse('Placement has several providers of it: %s. Delete the one '
               'that Nova does not keep.' % ', '.join(
                   each.name for each in (view, *view.twins)))
    if view.used and request.command != 'hold':
        refuse('It is allocated; delete the instance first.')
    if entry.state in (State.CLEANING, State.VERIFYING, State.RELEASING):
        refuse('Wait for the end of its cleaning.')
    if (entry.reason == states.OTHERS and view.fully_reserved
            and request.command != 'hold'):
        refuse('Whoever reserved it in Placement has to lift that first.')
    if request.command == 'hold':
        if view.used:
            refuse('It is allocated; it is reserved already.')
        return dataclasses.replace(entry, state=State.HELD, clean=False,
                                   reason=states.OPERATOR)
    if request.command == 'release':
        if not request.reason:
            refuse('It has not been cleaned: say why with --uncleaned.')
        return dataclasses.replace(
            entry, state=State.SEALED, clean=False,
            reason=states.UNCLEANED)
    if request.command == 'retry' and entry.state is State.HELD:
        refuse('Nothing failed; use: cyborg-nvme clean %s' % entry.address)
    baseline = entry.baseline if entry.reason != states.ANOTHER_DISK else None
    return dataclasses.replace(entry, state=State.DIRTY, clean=False,
                               reason=states.RETRY, failures=0,
                               not_before=0.0, baseline=baseline)


@dataclasses.dataclass
class Operators:
    """Fulfils the requests that wait in the journal."""

    _host: str
    _rules: selection.Rules
    _disks: nvme_port.Host
    _book: cleaner_book.Book
    _view: placement_view.PlacementView
    _told: told.Teller
    _now: Callable[[], float]

    def take(self) -> None:
        """Do what was asked for since the last look; a refusal is told."""
        for name, request in self._book.journal.requests():
            try:
                self.apply(request)
            except placement.ERRORS:
                # It waits until Placement answers; the look says why.
                return
            except exception.CyborgException as error:
                LOG.warning('%s', error.message)
            self._book.journal.done(name)

    def apply(self, request: cleaner_journal.Request) -> None:
        """Do what an operator asked for, as far as it is possible.

        :raises exceptions.DiskNotFound: there is no such disk.
        :raises exceptions.RequestRefused: its state forbids it.
        """
        address = request.address
        facts = self._disks.port(address).facts()
        entry, displaced = self._book.entry_for(address, facts)
        if entry is None and address not in self._rules.look()[0]:
            raise exceptions.DiskNotFound(host=self._host,
                                          device=address)
        if displaced:
            self._book.set_absent(address, displaced)
        if entry is None:
            named = self._book.tells(facts)
            entry = records.Entry(
                facts.serial if named else '',
                facts.model or '' if named else '', address, State.HELD,
                states.UNKNOWN_DISK, since=self._now())
        view = self._view.look([address]).get(address)
        changed = requested(request, entry, view, self._host)
        LOG.warning('An operator asked for "%(command)s" of disk %(disk)s of '
                    'host %(host)s%(reason)s.', {
                        'command': request.command, 'disk': entry.label,
                        'host': self._host,
                        'reason': request.reason and ': ' + request.reason})
        changed = dataclasses.replace(changed, since=self._now(), detail='')
        if changed.state is State.SEALED:
            changed = dataclasses.replace(
                changed, generation=self._offer(changed, view),
                provider=view.provider)
        elif view is not None and not view.fully_reserved:
            placement_view.reserve(self._view.client, view.provider,
                                   view.generation)
        self._book.write(changed)
        self._told.change(entry, changed)

    def _offer(self, entry, view) -> int:
        generation = placement_view.unmark(self._view.client, view)
        return placement_view.release(self._view.client, view.provider,
                                      generation)

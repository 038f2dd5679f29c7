# SPDX-License-Identifier: Apache-2.0
"""What becomes of a disk when an operator asks for something: pure."""

import dataclasses

from cyborg.cleaner import exceptions
from cyborg.cleaner import journal as cleaner_journal
from cyborg.cleaning import records
from cyborg.cleaning import states

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

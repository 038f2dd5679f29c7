# SPDX-License-Identifier: Apache-2.0
"""Keeps a note of the attach handles whose device a report did not find.

A bind must not take them (see ``cyborg.db.absences``). A note goes before
Placement offers the device again, and comes as soon as the report knows: what
follows, Placement's calls for new devices before all, may take minutes.
"""

from collections.abc import Iterable
from collections.abc import Iterator

from cyborg.common import context as cyborg_context
from cyborg.db import absences
from cyborg.db import report_order
from cyborg.inventory import changes
from cyborg.inventory import plan as planner
from cyborg.inventory import values


class Notes:
    """Those of one host, for the length of a report.

    :param context: with the condition that the report is the newest one.
    """

    def __init__(self, context: cyborg_context.RequestContext,
                 turn: report_order.Turn):
        self._context = context
        self._turn = turn
        #: Whether there may be notes that were not read yet.
        self._unread = bool(turn.noted)
        self._stored: set[absences.Absence] = set()
        self._found: dict[int, absences.Absence] = {}

    def begin(self, plan: changes.Plan) -> None:
        """Take away the notes of what is there, and note what is not.

        What goes or is another product by now is noted until it is gone, or
        its rows say so.
        """
        self._found = {}
        for record in plan.retained:
            self.add(record.deployable.handles if record.whole
                     else record.handles, record.replaced_by)
        if self._unread:
            self._stored = absences.load(self._context, self._turn.hostname)
            self._unread = False
        absent = dict(self._found)
        for handle in _going(plan):
            absent.setdefault(handle.id, absences.Absence(
                handle.id, handle.uuid))
        known = {each.handle_id for each in self._stored}
        self._change(
            {each for each in self._stored if each.handle_id not in absent},
            {each for each in absent.values()
             if each.handle_id not in known})

    def add(self, handles: Iterable[values.PersistedHandle],
            replaced_by: str | None = None) -> None:
        """They are not there, and their rows stay."""
        for handle in handles:
            self._found[handle.id] = absences.Absence(
                handle.id, handle.uuid, replaced_by or '')

    def end(self) -> None:
        """Note what was added; forget what is left of others."""
        wanted = set(self._found.values())
        self._change(self._stored - wanted, wanted - self._stored)

    def _change(self, gone, new) -> None:
        if not gone and not new:
            return
        left = (self._stored - gone) | new
        absences.change(self._context, self._turn.hostname,
                        self._turn.row_id, gone=gone, new=new, left=len(left))
        self._stored = left


def _going(plan: changes.Plan) -> Iterator[values.PersistedHandle]:
    """Handles that are there no more, or not as their rows have them."""
    for record in plan.removed_handles:
        yield record.handle
    for device in plan.removed_devices:
        for deployable in device.deployables:
            yield from deployable.handles
    for removed in plan.removed_deployables:
        yield from removed.deployable.handles
    for change in plan.device_changes:
        if planner.is_other_hardware(change):
            for deployable in change.device.deployables:
                yield from deployable.handles

# SPDX-License-Identifier: Apache-2.0
"""What an operator has to be told of a report, and when.

A report repeats every minute, so a state is logged when it begins and when
it ends. The texts name host, address and the UUIDs of handles and ARQs.
"""

from collections.abc import Collection
from collections.abc import Iterable
import dataclasses
import logging

from cyborg.inventory import attach_info
from cyborg.inventory import changes
from cyborg.inventory import values
from cyborg.pci import families

LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Note:
    """A state worth one line at its beginning.

    :ivar over: what to log when the state has ended, '' for nothing.
    """

    level: int
    text: str
    over: str = ''


Notes = dict[tuple, Note]


class Notebook:
    """Remembers what was said of each host."""

    def __init__(self):
        self._said: dict[str, Notes] = {}
        #: host -> why its last report was refused
        self._refused: dict[str, str] = {}

    def refuse(self, hostname: str, text: str) -> None:
        """Say why a whole report is refused, unless that was said."""
        if self._refused.get(hostname) != text:
            LOG.error('The report of host %s is refused: %s', hostname, text)
        self._refused[hostname] = text

    def say(self, hostname: str, notes: Notes, endings: dict[tuple, str],
            begun: Collection[tuple] = (),
            told: Collection[tuple] = ()) -> None:
        """Log the states that are new or differ, and those that ended.

        :param endings: by key, how a state ended, instead of ``over``.
        :param begun: keys of states that began now, although this conductor
            may have told of one before, the end of which another one saw.
        :param told: keys of states of which another conductor has told.
        """
        self._refused.pop(hostname, None)
        before = {key: note for key, note in self._said.get(
            hostname, {}).items() if key not in begun}
        for key, note in notes.items():
            if before.get(key) != note:
                LOG.log(logging.INFO if key in told and key not in before
                        else note.level, '%s', note.text)
        for key, note in before.items():
            if note.over and key not in notes and key not in told:
                LOG.info('%s', endings.get(key, note.over))
        for key, text in endings.items():
            if key not in before:
                LOG.info('%s', text)
        self._said[hostname] = notes

    def missing(self, hostname: str) -> frozenset[str]:
        """UUIDs of the deployables that were said to be missing."""
        return frozenset(key[1] for key in self._said.get(hostname, ())
                         if key[0] == 'missing')


def of_plan(plan: changes.Plan) -> Notes:
    """The notes that follow from a plan alone."""
    notes: Notes = {}
    for record in plan.retained:
        notes['missing', record.deployable.uuid] = _missing(plan, record)
    for change in (*plan.refused, *plan.managed_changes):
        notes['managed', change.handle.uuid] = _managed(plan, change)
    for update in plan.deferred:
        notes['deferred', update.handle.uuid] = Note(
            logging.WARNING,
            'Attach handle %s (%s) on host %s is allocated (%s) and keeps %s '
            'until it is free; the driver reports %s.' % (
                update.handle.uuid, _address(update.handle), plan.hostname,
                _arqs(update.handle.arq_uuids), update.handle.attach_info,
                update.attach_info))
    for fault in plan.faults:
        notes['fault', fault.label, fault.reason] = Note(
            logging.WARNING,
            'Device %s of host %s is not taken over: %s.' % (
                fault.label, plan.hostname, fault.reason))
    for pieces in plan.shared:
        notes['shared', pieces.address] = _shared(pieces)
    for damage in plan.damaged:
        handle = damage.handle
        notes['damage', handle.uuid if handle else damage.device.uuid] = Note(
            logging.ERROR,
            'Stored %s of device %s on host %s cannot be understood and is '
            'left alone: %s. Repair the row in the database.' % (
                'attach handle %s' % handle.uuid if handle
                else 'control path', damage.device.uuid, plan.hostname,
                damage.reason))
    return notes


def _shared(pieces: changes.Shared) -> Note:
    return Note(
        logging.ERROR,
        'Physical function %s of host %s is allocated, and so is %s, which '
        'goes when a guest takes the physical function: they are one piece '
        'of hardware. Nothing of it is taken away; delete the instance with '
        'one or the other.' % (
            pieces.address, pieces.hostname,
            families.few(pieces.functions)),
        'Of physical function %s of host %s and its virtual functions only '
        'one side is allocated now.' % (pieces.address, pieces.hostname))


def _missing(plan, record) -> Note:
    handles = ', '.join(
        '%s (%s, %s)' % (handle.uuid, _address(handle),
                         _arqs(handle.arq_uuids))
        for handle in record.handles) or 'none, %s refers to it' % _arqs(
            record.deployable.arq_uuids)
    where = '%s on host %s' % (record.deployable.name, plan.hostname)
    successor = ''
    if record.replaced_by:
        why = ('another device (%s) stands in its place and is not offered'
               % record.replaced_by)
        successor = ('; the device that stands in its place (%s) is offered '
                     'now' % record.replaced_by)
    elif record.whole:
        why = 'the host does not show it (gone, or not selected any more)'
    else:
        why = 'the host does not show all of it'
    return Note(
        logging.WARNING,
        'Allocated device %s is missing: %s. Its rows and allocations are '
        'kept and nothing new is placed on it. Attach handles: %s.' % (
            where, why, handles),
        'Device %s was missing and has been released%s. Attach handles '
        'were: %s.' % (where, successor, handles))


def endings(plan: changes.Plan) -> dict[tuple, str]:
    """How states of the reports before have ended, by the key of the note.

    What returned without an allocation was released, whatever device stands
    there now: the note of its absence has the words for that.
    """
    return {('missing', deployable.uuid):
            'Device %s on host %s is back. Attach handles: %s.' % (
                deployable.name, plan.hostname, ', '.join(
                    '%s (%s, %s)' % (h.uuid, _address(h), _arqs(h.arq_uuids))
                    for h in deployable.handles))
            for deployable in plan.returned if deployable.allocated}


def unreleased(hostname: str, deployable: values.PersistedDeployable) -> Note:
    """For a missing deployable that only Placement says is allocated.

    Nova deletes the request first and the allocation later (MIS-4).
    """
    where = '%s on host %s' % (deployable.name, hostname)
    handles = ', '.join('%s (%s)' % (handle.uuid, _address(handle))
                        for handle in deployable.handles) or 'none'
    return Note(
        logging.WARNING,
        'Device %s is missing and has no accelerator request, but Placement '
        'still has allocations on its resource provider %s. It is kept until '
        'they go, and nothing new is placed on it. To see who has them: '
        'openstack resource provider show --allocations %s. Attach handles: '
        '%s.' % (where, deployable.rp_uuid, deployable.rp_uuid, handles),
        'Device %s was missing and has been released. Attach handles were: '
        '%s.' % (where, handles))


def stray(hostname: str, name: str, uuid: str) -> Note:
    """For a provider of ours that has allocations and no device."""
    where = 'Resource provider %s (%s) of host %s' % (uuid, name, hostname)
    return Note(
        logging.WARNING,
        '%s belongs to no device, but has allocations. It is kept until they '
        'go, and nothing new is placed on it. To see who has them: openstack '
        'resource provider show --allocations %s.' % (where, uuid),
        '%s, which belonged to no device, is gone or has one again.' % where)


def strays_stay(hostname: str, reason: str) -> Note:
    """For such providers when they could not be looked after."""
    return Note(
        logging.WARNING, 'Providers of host %s that belong to no device could '
        'not be removed: %s' % (hostname, reason))


def _managed(plan, change) -> Note:
    return Note(
        logging.WARNING,
        'Attach handle %s (%s) on host %s keeps managed=%s (%s); the report '
        'says managed=%s. Its agent does not reconcile managed mode: upgrade '
        'it, or check [upgrade_levels] conductor there.' % (
            change.handle.uuid, change.address, plan.hostname,
            str(change.old).lower(), _arqs(change.handle.arq_uuids),
            str(change.new).lower()))


def _address(handle) -> str:
    return attach_info.describe(handle.attach_info)


def _arqs(uuids: Iterable[str]) -> str:
    names = ', '.join(uuids)
    return 'accelerator request %s' % names if names else 'no request'

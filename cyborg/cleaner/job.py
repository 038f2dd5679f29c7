# SPDX-License-Identifier: Apache-2.0
"""Cleans one disk, from the first interlock to the release.

Every step is written down before it is taken, so that a process that comes
after this one knows what may have happened. The disk is held until it is
offered again, or the job gives up.
"""

from collections.abc import Callable
import dataclasses
import secrets
import threading

from oslo_log import log as logging

from cyborg.cleaner import exceptions
from cyborg.cleaner import selection
from cyborg.cleaner import view as placement_view
from cyborg.cleaning import interlocks
from cyborg.cleaning import records
from cyborg.cleaning import states
from cyborg.common import exception
from cyborg.nvme import baseline
from cyborg.nvme import canaries
from cyborg.nvme import controller as nvme_controller
from cyborg.nvme import erase
from cyborg.nvme import errors
from cyborg.nvme import methods
from cyborg.nvme import port as nvme_port
from cyborg.placement import client as placement
from cyborg.placement import tree

LOG = logging.getLogger(__name__)
State = states.State
_ENTRY = dataclasses.replace


class Stopped(Exception):
    """The service ends; the disk goes on alone."""


@dataclasses.dataclass(frozen=True)
class Means:
    """What a job works with.

    :ivar save: writes the journal.
    :ivar now: seconds since the epoch.
    """

    client: tree.TreeClient
    save: Callable[[records.Entry], None]
    now: Callable[[], float]
    stopping: threading.Event
    limits: erase.Limits
    samples: int
    host: str
    pause: float = 1.0


class Job:
    """One cleaning of one disk; run by a thread of its own.

    :ivar entry: the journal entry as it is now.
    :ivar settling: held from the last look at Placement until the release is
        written down: nobody else may decide about the disk then.
    """

    def __init__(self, port: nvme_port.Port, entry: records.Entry,
                 view: records.View, rule: selection.Selected, means: Means,
                 resume: bool = False):
        self.entry = entry
        self.began = means.now()
        self.settling = threading.Lock()
        self._port = port
        self._view = view
        self._rule = rule
        self._means = means
        self._resume = resume
        self._controller = nvme_controller.Controller(port)

    def run(self) -> None:
        """:raises errors.NvmeError: the disk, or its host, objects.

        :raises exceptions.Refused: Placement does.
        :raises exceptions.ReservationLost: likewise, beyond repair.
        :raises exception.CyborgException: Placement does not answer, or the
            journal can't be written.
        :raises Stopped: the service ends.
        """
        try:
            self._clean()
        except errors.NvmeError as error:
            broken = self._broken()
            self._give_back()
            if broken is not None:
                raise broken from error
            raise
        finally:
            self._port.release()

    def _broken(self) -> errors.LockBroken | None:
        """Whether the disk changed hands: then what it said says nothing."""
        try:
            self._port.check_hold()
        except errors.LockBroken as error:
            return error
        except errors.NvmeError:
            return None
        return None

    def _give_back(self) -> None:
        """Put the driver back also where the disk could not be cleaned."""
        wanted = self.entry.binding
        try:
            if wanted is None or self._port.facts().binding == wanted:
                return
            self._port.restore_binding(wanted)
        except errors.NvmeError as error:
            # Why it was not cleaned matters more, and goes on its way.
            LOG.warning('%s', error)
            return
        self._save(binding=None)

    def _save(self, **changes) -> None:
        entry = dataclasses.replace(self.entry, **changes)
        # What could not be written down has not happened.
        self._means.save(entry)
        self.entry = entry

    def _clean(self) -> None:
        if self.entry.binding is None:
            self._save(binding=self._port.facts().binding)
        self._port.hold()
        recorded = self._recorded()
        ask = erase.guard(self._controller, recorded.identity,
                          self._ask_placement)
        ask()
        if not self._resumed(recorded):
            self._erase(recorded, ask)
        self._save(state=State.VERIFYING)
        canaries.verify(self._controller.disk, self._port,
                        self.entry.canaries)
        erase.finish(self._controller, recorded, self._means.limits, ask)
        self._port.check_hold()
        self._port.restore_binding(self.entry.binding)
        self._save(seconds=self._means.now() - self.entry.began)
        self._release()

    def _recorded(self):
        """The disk as recorded, or now for the first time."""
        identity = self._controller.identify()
        self._wait_for_others()
        if self.entry.baseline is None:
            found = baseline.record(self._controller.inventory())
            self._check_identity(identity)
            self._save(serial=identity.serial, model=identity.model,
                       baseline=found)
        baseline.check_same_disk(self._controller.disk,
                                 self.entry.baseline.identity, identity)
        return self.entry.baseline

    def _check_identity(self, identity):
        for field in ('serial', 'model'):
            expected = getattr(self.entry, field)
            if expected and expected != getattr(identity, field):
                raise errors.WrongDisk(self._controller.disk, field, expected,
                                       getattr(identity, field))

    def _wait_for_others(self):
        """An erase that a predecessor began, or a guest, has to end first."""
        identity = self._controller.identify()
        if not identity.sanicap & 0x7:
            return
        if self._resume and self.entry.scdw10 is not None:
            return
        while self._controller.sanitize_log().running:
            self._rest()

    def _ask_placement(self, view: records.View | None = None) -> None:
        """:raises exceptions.Refused: an interlock does not hold."""
        view = view or self._fresh()
        refusal = interlocks.first_refusal(interlocks.of_placement(view))
        if refusal is not None:
            kind = (exceptions.ReservationLost if refusal.name == 'reserved'
                    else exceptions.Refused)
            raise kind(disk=self.entry.label, host=self._means.host,
                       interlock=refusal)

    def _fresh(self) -> records.View | None:
        return placement_view.PlacementView(
            self._means.client, self._means.host, ()).fresh(self._view)

    # The erase

    def _resumed(self, recorded) -> bool:
        """Follow the sanitize that a predecessor began, if it was ours."""
        if not self._resume or self.entry.scdw10 is None or (
                self.entry.canaries is None):
            return False
        try:
            self._follow(self.entry.scdw10)
            # Nobody has held the disk since that predecessor went.
            erase.check_untouched(self._controller)
        except (errors.SanitizeNotOurs,
                errors.WrittenSinceSanitize) as error:
            LOG.info('%s It is cleaned again.', error)
            return False
        return True

    def _erase(self, recorded, ask) -> None:
        self._save(state=State.CLEANING, method='', scdw10=None,
                   canaries=None, began=self._means.now(), clean=False)
        found = erase.prepare(self._controller, recorded, self._means.limits,
                              ask)
        method = methods.choose(self._controller.disk, found.identity,
                                found.namespaces, self._rule.action,
                                self._rule.strategy)
        # New blocks may have new handles.
        self._port.hold()
        planned = canaries.plan(self._controller.disk, secrets.token_hex(16),
                                found.namespaces, self._means.samples)
        ask()
        canaries.write(self._controller.disk, self._port, planned)
        self._save(method=method.value, canaries=planned)
        scdw10 = erase.begin(self._controller, method, found.namespaces, ask)
        if scdw10 is not None:
            self._save(scdw10=scdw10)
            self._follow(scdw10)

    def _follow(self, scdw10: int) -> None:
        while True:
            progress = erase.follow(self._controller, scdw10)
            if progress is None:
                return
            LOG.debug('%s: sanitize at %d %%', self.entry.label,
                      progress * 100)
            self._rest()

    def _rest(self) -> None:
        if self._means.stopping.wait(self._means.pause):
            raise Stopped

    # The release

    def _release(self) -> None:
        """Offer the disk; again until it worked, as long as it is held."""
        while True:
            try:
                with self.settling:
                    self._release_once()
                return
            except exception.ResourceProviderUpdateConflict:
                # Somebody wrote meanwhile: decide anew by what is there.
                LOG.debug('%s: the provider changed', self.entry.label)
            except exception.PlacementServerError as error:
                LOG.warning('Disk %s is clean and stays reserved until '
                            'Placement answers: %s', self.entry.label,
                            exception.plain_text(error))
                self._rest_and_wait_for_placement()

    def _rest_and_wait_for_placement(self):
        while True:
            self._rest()
            try:
                self._fresh()
                return
            except exception.PlacementServerError:
                continue

    def _release_once(self) -> None:
        view = self._fresh()
        if self._came_through(view):
            self._seal(view.provider, view.generation)
            return
        self._ask_placement(view)
        generation = placement_view.unmark(self._means.client, view)
        self._save(state=State.RELEASING, reason=states.VERIFIED,
                   provider=view.provider, generation=generation)
        self._seal(view.provider, placement_view.release(
            self._means.client, view.provider, generation))

    def _came_through(self, view) -> bool:
        """Whether a release that got no answer was written all the same."""
        return (self.entry.state is State.RELEASING and view is not None
                and view.reserved == 0 and self.entry.moved(view) == 1)

    def _seal(self, provider: str, generation: int) -> None:
        self._save(state=State.SEALED, reason=states.VERIFIED, detail='',
                   provider=provider, generation=generation, clean=True,
                   failures=0, consumer='', since=self._means.now(),
                   binding=None)


#: What passes by itself, whatever the disk.
TRANSIENT = (*placement.ERRORS, exceptions.Refused,
             exceptions.ReservationLost, exceptions.JournalUnusable,
             exception.PrivilegedHelperFailed)

# SPDX-License-Identifier: Apache-2.0
"""Looks at Placement, the host and the journal, and does what follows.

Driven by level and not by edge: what a notification said, or whether there
was one, is no part of it.
"""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import dataclasses
import threading
import time

from oslo_log import log as logging

from cyborg.cleaner import book
from cyborg.cleaner import exceptions
from cyborg.cleaner import job as cleaner_job
from cyborg.cleaner import journal as cleaner_journal
from cyborg.cleaner import metrics as cleaner_metrics
from cyborg.cleaner import requests
from cyborg.cleaner import selection
from cyborg.cleaner import told
from cyborg.cleaner import view as placement_view
from cyborg.cleaning import decide
from cyborg.cleaning import records
from cyborg.cleaning import states
from cyborg.common import exception
from cyborg.nvme import erase
from cyborg.nvme import errors
from cyborg.nvme import port as nvme_port
from cyborg.nvme import records as nvme_records
from cyborg.placement import client as placement

LOG = logging.getLogger(__name__)
State = states.State
Step = decide.Step

#: Decisions about one disk in one look: reserve, write down, begin.
_ROUNDS = 4
#: Guests without any notification after which it is said.
_SILENCE = 3


@dataclasses.dataclass(frozen=True)
class Settings:
    """Options of ``[cleaner]`` and ``[nvme]``."""

    host: str
    decide: records.Options = records.Options()
    limits: erase.Limits = erase.Limits()
    concurrency: int = 2
    verify_samples: int = 64
    cleanup_timeout: float = 900
    metrics_file: str | None = None
    pause: float = 1.0


@dataclasses.dataclass
class _Work:
    job: cleaner_job.Job
    thread: threading.Thread
    overdue: bool = False


class Cleaner:
    """The cleaner of one host.

    :param rules: which disks it may touch.
    :param disks: the host's disks.
    :param spawn: starts a thread for a job; a test may run it at once.
    """

    def __init__(self, settings: Settings, rules: selection.Rules,
                 disks: nvme_port.Host, journal: cleaner_journal.Journal,
                 view: placement_view.PlacementView, *,
                 now: Callable[[], float] = time.time,
                 spawn: Callable[..., threading.Thread] | None = None,
                 metrics: cleaner_metrics.Metrics | None = None):
        self._settings = settings
        self._rules = rules
        self._disks = disks
        self._journal = journal
        self._view = view
        self._now = now
        self._spawn = spawn or _thread
        self.metrics = metrics or cleaner_metrics.Metrics()
        self.stopping = threading.Event()
        #: Set when there is a reason to look before the interval is over.
        self.wake = threading.Event()
        self._book = book.Book(journal, disks, now)
        self._told = told.Teller(settings.host, self.metrics)
        self._operators = requests.Operators(
            settings.host, rules, disks, self._book, view, self._told, now)
        self._work: dict[str, _Work] = {}
        self._hinted = False
        #: Something stands in the way of a disk that mostly passes soon.
        self.impatient = False
        self._usable = True
        self._allocations_seen = 0
        self._silence_told = False

    def start(self) -> None:
        """Take the journal.

        :raises exceptions.AnotherCleaner: another process has it.
        :raises exceptions.DiskOfTwoServices: see :meth:`check_owners`.
        """
        self._rules.check_owners()
        self._journal.lock()
        self._book.load()
        for entry in self._book.all():
            if entry.reason == states.JOURNAL_DAMAGED:
                LOG.error('Disk %s: %s', entry.label, entry.detail)

    def stop(self, seconds: float = 5) -> None:
        """Take no new work; a sanitize goes on in its drive."""
        self.stopping.set()
        self.wake.set()
        limit = time.monotonic() + seconds
        for work in list(self._work.values()):
            work.thread.join(max(0, limit - time.monotonic()))
        self._journal.unlock()

    def hint(self) -> None:
        """Something may have changed."""
        self.metrics.count('hints_total')
        self._hinted = True
        self.wake.set()

    @property
    def requested(self) -> bool:
        """Whether an operator asked for something."""
        try:
            return self._journal.asked
        except exceptions.JournalUnusable:
            # The next look says so.
            return False

    # One look

    def look(self) -> None:
        """Look at every disk once, and begin what is due.

        A journal that cannot be written keeps no disk from being reserved.

        :raises exception.CyborgException: Placement could not be asked;
            nothing else was done.
        """
        self.impatient = False
        self._usable = True
        self._take_requests()
        selected, both, facts = self.survey()
        busy = set(self.working)
        views = self.views(facts)
        for address in sorted(facts):
            view = views.get(address)
            try:
                with self._alone(address) as alone:
                    if not alone:
                        continue
                    if address in busy and view is not None:
                        # Its job may have written since it was read.
                        view = self._view.fresh(view)
                    self._settle(address, facts[address], view,
                                 selected.get(address),
                                 both.get(address, ''))
            except placement.ERRORS as error:
                self._told.refusal(address, 'Placement: %s' %
                          exception.plain_text(error))
            except exception.PlacementResourceProviderNotFound as error:
                LOG.info('%s', error.message)
            except exceptions.JournalUnusable as error:
                self._unusable(error)
        if self._usable:
            self._told.well('journal')
        self._watch_overdue()
        self._watch_silence()
        self.metrics.last_look = self._now()
        self.write_metrics()

    @contextlib.contextmanager
    def _alone(self, address: str) -> Iterator[bool]:
        """Whether no job is just releasing the disk, nor begins to.

        What Placement and the journal say would not be of the same moment.
        The end of the job brings the next look.
        """
        work = self._work.get(address)
        if work is None or not work.thread.is_alive():
            yield True
            return
        alone = work.job.settling.acquire(blocking=False)
        try:
            yield alone
        finally:
            if alone:
                work.job.settling.release()

    def _take_requests(self) -> None:
        try:
            self._operators.take()
        except exceptions.JournalUnusable as error:
            self._unusable(error)

    def _unusable(self, error) -> None:
        """It is told; what the journal said last stands."""
        self._usable = False
        self._told.trouble('journal', error.message)

    def write_metrics(self) -> None:
        path = self._settings.metrics_file
        if path is None:
            return
        try:
            self.metrics.write(path, self._book.all(), self._now())
            self._told.well('metrics')
        except OSError as error:
            self._told.trouble(
                'metrics', 'Host %s: the metrics file %s cannot be written: '
                '%s' % (self._settings.host, path, error.strerror))

    @property
    def options(self) -> records.Options:
        return self._settings.decide

    @property
    def book(self) -> book.Book:
        return self._book

    @property
    def entries(self) -> dict[str, records.Entry]:
        """File name of the journal -> entry."""
        return self._book.entries

    def survey(self) -> tuple[Mapping[str, selection.Selected],
                              Mapping[str, str],
                              dict[str, nvme_records.Facts]]:
        """What is selected, what Cyborg's rules select too, and facts."""
        selected, both = self._rules.look()
        addresses = {*selected, *(entry.address for entry in
                                  self._book.all() if entry.address)}
        return selected, both, self._disks.facts(sorted(addresses))

    def views(self, facts: Mapping[str, nvme_records.Facts]
              ) -> dict[str, records.View]:
        """:raises exception.CyborgException: Placement can't be asked."""
        # Where a guest runs, the end of its allocation changes nothing; who
        # gave a hint expects to see it all the same.
        hinted, self._hinted = self._hinted, False
        return self._view.look(facts, lambda address: not hinted and any(
            use.kind == 'vfio' for use in facts[address].uses))

    def _settle(self, address, facts, view, rule, cyborg_rule) -> None:
        for _round in range(_ROUNDS):
            entry, displaced = self._book.entry_for(address, facts)
            if displaced:
                self._book.set_absent(address, displaced)
            work = self._work.get(address)
            host = records.Host(
                facts, rule is not None, cyborg_rule, displaced,
                working=work is not None and work.thread.is_alive())
            decision = decide.decide(view, host, entry,
                                     self._settings.decide, self._now())
            try:
                if not self._act(address, decision, entry, view, host, rule):
                    return
            except exception.ResourceProviderUpdateConflict:
                if _round == _ROUNDS - 1:
                    raise
                # Somebody wrote meanwhile: read it, and decide anew.
                LOG.debug('%s: its provider changed', address)
            view = self._view.fresh(view)

    def _act(self, address, decision, entry, view, host, rule) -> bool:
        """:returns: whether to decide again at once"""
        if decision.step is Step.RESERVE:
            if entry is None and not host.selected:
                return False
            view = self._view.reserve(view)
        self._tell(address, decision)
        changed = self._record(address, decision, entry, view, host)
        if decision.step in (Step.CLEAN, Step.RESUME) and self._has_room():
            self._begin(address, decision, view, host, rule)
            return False
        return changed or decision.step is Step.RESERVE

    def _tell(self, address, decision) -> None:
        refusal = decision.refusal
        if refusal is not None and refusal.name == 'opener':
            self.impatient = True
            self._told.passing(address, str(refusal), self._now())
            return
        self._told.passed(address)
        if refusal is not None:
            self._told.refusal(address, str(refusal))
        elif decision.step is not Step.NOTHING:
            self._told.well(address)

    def _record(self, address, decision, entry, view, host) -> bool:
        """Write the decision down, where it changes something."""
        if decision.state is None:
            return False
        now = (decision.state, decision.reason, decision.clean)
        if entry is not None and now == (entry.state, entry.reason,
                                         entry.clean) and (
                entry.address == address):
            return False
        if entry is None:
            entry = records.Entry('', '', address, State.ABSENT)
        before = entry
        if not entry.known and self._book.tells(host.facts) and (
                self._book.is_free(host.facts, address)):
            entry = dataclasses.replace(
                entry, serial=host.facts.serial,
                model=host.facts.model or '')
        # What is gone keeps its seal, and its reason, for its return.
        away = decision.state is State.ABSENT
        entry = entry.gone() if away else dataclasses.replace(
            entry.back(), state=decision.state, reason=decision.reason,
            detail='', generation=view.generation, provider=view.provider)
        entry = dataclasses.replace(entry, clean=decision.clean,
                                    address=address, since=self._now())
        if decision.state is State.IN_USE and before.state is not (
                State.IN_USE):
            entry = dataclasses.replace(entry, consumer=', '.join(
                self._view.client.get_consumers(None, view.provider)))
        self._book.write(entry)
        if State.IN_USE is entry.state is not before.state:
            self._allocations_seen += 1
        self._told.change(before, entry)
        return True

    # Jobs

    def _has_room(self) -> bool:
        busy = [work for work in self._work.values()
                if work.thread.is_alive() and not work.overdue]
        return (len(busy) < self._settings.concurrency
                and not self.stopping.is_set())

    def _begin(self, address, decision, view, host, rule) -> None:
        entry, _displaced = self._book.entry_for(address, host.facts)
        settings = self._settings
        means = cleaner_job.Means(
            self._view.client, self._book.write, self._now, self.stopping,
            settings.limits, settings.verify_samples, settings.host,
            settings.pause)
        job = cleaner_job.Job(self._disks.port(address), entry, view, rule,
                              means, resume=decision.step is Step.RESUME)
        self._work[address] = _Work(job, threading.current_thread())
        self._work[address].thread = self._spawn(self._run, job)

    def _run(self, job) -> None:
        """One job, whose errors stay its own."""
        before = job.entry
        try:
            job.run()
        except cleaner_job.Stopped:
            return
        except (errors.NvmeError, exception.CyborgException) as error:
            self._failed(job, error)
            return
        except Exception as error:
            LOG.exception('Cleaning of %s', job.entry.label)
            self._failed(job, error)
            return
        finally:
            self.wake.set()
        self.metrics.count('cleanings_total',
                           'method="%s"' % job.entry.method)
        self.metrics.count('cleaning_seconds_total', 'method="%s"'
                           % job.entry.method, job.entry.seconds or 0)
        self._told.change(before, job.entry)

    def _failed(self, job, error) -> None:
        text = exception.plain_text(error)
        entry = job.entry
        reason = getattr(error, 'reason', None) or type(error).__name__
        self.metrics.count('failures_total', 'reason="%s"' % reason)
        if isinstance(error, cleaner_job.TRANSIENT) or getattr(
                error, 'transient', False):
            failures = entry.failures + 1
            pause = min(records.LONGEST_PAUSE, 15 * 2 ** min(failures, 10))
            changed = dataclasses.replace(
                entry, detail=text, failures=failures, clean=False,
                not_before=self._now() + pause)
            # A release may have come through without its answer; what
            # became of it is decided by what Placement has.
            if entry.state not in (State.DIRTY, State.RELEASING):
                changed = dataclasses.replace(
                    changed, state=State.DIRTY, reason=states.INTERRUPTED)
        else:
            changed = dataclasses.replace(
                entry, state=State.ERROR, reason=reason, detail=text,
                since=self._now(), clean=False)
        try:
            self._book.write(changed)
        except exceptions.JournalUnusable as unusable:
            self._unusable(unusable)
        else:
            self._told.change(entry, changed)
        self._told.refusal(entry.address, text)

    def _watch_overdue(self) -> None:
        for work in self._work.values():
            job, now = work.job, self._now()
            erased = job.entry.erased_for(now)
            taken = now - job.began if erased is None else erased
            if (work.thread.is_alive() and not work.overdue
                    and taken > self._settings.cleanup_timeout):
                work.overdue = True
                LOG.warning(
                    'Disk %(disk)s of host %(host)s is overdue: its cleaning '
                    'takes longer than [nvme] cleanup_timeout (%(limit)d s). '
                    'It stays reserved and is followed on.', {
                        'disk': job.entry.label, 'host': self._settings.host,
                        'limit': self._settings.cleanup_timeout})
                self.metrics.count('failures_total', 'reason="overdue"')

    def is_overdue(self, entry: records.Entry, now: float) -> bool:
        """Whether the erase that an entry tells of takes too long."""
        taken = entry.erased_for(now)
        return taken is not None and taken > self._settings.cleanup_timeout

    def overdue(self) -> list[str]:
        """Addresses of disks whose cleaning takes too long."""
        return sorted(address for address, work in self._work.items()
                      if work.overdue and work.thread.is_alive())

    @property
    def working(self) -> list[str]:
        return sorted(address for address, work in self._work.items()
                      if work.thread.is_alive())

    def _watch_silence(self) -> None:
        if (self._silence_told or self._allocations_seen < _SILENCE
                or self.metrics.counters['hints_total', '']):
            return
        self._silence_told = True
        LOG.warning(
            'Host %(host)s: %(number)d disks were allocated, and no hint of a '
            'notification ever came. In Nova, notification_format = versioned '
            'belongs into [notifications], and driver = messagingv2 into '
            '[oslo_messaging_notifications], for nova-compute, nova-api and '
            'nova-conductor. Until then all is done by polling.', {
                'host': self._settings.host,
                'number': self._allocations_seen})


def _thread(target, job) -> threading.Thread:
    thread = threading.Thread(target=target, args=(job,), daemon=True,
                              name='clean-%s' % job.entry.address)
    thread.start()
    return thread

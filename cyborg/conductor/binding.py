# SPDX-License-Identifier: Apache-2.0
"""Binds ARQs to attach handles, and unbinds them.

The ARQs of one request are bound all or none. Most are Bound by one
transaction. Where the device needs work first (a mediated device, an FPGA to
program) they stay BindStarted meanwhile, hold their handles, and become Bound
or BindFailed at its end. Unbinding works from every state, so it also clears
up what a killed conductor left in BindStarted.

Nova hears the outcome of each ARQ. When it cannot be told, the caller gets
``InvalidAPIResponse`` whatever the reason was, and bound ARQs stay Bound: the
instance fails in Nova, which unbinds or deletes them then.
"""

from collections.abc import Callable
from collections.abc import Sequence
from concurrent import futures
import datetime
import logging
import threading
import time

from oslo_utils import timeutils

from cyborg.common import constants
from cyborg.common import context as cyborg_context
from cyborg.common import deadline
from cyborg.common import exception
from cyborg.conductor import bind_requests
from cyborg.conductor import programming
from cyborg.conf import CONF
from cyborg.db import arqs
from cyborg.db import bind_ends
from cyborg.db import binding
from cyborg.db import query
from cyborg.db import unbinding

LOG = logging.getLogger(__name__)

# Seconds between looks at a bind that another conductor may be about, and
# beyond its time, before it counts as given up.
_POLL = 1
_GRACE = 5


class Binder:
    """Applies the patches of ARQs; one per conductor.

    :param agent: a ``cyborg.rpcapi.agent.AgentAPI``.
    :param nova: a ``cyborg.common.nova_client.NovaClient``.
    :param programmer: has FPGAs programmed.
    """

    def __init__(self, agent, nova, programmer: programming.Programmer):
        self._agent = agent
        self._nova = nova
        self._programmer = programmer
        self._pool = futures.ThreadPoolExecutor(
            CONF.thread_pool_size, thread_name_prefix='bind')
        self._lock = threading.Lock()
        #: (ARQ, handle, instance) that the pool works on
        self._going_on: set[tuple] = set()
        self._stopping = threading.Event()

    def stop(self) -> None:
        """Finish what goes on in the background."""
        self._stopping.set()
        self._pool.shutdown(wait=True)

    def apply_patch(self, context: cyborg_context.RequestContext,
                    patch_list: dict[str, list],
                    valid_fields: dict[str, dict]) -> None:
        """Unbind the ARQs whose operations remove, and bind the others.

        Both is done or neither, except that mediated devices are removed
        first.

        :param patch_list: JSON patch operations by ARQ UUID, all ``add`` or
            all ``remove`` for one ARQ.
        :param valid_fields: where to bind, by ARQ UUID: hostname,
            device_rp_uuid, instance_uuid and maybe project_id.
        :raises exception.PatchError: the operations of an ARQ are mixed.
        :raises exception.CyborgException: see :meth:`bind` and
            ``cyborg.db.unbinding.release``.
        """
        removals, requests = [], []
        for arq_uuid, operations in patch_list.items():
            kinds = {operation.get('op') for operation in operations}
            if kinds == {'remove'}:
                removals.append(arq_uuid)
            elif kinds == {'add'}:
                requests.append(bind_requests.request_of(
                    arq_uuid, valid_fields))
            else:
                raise exception.PatchError(
                    reason='every op of accelerator request %s must be add, '
                           'or every one remove' % arq_uuid)
        rows = self._rows(context, removals, requests)
        again, under_way, requests = bind_requests.told_apart(rows, requests)
        released = self._removed(context, removals, bool(requests))
        if requests:
            again += self._or_find(context, requests, lambda: self.bind(
                context, requests, rows, released))
        if under_way:
            again += self._or_find(context, under_way, lambda: self._go_on(
                context, under_way, rows))
        self._repeat(context, again)
        if removals:
            LOG.info('Unbound accelerator requests %s.', ', '.join(removals))

    def _removed(self, context, uuids, later: bool
                 ) -> list[binding.Holding]:
        """Unbind ARQs; returns what is left to unbind ``later``."""
        left = [] if not later or not uuids else [
            holding for holding in unbinding.holdings(context, uuids=uuids)
            if not holding.is_mdev]
        kept = {holding.arq_uuid for holding in left}
        now = [uuid for uuid in uuids if uuid not in kept]
        if now:
            unbinding.release(context, now, self._agent.remove_vgpu_mdev)
        return left

    @staticmethod
    def _rows(context, removals, requests) -> dict:
        """Rows of all ARQs; nothing is changed if one is unknown."""
        wanted = removals + [request.arq_uuid for request in requests]
        rows = {row.ExtARQ.uuid: row
                for row in arqs.list_(context, uuids=wanted)}
        unknown = [uuid for uuid in wanted if uuid not in rows]
        if unknown:
            raise query.not_found('ExtArq', uuid=', '.join(unknown))
        return rows

    def _or_find(self, context, requests, bind: Callable[[], None]
                 ) -> Sequence[binding.Request]:
        """Bind; the ARQs that the same call, come twice, bound meanwhile."""
        try:
            bind()
        except exception.ARQBadState:
            now = self._rows(context, [], requests)
            if not all(binding.is_done(now[request.arq_uuid].ExtARQ, request)
                       for request in requests):
                raise
            return requests
        return ()

    def _repeat(self, context, again: Sequence[binding.Request]) -> None:
        """Answer a bind that was done before, whose answer was lost."""
        if again:
            LOG.info('Accelerator requests %s are bound as asked already.',
                     ', '.join(request.arq_uuid for request in again))
            self._tell(context, {request.arq_uuid: request.instance_uuid
                                 for request in again},
                       constants.ARQ_BIND_STATUS_FINISH)

    def bind(self, context: cyborg_context.RequestContext,
             requests: Sequence[binding.Request], rows: dict,
             released: Sequence[binding.Holding] = ()) -> None:
        """Bind a set of ARQs, all or none.

        When an FPGA has to be programmed this returns before it is done;
        Nova hears the outcome within ``[DEFAULT] bind_timeout`` seconds.

        :param rows: by ARQ UUID, as ``cyborg.db.arqs`` gives them.
        :param released: ARQs to unbind in the same step.
        :raises exception.CyborgException: why the set was not bound. Its
            ARQs are BindFailed then and Nova was told, except for
            ARQBadState: someone else changed an ARQ meanwhile, and nothing
            was done; and CallTooLate: nobody waits for it any more.
        """
        try:
            jobs = programming.jobs(rows.values())
            requests = [bind_requests.with_products(request, rows)
                        for request in requests]
            held = unbinding.exchange(context, released, requests,
                                      frozenset(jobs))
        except (exception.ARQBadState, exception.CallTooLate):
            # Whoever has an ARQ of the set decides what becomes of it, and
            # the others were not touched yet.
            raise
        except Exception as error:
            self._fail(context, requests, [], error)
            raise
        self._prepare(context, requests, held, jobs)

    def _prepare(self, context, requests, held, jobs) -> None:
        """Have the devices ready, and the ARQs Bound."""
        until = time.monotonic() + CONF.bind_timeout
        try:
            self._create_mdevs(context, held)
            if not jobs:
                self._complete(context, held)
        except Exception as error:
            self._fail(context, requests, held, error)
            raise
        if jobs:
            self._behind(held, self._program, context, requests, held, jobs,
                         until)
            return
        self._tell(context, {h.arq_uuid: h.instance_uuid for h in held},
                   constants.ARQ_BIND_STATUS_FINISH)

    def _go_on(self, context, requests, rows) -> None:
        """Bind ARQs that are BindStarted, since the answer was lost.

        Somebody may still be about it, or the conductor was killed. A
        mediated device is made again, which is no fault. An FPGA must not be
        programmed twice at once: that is left to the first until its time is
        up, and Nova hears from whoever is done.

        :raises exception.ARQBadState: one is not BindStarted any more.
        """
        instances = {request.arq_uuid: request.instance_uuid
                     for request in requests}
        held = unbinding.holdings(context, uuids=list(instances))
        states = {h.arq_uuid: h.state for h in held
                  if h.handle_id is not None
                  and h.instance_uuid == instances[h.arq_uuid]}
        for uuid in instances:
            if states.get(uuid) != constants.ARQ_BIND_STARTED:
                raise exception.ARQBadState(
                    uuid=uuid, state=states.get(uuid, 'released'),
                    expected=constants.ARQ_BIND_STARTED)
        jobs = programming.jobs(rows[h.arq_uuid] for h in held)
        LOG.info('Accelerator requests %s are being bound as asked already.',
                 ', '.join(h.arq_uuid for h in held))
        if jobs:
            self._behind(held, self._wait_and_program, context, requests,
                         held, jobs)
        else:
            self._prepare(context, requests, held, jobs)

    def _behind(self, held, work: Callable[..., None], context,
                *arguments) -> None:
        """Do what goes on when the call is answered, unless it goes on.

        It was accepted, and Nova waits for the outcome.
        """
        mine = {(h.arq_uuid, h.handle_id, h.instance_uuid) for h in held}
        with self._lock:
            if mine & self._going_on:
                return
            self._going_on |= mine

        def run() -> None:
            try:
                work(context.unlimited(), *arguments)
            except Exception:
                LOG.exception('Accelerator requests %s stay as they are until '
                              'they are bound again, unbound or deleted.',
                              ', '.join(h.arq_uuid for h in held))
            finally:
                with self._lock:
                    self._going_on -= mine

        self._pool.submit(run)

    def _wait_and_program(self, context, requests, held, jobs) -> None:
        """Program when whoever was about it cannot be any more."""
        limit = datetime.timedelta(seconds=CONF.bind_timeout + _GRACE)
        uuids = [holding.arq_uuid for holding in held]
        while not self._stopping.wait(_POLL):
            rows = arqs.list_(context, uuids=uuids)
            if len(rows) < len(held) or not all(
                    binding.is_under_way(row.ExtARQ, request)
                    for row, request in bind_requests.paired(rows, requests)):
                return
            before = timeutils.utcnow() - limit
            if all(row.ExtARQ.updated_at <= before for row in rows):
                if bind_ends.take_over(context, held, before):
                    self._program(context, requests, held, jobs,
                                  time.monotonic() + CONF.bind_timeout, True)
                return

    @staticmethod
    def _complete(context, held) -> None:
        started = [holding for holding in held
                   if holding.state == constants.ARQ_BIND_STARTED]
        if started:
            bind_ends.complete(context, started)
        LOG.info('Bound accelerator requests: %s.', ', '.join(
            '%s to attach handle %s of host %s for instance %s' % (
                h.arq_uuid, h.handle_uuid, h.handle_hostname,
                h.instance_uuid) for h in held))

    def _create_mdevs(self, context, held) -> None:
        for holding in held:
            if holding.is_mdev:
                self._agent.create_vgpu_mdev(context, **holding.mdev)

    def _program(self, context, requests, held, jobs, until: float,
                 afresh: bool = False) -> None:
        """Runs in a thread of its own, so that nobody hears of errors.

        :param until: ``time.monotonic()`` by which it must be done.
        :param afresh: it is not known how far somebody else came.
        """
        timely = context.until(deadline.now() + until - time.monotonic())
        try:
            if afresh:
                self._create_mdevs(timely, held)
            for holding in held:
                job = jobs.get(holding.arq_uuid)
                if job:
                    self._programmer.run(timely, holding, job, until)
            self._complete(timely, held)
        except Exception as error:  # noqa: BLE001
            self._fail(context, requests, held, error)
            return
        try:
            self._tell(context, {h.arq_uuid: h.instance_uuid for h in held},
                       constants.ARQ_BIND_STATUS_FINISH)
        except exception.CyborgException as error:
            LOG.error('%s', error.message)

    def _fail(self, context, requests, held, error) -> None:
        """Undo a bind; what goes wrong here must not hide ``error``."""
        if held:
            # Whether anybody waits or not.
            context = context.unlimited()
        LOG.warning('Accelerator requests %s were not bound: %s', ', '.join(
            r.arq_uuid for r in requests), exception.plain_text(error))
        failed = self._give_back(context, requests, held)
        try:
            self._tell(context, {r.arq_uuid: r.instance_uuid
                                 for r in requests if r.arq_uuid in failed},
                       constants.ARQ_BIND_STATUS_FAILED)
        except exception.CyborgException as problem:
            LOG.error('%s', problem.message)

    def _give_back(self, context, requests, held) -> list[str]:
        """Free what was claimed; UUIDs of the ARQs that are BindFailed."""
        try:
            failed = bind_ends.fail(context, requests, held)
            for holding in held:
                if holding.is_mdev and holding.arq_uuid in failed:
                    self._remove_mdev(context, holding)
                    bind_ends.drop(context, holding)
            return failed
        except exception.CallTooLate as late:
            # Nothing was taken, and what became of the ARQs since is up to
            # those who did it.
            LOG.info('%s', late.message)
            return []
        except Exception:
            # They stay as they are until they are unbound or deleted.
            LOG.exception('Accelerator requests %s could not be marked as '
                          'BindFailed.', ', '.join(
                              r.arq_uuid for r in requests))
            return []

    def _remove_mdev(self, context, holding) -> None:
        try:
            self._agent.remove_vgpu_mdev(context, **holding.mdev)
        except Exception as error:  # noqa: BLE001
            # No guest ever had it, and creating it again is no fault.
            LOG.warning('Mediated device %s on host %s may be left: %s',
                        holding.handle_uuid, holding.handle_hostname,
                        exception.plain_text(error))

    def _tell(self, context, instances: dict[str, str], status: str) -> None:
        """Tell Nova of each instance with one call.

        :param instances: instance UUID by ARQ UUID
        :raises exception.InvalidAPIResponse: Nova was not told of all.
        """
        by_instance: dict[str, dict[str, str]] = {}
        for arq_uuid, instance in instances.items():
            by_instance.setdefault(instance, {})[arq_uuid] = status
        problems = []
        for instance, statuses in by_instance.items():
            try:
                self._nova.notify_bind(context, instance, statuses)
            except exception.InvalidAPIResponse as problem:
                problems.append(problem)
        if problems:
            raise problems[0]

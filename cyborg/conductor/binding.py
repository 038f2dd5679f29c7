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

from collections.abc import Sequence
from concurrent import futures
import logging
import time

from cyborg.common import constants
from cyborg.common import exception
from cyborg.conductor import programming
from cyborg.conf import CONF
from cyborg.db import arqs
from cyborg.db import binding
from cyborg.db import query
from cyborg.db import unbinding

LOG = logging.getLogger(__name__)

_BINDABLE = constants.ARQ_STATES_TRANSFORM_MATRIX[constants.ARQ_BIND_STARTED]


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

    def stop(self) -> None:
        """Finish what goes on in the background."""
        self._pool.shutdown(wait=True)

    def apply_patch(self, context, patch_list: dict[str, list],
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
                requests.append(_request(arq_uuid, valid_fields))
            else:
                raise exception.PatchError(
                    reason='every op of accelerator request %s must be add, '
                           'or every one remove' % arq_uuid)
        rows = self._rows(context, removals, requests)
        again, requests = _told_apart(rows, requests)
        released = self._removed(context, removals, bool(requests))
        if requests:
            again += self._bind_or_find(context, requests, rows, released)
        self._repeat(context, again)
        if removals:
            LOG.info('Unbound accelerator requests %s.', ', '.join(removals))

    def _removed(self, context, uuids, later: bool
                 ) -> list[binding.Holding]:
        """Unbind ARQs; returns what is left to unbind ``later``."""
        left = [] if not later else [
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

    def _bind_or_find(self, context, requests, rows, released
                      ) -> Sequence[binding.Request]:
        """Bind; the ARQs that the same call, come twice, bound meanwhile."""
        try:
            self.bind(context, requests, rows, released)
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

    def bind(self, context, requests: Sequence[binding.Request],
             rows: dict, released: Sequence[binding.Holding] = ()) -> None:
        """Bind a set of ARQs, all or none.

        When an FPGA has to be programmed this returns before it is done;
        Nova hears the outcome within ``[DEFAULT] bind_timeout`` seconds.

        :param rows: by ARQ UUID, as ``cyborg.db.arqs`` gives them.
        :param released: ARQs to unbind in the same step.
        :raises exception.CyborgException: why the set was not bound. Its
            ARQs are BindFailed then and Nova was told, except for
            ARQBadState: someone else changed an ARQ meanwhile, and nothing
            was done.
        """
        deadline = time.monotonic() + CONF.bind_timeout
        held: list[binding.Holding] = []
        try:
            jobs = programming.jobs(rows.values())
            held = unbinding.exchange(context, released, requests,
                                      frozenset(jobs))
            self._create_mdevs(context, held)
            if not jobs:
                self._complete(context, held)
        except Exception as error:
            # Whoever has an ARQ of the set decides what becomes of it, and
            # the others were not touched yet.
            if held or not isinstance(error, exception.ARQBadState):
                self._fail(context, requests, held, error)
            raise
        if jobs:
            self._pool.submit(self._program, context, requests, held, jobs,
                              deadline)
            return
        self._tell(context, {h.arq_uuid: h.instance_uuid for h in held},
                   constants.ARQ_BIND_STATUS_FINISH)

    @staticmethod
    def _complete(context, held) -> None:
        started = [holding for holding in held
                   if holding.state == constants.ARQ_BIND_STARTED]
        if started:
            binding.complete(context, started)
        LOG.info('Bound accelerator requests: %s.', ', '.join(
            '%s to attach handle %s of host %s for instance %s' % (
                h.arq_uuid, h.handle_uuid, h.handle_hostname,
                h.instance_uuid) for h in held))

    def _create_mdevs(self, context, held) -> None:
        for holding in held:
            if holding.is_mdev:
                self._agent.create_vgpu_mdev(context, **holding.mdev)

    def _program(self, context, requests, held, jobs, deadline) -> None:
        """Runs in a thread of its own, so that nobody hears of errors."""
        try:
            for holding in held:
                job = jobs.get(holding.arq_uuid)
                if job:
                    self._programmer.run(context, holding, job, deadline)
            self._complete(context, held)
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
            failed = binding.fail(context, requests, held)
            for holding in held:
                if holding.is_mdev and holding.arq_uuid in failed:
                    self._remove_mdev(context, holding)
                    binding.drop(context, holding)
            return failed
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


def _told_apart(rows: dict, requests: Sequence[binding.Request]
                ) -> tuple[list[binding.Request], list[binding.Request]]:
    """Binds that were done before, and those that are to be done.

    :raises exception.ARQBadState: an ARQ can be neither.
    """
    again, todo = [], []
    for request in requests:
        arq = rows[request.arq_uuid].ExtARQ
        if arq.state in _BINDABLE:
            todo.append(request)
        elif binding.is_done(arq, request):
            again.append(request)
        else:
            raise exception.ARQBadState(
                uuid=request.arq_uuid, state=arq.state,
                expected=', '.join(_BINDABLE))
    return again, todo


def _request(arq_uuid: str, valid_fields: dict[str, dict]):
    fields = valid_fields.get(arq_uuid) or {}
    missing = [name for name in ('hostname', 'device_rp_uuid',
                                 'instance_uuid') if not fields.get(name)]
    if missing:
        raise exception.PatchError(
            reason='accelerator request %s lacks %s' % (
                arq_uuid, ', '.join(missing)))
    return binding.Request(
        arq_uuid, str(fields['hostname']), fields['device_rp_uuid'],
        fields['instance_uuid'], fields.get('project_id'))

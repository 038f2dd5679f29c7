# SPDX-License-Identifier: Apache-2.0
"""The answer of a call was lost, and it comes again."""

import datetime
import functools
import threading
import uuid

import fixtures

from cyborg.common import constants
from cyborg.common import exception
from cyborg.db import binding
from cyborg.db import unbinding
from cyborg.db.sqlalchemy import models
from cyborg.tests.fixtures import processes
from cyborg.tests.functional.conductor import base
from cyborg.tests.functional.conductor import test_binding

NAME = 'compute-1_0000:01:00.0'
OTHER = 'compute-1_0000:02:00.0'
INSTANCE = '9d2b0a3e-1111-4222-8333-444455556666'


class AskedTwiceTest(base.ConductorTestCase):

    def setUp(self):
        super().setUp()
        self.report(base.device(1), base.device(2))
        self.arqs = [self.arq(), self.arq()]

    def bind_first(self, *arqs, **where):
        return self.bind(*arqs or self.arqs[:1], **{
            'name': NAME, 'instance': INSTANCE, **where})

    def handles(self):
        return [self.arq_row(arq).attach_handle_id for arq in self.arqs]

    def test_same_bind_is_answered_as_the_first_time(self):
        """The handle stays, and Nova is told again."""
        self.bind_first()
        held = self.handles()
        self.nova.events.clear()
        for _time in range(2):
            self.bind_first(host='COMPUTE-1')
        self.assertEqual(held, self.handles())
        self.assertEqual([
            {'name': 'accelerator-request-bound', 'server_uuid': INSTANCE,
             'tag': self.arqs[0], 'status': 'completed'}] * 2,
            self.nova.events)
        self.assertEqual([False, True], sorted(
            self.handle(name).in_use for name in (NAME, OTHER)))

    def test_same_bind_when_nova_could_not_be_told(self):
        """It was bound, and the caller got an error; now it is whole."""
        self.nova.fail('.*', status=500)
        self.assertRaises(exception.InvalidAPIResponse, self.bind_first)
        self.nova.heal()
        self.bind_first()
        self.assertEqual({self.arqs[0]: 'completed'}, self.nova.statuses())

    def test_anything_else_is_another_bind(self):
        self.bind_first()
        self.nova.events.clear()
        for other in ({'name': OTHER}, {'instance': self.arqs[0]},
                      {'host': 'compute-2'}):
            error = self.assertRaises(exception.ARQBadState,
                                      self.bind_first, **other)
            self.assertEqual(409, error.code)
        self.assertEqual([], self.nova.events)

    def test_one_is_done_and_the_other_cannot_be(self):
        """A set is bound as a whole, the second time, too."""
        self.bind_first()
        self.assertRaises(exception.ResourceNotFound, self.bind_first,
                          *self.arqs)
        self.assertEqual(['Bound', 'BindFailed'],
                         [self.arq_row(arq).state for arq in self.arqs])

    def test_loser_of_the_last_handle(self):
        """There was one when it looked: no 404, somebody was faster."""
        request = binding.Request(self.arqs[0], base.HOST,
                                  self.provider(NAME), INSTANCE)
        taken = self.handle(NAME)

        def look(*args):
            found = original(*args)
            session = args[0]
            binding.query.changed(session, binding.sa.update(
                binding.models.AttachHandle).where(
                    binding.models.AttachHandle.id == taken.id)
                .values(in_use=True))
            return found

        original = binding._candidates
        self.addCleanup(setattr, binding, '_candidates', original)
        binding._candidates = look
        error = self.assertRaises(exception.AttachHandleTaken, binding.claim,
                                  self.context, [request])
        self.assertEqual(409, error.code)
        self.assertEqual(
            'Accelerator request %s was not bound: other requests took the '
            'last attach handles of resource provider %s on host compute-1 '
            'at the same moment. Choose another device.' % (
                self.arqs[0], self.provider(NAME)), error.message)

    def test_loser_of_one_request(self):
        """The last handle went to the same request: 409, and no 404."""
        self.bind_first()
        request = binding.Request(self.arqs[0], base.HOST,
                                  self.provider(NAME), INSTANCE)
        error = self.assertRaises(exception.ARQBadState, binding.claim,
                                  self.context, [request])
        self.assertIn('Bound', error.message)


class UnderWayTest(base.ConductorTestCase):
    """The first bind is not over, or never will be."""

    def bind_again(self, **where):
        self.bind(self.asked, **{'name': NAME, 'instance': INSTANCE, **where})

    def killed(self, pending=()):
        """A conductor died after its claim."""
        binding.claim(self.context, [binding.Request(
            self.asked, base.HOST, self.provider(NAME), INSTANCE)],
            frozenset(pending))
        self.assertState('BindStarted')

    def assertState(self, state):
        self.assertEqual(state, self.arq_row(self.asked).state)


class MediatedTest(UnderWayTest):

    def setUp(self):
        super().setUp()
        self.report(base.device(1, rc='VGPU', device_type='MDEV', handles=[
            base.handle('MDEV', **base.address(1), **test_binding.MDEV)]))
        self.agent = test_binding._Agent()
        self.rpc.serve(constants.AGENT_TOPIC, self.agent, server=base.HOST)
        self.asked = self.arq()

    def test_the_first_was_killed(self):
        """Nova fails its boot at anything but the answer of the first."""
        self.killed()
        held = self.handle(NAME).id
        self.bind_again()
        self.assertState('Bound')
        self.assertEqual(held, self.arq_row(self.asked).attach_handle_id)
        self.assertEqual(['create'], [name for name, _ in self.agent.calls])
        self.assertEqual({self.asked: 'completed'}, self.nova.statuses())

    def test_anything_else_is_another_bind(self):
        self.killed()
        for other in ({'instance': self.asked}, {'host': 'compute-2'},
                      {'name': OTHER}):
            error = self.assertRaises(exception.ARQBadState, self.bind_again,
                                      **other)
            self.assertIn('BindStarted', error.message)
        self.assertState('BindStarted')
        self.assertEqual([], self.agent.calls)

    def test_the_first_is_at_work(self):
        """Both are answered alike, and the guest has one device."""
        create = self.agent.create_vgpu_mdev
        waiting = [functools.partial(self.bind_again, by=self.manager)]

        def ask_again_first(context, **values):
            if waiting:
                waiting.pop()()
            return create(context, **values)

        self.agent.create_vgpu_mdev = ask_again_first
        self.bind_again()
        self.assertState('Bound')
        self.assertEqual({self.asked: 'completed'}, self.nova.statuses())
        self.assertTrue(self.handle(NAME).in_use)

    def test_it_is_unbound_meanwhile(self):
        """Nova is not told that it is bound."""
        self.killed()
        original, waiting = unbinding.holdings, [self.unbind]

        def unbound_first(*args, **kwargs):
            if waiting:
                waiting.pop()(self.asked, by=self.manager)
            return original(*args, **kwargs)

        self.useFixture(fixtures.MonkeyPatch(
            'cyborg.db.unbinding.holdings', unbound_first))
        error = self.assertRaises(exception.ARQBadState, self.bind_again)
        self.assertIn('is in state released; this needs', error.message)
        self.assertState('Unbound')
        self.assertEqual([], self.nova.events)

    def test_the_agent_does_not_answer(self):
        """As if it were the first: BindFailed, and the handle is free."""
        self.killed()
        self.agent.fail['create'] = exception.DeviceBusy(msg='no')
        self.assertRaises(exception.DeviceBusy, self.bind_again)
        self.assertState('BindFailed')
        self.assertFalse(self.handle(NAME).allocated)
        self.assertEqual({self.asked: 'failed'}, self.nova.statuses())

    def test_without_a_handle(self):
        """What 2026.2 left when it was killed cannot go on."""
        self.change(models.ExtARQ, self.arq_row(self.asked).id,
                    state='BindStarted', hostname=base.HOST,
                    instance_uuid=INSTANCE, device_rp_uuid=self.provider(NAME))
        self.assertRaises(exception.ARQBadState, self.bind_again)


class ProgrammedTest(UnderWayTest):

    def setUp(self):
        super().setUp()
        self.report(base.device(1, rc='FPGA', device_type='FPGA'))
        self.agent = test_binding._Programs()
        self.rpc.serve(constants.AGENT_TOPIC, self.agent, server=base.HOST)
        self.addCleanup(self.agent.may_go_on.set)
        self.useFixture(fixtures.MonkeyPatch(
            'cyborg.conductor.binding._POLL', 0.05))
        self.asked = self.arq(self.profile([{
            'resources:FPGA': '1', 'accel:bitstream_id': str(uuid.uuid4())}]))

    def wait_for(self, state):
        processes.wait_until(
            lambda: self.arq_row(self.asked).state == state, state)
        processes.wait_until(
            lambda: self.asked in self.nova.statuses(), 'event')

    def test_the_first_is_at_work(self):
        """Accepted as the first time; the device is programmed once."""
        self.bind_again()
        other = self.start_conductor('conductor-2')
        for by in (None, self.manager, other):
            self.bind_again(by=by)
        self.assertState('BindStarted')
        self.agent.may_go_on.set()
        self.wait_for('Bound')
        other._stop()
        self.assertEqual(1, len(self.agent.calls))
        self.assertEqual(1, len(self.nova.events))

    def test_the_first_was_killed(self):
        """When its time is up, one of those that were asked again goes on."""
        self.agent.may_go_on.set()
        self.killed([self.asked])
        other = self.start_conductor('conductor-2')
        for by in (self.manager, other):
            self.bind_again(by=by)
        self.assertState('BindStarted')
        self.assertEqual([], self.agent.calls)
        row = self.arq_row(self.asked)
        self.change(models.ExtARQ, row.id, updated_at=(
            row.updated_at - datetime.timedelta(seconds=66)))
        self.wait_for('Bound')
        other._stop()
        self.assertEqual(1, len(self.agent.calls))
        self.assertEqual(1, len(self.nova.events))

    def test_a_set_with_a_mediated_device(self):
        """It is made before the call is answered, and again afterwards."""
        self.agent.may_go_on.set()
        self.report(base.device(1, rc='FPGA', device_type='FPGA'),
                    base.device(2, rc='VGPU', device_type='MDEV', handles=[
                        base.handle('MDEV', **base.address(2),
                                    **test_binding.MDEV)]))
        mediated = self.arq()
        fields = {arq: {'hostname': base.HOST, 'instance_uuid': INSTANCE,
                        'device_rp_uuid': self.provider(name)}
                  for arq, name in ((self.asked, NAME), (mediated, OTHER))}
        patch = {arq: [{'op': 'add', 'path': '/x'}] for arq in fields}
        self.conductor.arq_apply_patch(self.context, patch, fields)
        self.assertEqual('create', self.agent.calls[0][0])
        self.wait_for('Bound')
        self.assertEqual('Bound', self.arq_row(mediated).state)
        self.assertEqual(['create', 'program'],
                         [name for name, _ in self.agent.calls])

    def test_it_is_deleted_meanwhile(self):
        """Nobody waits for what is gone."""
        self.killed([self.asked])
        self.bind_again()
        self.conductor.arq_delete_by_uuid(self.context, self.asked)
        processes.wait_until(
            lambda: not self.manager._binder._going_on, 'the end')
        self.assertEqual([], self.agent.calls)

    def test_stopping_does_not_wait_for_others(self):
        self.killed([self.asked])
        self.bind_again()
        stopped = threading.Thread(target=self.manager._stop)
        stopped.start()
        stopped.join(30)
        self.assertFalse(stopped.is_alive())
        self.assertState('BindStarted')

# SPDX-License-Identifier: Apache-2.0
"""Calls that are carried out when nobody waits for them any more (ID-5)."""

import contextlib
import functools
import inspect
import threading
import uuid

import fixtures
import oslo_messaging as messaging
import sqlalchemy as sa
import testscenarios

from cyborg import objects
from cyborg.agent import manager as agent_manager
from cyborg.common import constants
from cyborg.common import context
from cyborg.common import deadline
from cyborg.common import exception
from cyborg.db import api
from cyborg.db import arqs
from cyborg.db import binding
from cyborg.db import report_order
from cyborg.db.sqlalchemy import models
from cyborg.objects import base as objects_base
from cyborg.rpcapi import agent as agent_rpcapi
from cyborg.rpcapi import conductor as rpcapi
from cyborg.tests.fixtures import pages
from cyborg.tests.functional.conductor import base
from cyborg.tests.functional.conductor import test_binding
from cyborg.tests.functional.conductor import test_races

NAME = 'compute-1_0000:01:00.0'
OTHER = 'compute-1_0000:02:00.0'
VGPU = 'compute-1_0000:03:00.0'
INSTANCE = '9d2b0a3e-1111-4222-8333-444455556666'
#: Some time in 2026, and a minute later.
SENT, UNTIL = 1792000000.0, 1792000060.0


class LateCase(base.ConductorTestCase):

    def set_up_services(self):
        super().set_up_services()
        self.agent = test_binding._Agent()
        self.rpc.serve(constants.AGENT_TOPIC, self.agent, server=base.HOST)
        self.report(base.device(1), base.device(2), base.device(
            3, rc='VGPU', device_type='MDEV', handles=[base.handle(
                'MDEV', **base.address(3), **test_binding.MDEV)]))

    def caller(self, noted=False):
        """Of a call that is waited for until UNTIL."""
        return context.get_admin_context().changed(
            not_after=UNTIL, noted=noted)

    def clock(self, *readings):
        """The clock of the conductors; the last reading stays."""
        left = list(readings)
        self.useFixture(fixtures.MonkeyPatch(
            'cyborg.common.deadline.now',
            lambda: left.pop(0) if len(left) > 1 else left[0]))
        return left

    def content(self):
        """Every row of every table."""
        with self.db.engine.connect() as connection:
            return {table.name: [tuple(row) for row in connection.execute(
                        sa.select(table).order_by(*table.primary_key))]
                    for table in models.Base.metadata.sorted_tables}

    @staticmethod
    def patch(fields):
        return {arq: [{'op': 'add' if values else 'remove', 'path': '/x'}]
                for arq, values in fields.items()}, fields

    def where(self, name=NAME, instance=INSTANCE):
        return {'hostname': base.HOST, 'instance_uuid': instance,
                'device_rp_uuid': self.provider(name)}

    # What is called: each gives the method's name and its arguments.

    def bind_call(self, name=NAME):
        return 'arq_apply_patch', self.patch({self.arq(): self.where(name)})

    def bind_mediated(self):
        return self.bind_call(VGPU)

    def unbind_call(self, name=NAME):
        arq = self.arq()
        self.bind(arq, name=name, by=self.manager)
        return 'arq_apply_patch', self.patch({arq: {}})

    def unbind_mediated(self):
        return self.unbind_call(VGPU)

    def exchange(self):
        one, two = self.arq(), self.arq()
        self.bind(one, name=NAME, by=self.manager)
        return 'arq_apply_patch', self.patch(
            {one: {}, two: self.where(NAME)})

    def delete_bound(self):
        one, two = self.arq(), self.arq()
        self.bind(one, name=NAME, by=self.manager)
        return 'arq_delete_by_uuid', ['%s,%s' % (one, two)]

    def delete_by_instance(self):
        self.bind(self.arq(), name=NAME, instance=INSTANCE, by=self.manager)
        return 'arq_delete_by_instance_uuid', [INSTANCE]

    def create(self):
        profile = self.profile()
        return 'arq_create', [objects.ExtARQ(arq=objects.ARQ(
            device_profile_name=profile.name, device_profile_group_id=0,
            project_id='p' * 32)), profile.id]

    def create_many(self):
        return 'arq_create_many', [[{
            'uuid': str(uuid.uuid4()), 'device_profile_group_id': 0,
            'project_id': 'p' * 32}], self.profile().id]

    def create_profile(self):
        return 'device_profile_create', [objects.DeviceProfile(
            name='late', groups=[{'resources:CUSTOM_PCI': '1'}])]

    def delete_profile(self):
        return 'device_profile_delete', [self.profile()]


CALLS = ('bind_call', 'bind_mediated', 'unbind_call', 'unbind_mediated',
         'exchange', 'delete_bound', 'delete_by_instance', 'create',
         'create_many', 'create_profile', 'delete_profile')


def public(cls) -> set[str]:
    """The methods that other processes can call."""
    return {name for name, _ in inspect.getmembers(cls, inspect.isfunction)
            if not name.startswith('_')}


class MethodsTest(LateCase):
    """No method is forgotten."""

    def test_every_method_of_a_conductor(self):
        """Those that write refuse what comes late, or are in an order."""
        from cyborg.conductor import manager
        tried = set()
        for call in CALLS:
            method, arguments = getattr(self, call)()
            tried.add(method)
            before, events = self.content(), list(self.nova.events)
            self.agent.calls.clear()
            self.clock(UNTIL + 1)
            error = self.assertRaises(
                base.EXPECTED, getattr(self.manager, method), self.caller(),
                *arguments).exc_info[1]
            self.clock(SENT)
            self.assertIsInstance(error, exception.CallTooLate)
            self.assertEqual(503, error.code)
            self.assertEqual(before, self.content(), call)
            self.assertEqual(events, self.nova.events)
            self.assertEqual([], self.agent.calls)
            getattr(self.manager, method)(self.caller(), *arguments)
            self.assertNotEqual(before, self.content(), call)
            self.tidy()
        self.assertEqual(public(manager.ConductorManager),
                         tried | rpcapi.IN_ORDER)
        self.assertEqual(
            public(manager.ConductorManager) | {
                'supports_object_indirection', 'supports_digests',
                'supports_creating_many'}, public(rpcapi.ConductorAPI))

    def tidy(self):
        with api.reader(self.context) as session:
            uuids = list(session.scalars(sa.select(models.ExtARQ.uuid)))
        if uuids:
            self.manager.arq_delete_by_uuid(self.context, ','.join(uuids))

    def test_every_method_of_an_agent(self):
        manager = agent_manager.AgentManager([])
        self.clock(UNTIL + 1)
        for name in public(agent_manager.AgentManager):
            parameters = inspect.signature(
                getattr(agent_manager.AgentManager, name)).parameters
            self.assertRaises(
                exception.CallTooLate, getattr(manager, name), self.caller(),
                **dict.fromkeys(list(parameters)[2:]))
        self.assertEqual(public(agent_manager.AgentManager),
                         public(agent_rpcapi.AgentAPI))

    def test_what_the_caller_is_told(self):
        self.conf.set(host='controller-2')
        self.clock(UNTIL + 61.5)
        error = self.assertRaises(exception.CallTooLate, deadline.check,
                                  self.caller())
        self.assertEqual(
            'Nothing was done: the call was to be carried out until '
            '2026-10-14 17:47:40.000+00:00, as long as its sender waits for '
            'the answer, and on host controller-2 it is 2026-10-14 '
            '17:48:41.500+00:00. Try again. If that does not help, the '
            'clocks of the two hosts differ: let NTP set them.',
            error.message)
        self.assertEqual(
            pages.messages('admin/binding.rst')['call-too-late'],
            pages.normal(error.message))


class WireTest(LateCase):
    """What callers send along."""

    def heard(self, call, *arguments, by=None):
        """The context that a conductor gets with a call."""
        found = []

        class Conductor:

            target = messaging.Target(version='1.1')

            def arq_create(self, asker, **kwargs):
                found.append(asker)

            report_data = arq_create

        topic = uuid.uuid4().hex
        self.rpc.serve(topic, Conductor(), version='1.1',
                       serializer=objects_base.CyborgObjectSerializer())
        client = rpcapi.ConductorAPI(topic=topic, **(by or {}))
        getattr(client, call)(self.context, *arguments)
        return found[0]

    def test_until_when_the_caller_waits(self):
        self.conf.set(rpc_response_timeout=33)
        self.clock(SENT)
        create = ['arq_create', objects.ExtARQ(arq=objects.ARQ()), 1]
        self.assertEqual(SENT + 33, self.heard(*create).not_after)
        self.assertEqual(SENT + 7, self.heard(
            *create, by={'timeout': 7}).not_after)

    def test_reports_have_an_order_instead(self):
        """A large host's takes longer than its agent waits."""
        self.assertIsNone(self.heard(
            'report_data', 'compute-1', []).not_after)

    def test_nothing_is_sent_on_in_vain(self):
        """A call that follows from another has no more time than that."""
        self.clock(SENT + 30)
        self.agent.create_vgpu_mdev = (
            lambda asker, **kwargs: self.agent.calls.append(asker.not_after))
        self.conductor_agent = agent_rpcapi.AgentAPI()
        arguments = {'hostname': base.HOST, 'pci_addr': 'p', 'ah_uuid': 'u',
                     'asked_type': 't'}
        self.conductor_agent.create_vgpu_mdev(self.caller(), **arguments)
        self.assertEqual([UNTIL], self.agent.calls)
        self.clock(UNTIL + 1)
        self.assertRaises(
            exception.CallTooLate, self.conductor_agent.create_vgpu_mdev,
            self.caller(), **arguments)
        self.assertEqual([UNTIL], self.agent.calls)

    def test_a_peers_mistake_is_no_time(self):
        for value in ('soon', True, float('nan'), float('inf'), -1, [], {}):
            self.assertIsNone(context.RequestContext.from_dict(
                {'not_after': value}).not_after)
        self.assertEqual(5.0, context.RequestContext.from_dict(
            {'not_after': 5}).not_after)


class EveryMomentTest(LateCase):
    """The time is up at each look at the clock, one after the other."""

    timeout = 400
    scenarios = [(call, {'call': call}) for call in CALLS]

    def test_all_or_nothing(self):
        position = 0
        while True:
            method, arguments = getattr(self, self.call)()
            self.clock(SENT)
            before = self.content()
            left = self.clock(*[SENT] * position, UNTIL + 1)
            try:
                getattr(self.manager, method)(self.caller(), *arguments)
                self.assertGreater(len(left), 0)
                late = False
            except base.EXPECTED as error:
                late = True
                self.assertIn('to be carried out until',
                              str(error.exc_info[1]))
            self.clock(SENT)
            if not late:
                self.assertNotEqual(before, self.content())
                break
            self.assertNothingDone(method, before)
            self.useFixture(fixtures.MonkeyPatch(
                'cyborg.common.deadline.now', lambda: SENT))
            self.tidy()
            position += 1
        # When it begins, before its transaction, and at the end of it.
        self.assertGreaterEqual(position, 3)

    tidy = MethodsTest.tidy

    def assertNothingDone(self, method, before):
        if self.call != 'bind_mediated':
            self.assertEqual(before, self.content())
            return
        # The claim was an end of its own: it was given back.
        self.assertFalse(self.handle(VGPU).allocated)
        with api.reader(self.context) as session:
            self.assertIn(session.scalar(sa.select(models.ExtARQ.state)),
                          ('Initial', 'BindFailed'))


class ConditionTest(LateCase):

    def test_order_and_time_both_hold(self):
        """Neither condition of a context takes the place of the other."""
        turn = report_order.begin(self.context, base.HOST)
        asked = []
        for asker in (
                report_order.on_condition(report_order.on_condition(
                    self.caller(), turn.still), asked.append),
                report_order.on_condition(report_order.on_condition(
                    self.caller(), asked.append), turn.still)):
            self.clock(SENT)
            with api.writer(asker):
                pass
            self.assertEqual(1, len(asked))
            self.clock(UNTIL + 1)
            self.assertRaises(exception.CallTooLate, self.write, asker)
            asked.clear()
        self.clock(SENT)
        report_order.begin(self.context, base.HOST)
        self.assertRaises(exception.ReportOutdated, self.write, asker)

    @staticmethod
    def write(asker):
        with api.writer(asker):
            pass


class QueuedTest(LateCase):
    """A bind is withdrawn before its message is read, well in time."""

    def setUp(self):
        super().setUp()
        self.clock(SENT)
        self.asked = self.arq()
        arqs.note(self.context, [self.asked], INSTANCE)

    def come(self):
        return self.manager.arq_apply_patch(
            self.caller(noted=True), *self.patch({self.asked: self.where()}))

    def refused(self):
        error = self.assertRaises(base.EXPECTED, self.come).exc_info[1]
        self.assertFalse(self.handle(NAME).allocated)
        self.assertEqual([], self.nova.events)
        return error

    def test_it_is_bound(self):
        self.come()
        self.assertEqual('Bound', self.arq_row(self.asked).state)

    def test_the_requests_of_the_instance_are_deleted(self):
        self.conductor.arq_delete_by_instance_uuid(self.context, INSTANCE)
        self.assertIsInstance(self.refused(), exception.ResourceNotFound)

    def test_it_is_unbound(self):
        self.unbind(self.asked)
        self.assertEqual(
            'Accelerator request %s was not bound to instance %s: it was '
            'released, or asked for by another instance, after that was '
            'asked for.' % (self.asked, INSTANCE), self.refused().message)
        self.assertEqual('Unbound', self.arq_row(self.asked).state)

    def test_another_instance_asks_for_it(self):
        arqs.note(self.context, [self.asked], self.asked)
        self.assertIsInstance(self.refused(), exception.BindWithdrawn)
        self.assertEqual(('Initial', self.asked), (
            self.arq_row(self.asked).state,
            self.arq_row(self.asked).instance_uuid))

    def test_the_instance_asks_for_others(self):
        arqs.note(self.context, [self.arq()], INSTANCE, [self.asked])
        self.assertIsInstance(self.refused(), exception.BindWithdrawn)

    def test_a_caller_of_2026_2_notes_nothing(self):
        arq = self.arq()
        self.bind(arq, name=NAME)
        self.assertEqual('Bound', self.arq_row(arq).state)

    def test_it_cannot_be_noted(self):
        gone, bound = str(uuid.uuid4()), self.arq()
        self.bind(bound, name=NAME)
        for arq, state in ((gone, 'deleted'), (bound, 'Bound')):
            error = self.assertRaises(
                exception.ARQBadState, arqs.note, self.context,
                [self.asked, arq], self.asked)
            self.assertIn('%s is in state %s;' % (arq, state), error.message)
        self.assertEqual(INSTANCE, self.arq_row(self.asked).instance_uuid)


class PausedTest(test_races.RaceCase, LateCase):
    """A conductor stands still after its last look at the clock.

    Whatever is done meanwhile waits for its locks, and sees what it did.
    """

    scenarios = test_races.SERVERS

    def setUp(self):
        super().setUp()
        self.reached, self.go_on = threading.Event(), threading.Event()
        self.addCleanup(self.go_on.set)
        self.paused = None

    @contextlib.contextmanager
    def paused_before_commit(self, call):
        """Run ``call(context)`` in a thread as conductor 0; it stops."""
        check = deadline.check

        def checked(asker):
            check(asker)
            if (threading.current_thread() is thread
                    and api.in_transaction(asker)):
                self.reached.set()
                self.go_on.wait(60)

        def run():
            try:
                call(self.caller(noted=True))
            except base.EXPECTED:
                # It may find what it stored gone when it reads it again.
                return

        self.clock(SENT)
        self.useFixture(fixtures.MonkeyPatch(
            'cyborg.common.deadline.check', checked))
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        self.assertTrue(self.reached.wait(60))
        yield
        self.go_on.set()
        thread.join(60)

    def meanwhile(self, work):
        """Run it in a thread as conductor 1; it may have to wait."""
        def run():
            self.facades.chosen.index = 1
            work()
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        thread.join(1)
        return thread

    def test_bind_and_deletion_by_instance(self):
        arq = self.arq()
        arqs.note(self.context, [arq], INSTANCE)
        with self.paused_before_commit(functools.partial(
                self.manager.arq_apply_patch,
                patch_list=self.patch({arq: self.where()})[0],
                valid_fields={arq: self.where()})):
            deletion = self.meanwhile(functools.partial(
                self.conductors[1].arq_delete_by_instance_uuid,
                context.get_admin_context(), INSTANCE))
        deletion.join(60)
        self.assertEqual(0, self.count(models.ExtARQ))
        self.assertFalse(self.handle(NAME).allocated)

    def test_creation_and_its_withdrawal(self):
        profile, arq = self.profile(), str(uuid.uuid4())
        wanted = objects.ExtARQ(arq=objects.ARQ(
            uuid=arq, device_profile_name=profile.name,
            device_profile_group_id=0))
        with self.paused_before_commit(functools.partial(
                self.manager.arq_create, obj_extarq=wanted,
                devprof_id=profile.id)):
            withdrawal = self.meanwhile(functools.partial(
                arqs.withdraw, context.get_admin_context(), arq, profile.id))
        withdrawal.join(60)
        self.assertEqual(0, self.count(models.ExtARQ))

    def test_unbinding_and_another_bind(self):
        """The second guest's device is not taken by the first unbinding."""
        arq = self.arq()
        self.bind(arq, name=NAME, by=self.manager)
        with self.paused_before_commit(functools.partial(
                self.manager.arq_apply_patch,
                patch_list=self.patch({arq: {}})[0], valid_fields={})):
            def again():
                self.unbind(arq, by=self.conductors[1])
                self.bind(arq, name=NAME, by=self.conductors[1])
            rebound = self.meanwhile(again)
        rebound.join(60)
        self.assertEqual('Bound', self.arq_row(arq).state)
        self.assertInvariants()


class WithdrawTest(LateCase):

    scenarios = [(name, {'database': name})
                 for name in ('sqlite', 'mariadb', 'postgresql')]

    def test_withdraw(self):
        """What is there goes, unless it is somebody's; none is as good."""
        profile = self.profile()
        mine, bound = self.arq(profile), self.arq(profile)
        self.bind(bound, name=NAME)
        for arq in (mine, bound, str(uuid.uuid4())):
            arqs.withdraw(self.context, arq, profile.id)
        self.assertEqual(1, self.count(models.ExtARQ))
        self.assertEqual('Bound', self.arq_row(bound).state)
        arqs.withdraw(self.context, mine, 999)

    def test_claim_is_what_it_was(self):
        """binding.claim() asks for no note where none was made."""
        request = binding.Request(self.arq(), base.HOST, self.provider(NAME),
                                  INSTANCE)
        self.assertEqual(1, len(binding.claim(self.context, [request])))


load_tests = testscenarios.load_tests_apply_scenarios

# SPDX-License-Identifier: Apache-2.0
"""What becomes of a call of the API that a conductor reads too late (ID-5).

The message bus holds the call back; the API answers 503 when its time is up.
"""

import fixtures
import oslo_messaging

from cyborg.common import exception
from cyborg.conductor import manager
from cyborg.rpcapi import conductor as rpcapi
from cyborg.tests.fixtures import rows
from cyborg.tests.functional.api import base


class LostCallsTest(base.ApiTestCase):

    def setUp(self):
        super().setUp()
        self.profile()
        self.target = self.device()
        self.manager = manager.ConductorManager()
        self.addCleanup(self.manager._stop)
        self.held = []

    def hold(self, method):
        """From now on calls of a method wait, and are given up."""

        def kept(_client, context, *args, **kwargs):
            self.held.append((method, context, args, kwargs))
            raise oslo_messaging.MessagingTimeout('given up')

        return fixtures.MonkeyPatch(
            'cyborg.rpcapi.conductor.ConductorAPI.' + method, kept)

    def come(self):
        """The conductor reads the call, still in time by its clock."""
        method, context, args, kwargs = self.held.pop(0)
        asker = type(context).from_dict(context.to_dict())
        return getattr(self.manager, method)(asker, *args, **kwargs)

    def refused(self):
        told = list(self.service.nova.events)
        error = self.assertRaises(oslo_messaging.ExpectedException, self.come)
        self.assertFalse(rows.read(self.target.handles[0]).in_use)
        self.assertEqual(told, self.service.nova.events)
        return error.exc_info[1]

    def lose_bind(self, arq, **values):
        with self.hold('arq_apply_patch'):
            self.assertEqual(503, self.patch(
                {arq: self.binding(self.target, **values)}).status)

    def test_bind_whose_instance_was_deleted(self):
        arq, = self.arqs()
        self.lose_bind(arq)
        self.assertEqual(('Initial', base.INSTANCE, None), tuple(
            self.arq(arq)[name] for name in
            ('state', 'instance_uuid', 'hostname')))
        self.assertEqual(204, self.nova.delete(
            '/v2/accelerator_requests?instance=' + base.INSTANCE).status)
        self.assertFault(404, self.member.get(
            '/v2/accelerator_requests/' + arq))
        self.assertIsInstance(self.refused(), exception.ResourceNotFound)

    def test_bind_that_is_repeated(self):
        """The first one is answered as what it is: done."""
        arq, = self.arqs()
        self.lose_bind(arq)
        self.bind(arq, self.target)
        self.come()
        self.assertEqual(['Bound'], self.states(arq))

    def test_bind_of_others_instead(self):
        first, = self.arqs()
        self.lose_bind(first)
        second, = self.arqs()
        other = self.device(bus=0x3c)
        self.bind(second, other)
        self.assertIsInstance(self.refused(), exception.BindWithdrawn)
        found = self.nova.get('/v2/accelerator_requests?bind_state=resolved'
                              '&instance=' + base.INSTANCE)
        self.assertEqual([second], [a['uuid'] for a in found.body['arqs']])

    def test_bind_that_was_unbound(self):
        arq, = self.arqs()
        self.lose_bind(arq)
        self.assertEqual(202, self.patch({arq: self.unbinding()}).status)
        self.assertIsInstance(self.refused(), exception.BindWithdrawn)
        self.assertEqual(['Unbound'], self.states(arq))

    def test_repeated_bind_that_was_unbound(self):
        """Asked for once more, and withdrawn before that was read."""
        arq, = self.arqs()
        self.bind(arq, self.target)
        self.lose_bind(arq)
        self.assertEqual(202, self.patch({arq: self.unbinding()}).status)
        self.assertIsInstance(self.refused(), exception.BindWithdrawn)
        self.assertEqual(['Unbound'], self.states(arq))

    def test_owner_deletes_what_was_never_bound(self):
        """As before, where nobody could tell that it was asked for."""
        arq, = self.arqs()
        self.lose_bind(arq)
        self.assertEqual(204, self.member.delete(
            '/v2/accelerator_requests?arqs=' + arq).status)
        self.assertIsInstance(self.refused(), exception.ResourceNotFound)

    def test_instance_that_has_requests(self):
        one, two = self.arqs()[0], self.arqs()[0]
        self.bind(one, self.target)
        self.assertFault(400, self.patch({two: self.binding(
            self.device(bus=0x3c))}), 'has accelerator requests already')
        self.assertIsNone(self.arq(two)['instance_uuid'])

    def test_bind_that_is_under_way(self):
        """202 as the first time; it was 409, at which Nova fails a boot."""
        arq, = self.arqs()
        self.bind(arq, self.target)
        with self.service.db.engine.begin() as connection:
            connection.exec_driver_sql(
                "UPDATE extended_accelerator_requests "
                "SET state = 'BindStarted'")
        self.bind(arq, self.target)
        self.assertEqual(['Bound'], self.states(arq))

    def test_creation(self):
        """Nothing is left of it, before and after the conductor reads it."""
        with self.hold('arq_create_many'):
            self.assertEqual(503, self.member.post(
                '/v2/accelerator_requests',
                {'device_profile_name': 'dp'}).status)
        found = self.admin.get('/v2/accelerator_requests').body['arqs']
        self.assertEqual([], found)

    def test_taking_back_goes_on_after_a_failure(self):
        """One that cannot be taken back keeps no other from it."""
        self.profile('two', **{'resources:CUSTOM_PCI': '3'})
        create = rpcapi.ConductorAPI.arq_create_many
        made = []

        def answer_is_lost(client, context, requests, *args):
            made.extend(each['uuid'] for each in requests)
            create(client, context, requests, *args)
            raise oslo_messaging.MessagingTimeout('given up')

        with fixtures.MonkeyPatch(
                'cyborg.rpcapi.conductor.ConductorAPI.arq_create_many',
                answer_is_lost):
            with self.service.db.engine.begin() as connection:
                connection.exec_driver_sql(
                    "CREATE TRIGGER kept BEFORE DELETE ON "
                    "extended_accelerator_requests WHEN old.id = 1 "
                    "BEGIN SELECT raise(ABORT, 'kept'); END")
            self.assertEqual(503, self.member.post(
                '/v2/accelerator_requests',
                {'device_profile_name': 'two'}).status)
        left = self.admin.get('/v2/accelerator_requests').body['arqs']
        self.assertEqual(made[:1], [arq['uuid'] for arq in left])
        text, = [m for m in self.logs.messages('WARNING') if 'be left' in m]
        self.assertIn('Accelerator request %s may be left' % made[0], text)

    def test_statements(self):
        """Noting costs one statement, and one is saved elsewhere."""
        arq, = self.arqs()
        with self.hold('arq_apply_patch'), \
                self.service.db.count_statements() as sql:
            self.patch({arq: self.binding(self.target)})
        self.assertEqual(2, len(sql), sql.statements)

# SPDX-License-Identifier: Apache-2.0
"""Events to a stand-in for Nova, through the whole client."""

import uuid

from cyborg.common import exception
from cyborg.common import nova_client
from cyborg.tests import base
from cyborg.tests.fixtures import nova

INSTANCE = str(uuid.uuid4())
ARQ1, ARQ2 = str(uuid.uuid4()), str(uuid.uuid4())


class NovaEventsTestCase(base.TestCase):

    def setUp(self):
        super().setUp()
        self.nova = self.useFixture(nova.NovaFixture())
        self.client = nova_client.NovaClient()

    def notify(self):
        self.client.notify_bind(self.context, INSTANCE,
                                {ARQ1: 'completed', ARQ2: 'failed'})

    def assertRefused(self, text):
        error = self.assertRaises(exception.InvalidAPIResponse, self.notify)
        self.assertIn(text, error.message)
        self.assertIn(INSTANCE, error.message)
        self.assertIn('/os-server-external-events', error.message)

    def test_one_request_for_all(self):
        self.notify()
        self.assertEqual([
            {'name': 'accelerator-request-bound', 'server_uuid': INSTANCE,
             'tag': ARQ1, 'status': 'completed'},
            {'name': 'accelerator-request-bound', 'server_uuid': INSTANCE,
             'tag': ARQ2, 'status': 'failed'}], self.nova.events)
        (call,) = self.nova.calls
        self.assertEqual(('POST', '/os-server-external-events', '2.82'),
                         (call.method, call.path, call.microversion))
        self.assertEqual(self.context.global_id, call.request_id)
        self.assertNotIn('X-Service-Token', call.headers)

    def test_no_host_yet(self):
        """B48: 422 is tolerated and said at DEBUG only."""
        for codes in ([422], [200, 422]):
            self.nova.answer, self.nova.codes = 207, codes
            self.notify()
        for level in ('INFO', 'WARNING', 'ERROR'):
            self.assertNotLogged(level)
        self.assertLogged('DEBUG', 'has no host yet')

    def test_event_refused(self):
        for codes, text in (([404], 'event codes 404'),
                            ([422, 400], 'event codes 400, 422'),
                            ([200, 500], 'event codes 200, 500')):
            self.nova.answer, self.nova.codes = 207, codes
            self.assertRefused(text)

    def test_207_without_events(self):
        self.nova.answer, self.nova.codes = 207, []
        self.assertRefused('event codes missing')

    def test_other_answers(self):
        for status in (202, 400, 401, 403, 404, 500, 503):
            self.nova.answer = status
            self.assertRefused('status %d' % status)

    def test_no_answer(self):
        self.nova.fail('POST')
        self.assertRefused('no answer')
        self.nova.fail('POST', delivered=True)
        self.assertRefused('no answer')
        self.notify()

    def test_nothing_to_tell(self):
        self.client.notify_bind(self.context, INSTANCE, {})
        self.assertEqual([], self.nova.calls)

    def test_wrong_status_is_never_sent(self):
        error = self.assertRaises(
            exception.InvalidParameterValue, self.client.notify_bind,
            self.context, INSTANCE, {ARQ1: 'Bound'})
        self.assertIn(ARQ1, error.message)
        self.assertEqual([], self.nova.calls)

    def test_not_configured(self):
        self.conf.set(group='nova', auth_type=None)
        self.assertRefused('no answer')

    def test_service_token(self):
        self.conf.set(group='service_user', send_service_user_token=True,
                      auth_type='none')
        self.notify()
        (call,) = self.nova.calls
        self.assertEqual('notused', call.headers['X-Service-Token'])

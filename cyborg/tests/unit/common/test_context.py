# SPDX-License-Identifier: Apache-2.0
"""BASE-1: the context on the wire is that of 2026.2."""

import json

from cyborg.common import context
from cyborg.tests import base

# The keys of the recorded dictionary.
KEYS = {
    'user', 'project_id', 'system_scope', 'project', 'domain', 'user_domain',
    'project_domain', 'is_admin', 'read_only', 'show_deleted', 'auth_token',
    'request_id', 'global_request_id', 'resource_uuid', 'roles',
    'user_identity', 'is_admin_project', 'user_id', 'user_name',
    'service_catalog', 'project_name',
}

CATALOG = [{'type': 'image', 'endpoints': ['http://image']},
           {'type': 'compute', 'endpoints': ['http://compute']},
           {'endpoints': []}]


class WireTest(base.TestCase):

    def sent(self, **kwargs):
        caller = context.RequestContext(
            user_id='u1', project_id='p1', auth_token='T', **kwargs)
        return json.loads(json.dumps(caller.to_dict()))

    def test_keys(self):
        self.assertEqual(KEYS, set(self.sent(service_roles=['service'],
                                             user_auth_plugin=object())))

    def test_round_trip(self):
        values = self.sent(
            roles=['member'], user_name='n', project_name='pn',
            user_domain_id='ud', project_domain_id='pd', domain_id='d',
            request_id='req-1', global_request_id='req-' + 'a' * 36,
            service_catalog=CATALOG, is_admin_project=False)
        received = context.RequestContext.from_dict(values)
        self.assertEqual(values, received.to_dict())

    def test_only_the_image_service_is_carried(self):
        self.assertEqual(CATALOG[:1],
                         self.sent(service_catalog=CATALOG)['service_catalog'])

    def test_service_roles_cannot_be_claimed_by_a_peer(self):
        values = dict(self.sent(), service_roles=['service'])
        self.assertEqual(
            [], context.RequestContext.from_dict(values).service_roles)

    def test_peer_that_says_nothing_is_no_admin(self):
        received = context.RequestContext.from_dict({'roles': ['admin']})
        self.assertFalse(received.is_admin)

    def test_unknown_keys_of_a_newer_peer_are_passed_over(self):
        received = context.RequestContext.from_dict({'user': 'u', 'new': 1})
        self.assertEqual('u', received.user_id)

    def test_user_id_wins_over_user(self):
        received = context.RequestContext.from_dict(
            {'user': 'old', 'user_id': 'new', 'project': 'p'})
        self.assertEqual(('new', 'p'), (received.user_id,
                                        received.project_id))


class AdminTest(base.TestCase):

    def test_role_admin_makes_an_admin(self):
        for roles in (['admin'], ['Admin'], ['member', 'ADMIN']):
            self.assertTrue(context.RequestContext(roles=roles).is_admin)
        for roles in ([], ['administrator'], ['member']):
            self.assertFalse(context.RequestContext(roles=roles).is_admin)

    def test_given_value_counts(self):
        self.assertFalse(
            context.RequestContext(roles=['admin'], is_admin=False).is_admin)

    def test_policy_sees_it(self):
        values = context.RequestContext(roles=['admin']).to_policy_values()
        self.assertIs(True, values['is_admin'])

    def test_own_context(self):
        own = context.get_admin_context()
        self.assertTrue(own.is_admin)
        self.assertIsNone(own.project_id)


class DeadlineTest(base.TestCase):
    """Until when a caller waits (ID-5)."""

    def test_the_earlier_time_counts(self):
        own = context.get_admin_context()
        self.assertEqual(5, own.until(5).not_after)
        self.assertEqual(4, own.until(5).until(4).not_after)
        self.assertEqual(5, own.until(5).until(6).not_after)
        self.assertIsNone(own.until(5).unlimited().not_after)
        self.assertIsNone(own.not_after)

    def test_a_changed_context_has_no_transaction_of_the_other(self):
        own = context.get_admin_context()
        own._enginefacade_context = object()
        self.assertFalse(hasattr(own.until(5), '_enginefacade_context'))

    def test_it_travels(self):
        """And is left out where it says nothing, as 2026.2 knows it."""
        sent = context.get_admin_context().changed(not_after=5.5, noted=True)
        received = context.RequestContext.from_dict(sent.to_dict())
        self.assertEqual((5.5, True), (received.not_after, received.noted))
        self.assertEqual(set(), {'not_after', 'noted'} & set(
            context.get_admin_context().to_dict()))

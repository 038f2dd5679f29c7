# SPDX-License-Identifier: Apache-2.0
"""Faults of the 2026.2 API that are not repeated, by their number.

The numbers are those of the table "Upstream behaviour worth NOT reproducing"
of the recorded contract.
"""

import oslo_messaging
from oslo_policy import opts as policy_opts
import sqlalchemy as sa

from cyborg.api import requests
from cyborg.common import config
from cyborg.conf import CONF
from cyborg.tests import base as unit_base
from cyborg.tests.fixtures import api
from cyborg.tests.fixtures import rows
from cyborg.tests.functional.api import base

GROUPS = [{'resources:FPGA': '1'}]
NOBODY = {'X-User-Id': 'u', 'X-Roles': 'member,reader'}


class TestLeaks(base.ApiTestCase):

    def test_fault_1_errors_of_the_conductor_show_one_line(self):
        self.profile('taken')
        answer = self.admin.post('/v2/device_profiles', [
            {'name': 'taken', 'groups': GROUPS}])
        self.assertFault(409, answer, 'taken')
        self.assertEqual(1, len(answer.fault['faultstring'].splitlines()))
        self.assertNotIn('.py', answer.text)
        self.assertEqual([], self.tracebacks())

    def test_fault_1_a_database_error_shows_no_sql(self):
        with self.service.db.engine.begin() as connection:
            connection.exec_driver_sql('DROP TABLE attributes')
        answer = self.admin.get('/v2/attributes')
        self.assertFault(500, answer, answer.headers[
            'x-openstack-request-id'])
        self.assertNotIn('SELECT', answer.text)
        self.assertNotEqual([], self.tracebacks())


class TestCallersWithoutProject(base.ApiTestCase):
    """Fault 2"""

    def setUp(self):
        super().setUp()
        self.profile()
        self.mine, = self.arqs()
        self.callers = (self.anonymous, self.anonymous.as_(NOBODY),
                        self.anonymous.as_(NOBODY, {'X-Project-Id': ''}))

    def test_fault_2_nothing_is_seen(self):
        for caller in self.callers:
            for path in ('', '?instance=' + base.INSTANCE, '/' + self.mine):
                self.assertFault(
                    403, caller.get('/v2/accelerator_requests' + path),
                    'project')

    def test_fault_2_nothing_is_changed(self):
        before = self.content()
        for caller in self.callers:
            self.assertFault(403, caller.post(
                '/v2/accelerator_requests', {'device_profile_name': 'dp'}))
            self.assertFault(403, caller.delete(
                '/v2/accelerator_requests?arqs=' + self.mine))
            self.assertFault(403, self.patch(
                {self.mine: self.unbinding()},
                caller.as_({'X-Service-Roles': 'service'})))
        self.assertEqual(before, self.content())

    def test_fault_2_an_admin_needs_no_project(self):
        admin = self.anonymous.as_({'X-User-Id': 'u', 'X-Roles': 'admin'})
        self.assertEqual(200, admin.get(
            '/v2/accelerator_requests/' + self.mine).status)


class TestPolicyDefaults(unit_base.TestCase):
    """Faults 3 and 4: as recorded, and to be switched by one option."""

    def statuses(self, new_defaults: bool, identity) -> dict[str, int]:
        policy_opts.set_defaults(CONF)
        config.set_api_defaults()
        self.conf.set(group='oslo_policy', enforce_new_defaults=new_defaults)
        service = self.useFixture(api.ServiceFixture())
        client = service.client.as_(identity)
        found = {path: client.get('/v2/' + path).status for path in
                 ('devices', 'deployables', 'attributes')}
        found['create'] = client.post(
            '/v2/accelerator_requests',
            {'device_profile_name': 'none-such'}).status
        return found

    def test_fault_3_former_defaults_let_members_list_hosts(self):
        self.assertEqual(
            {'devices': 200, 'deployables': 200, 'attributes': 200,
             'create': 404}, self.statuses(False, api.MEMBER_A))

    def test_fault_3_new_defaults_do_not(self):
        self.assertEqual(
            {'devices': 403, 'deployables': 403, 'attributes': 403,
             'create': 404}, self.statuses(True, api.MEMBER_A))

    def test_fault_4_new_defaults_ask_for_a_member(self):
        admin = {**api.ADMIN, 'X-Roles': 'admin'}
        self.assertEqual(
            {'devices': 200, 'deployables': 200, 'attributes': 200,
             'create': 403}, self.statuses(True, admin))


class TestClientErrors(base.ApiTestCase):
    """Fault 5: 500 for what a client did wrong."""

    def test_fault_5(self):
        self.profile()
        device = self.device()
        arq, = self.arqs()
        self.bind(arq, device)
        self.assertEqual(201, self.admin.post('/v2/attributes', {
            'deployable_id': device.deployable.id, 'key': 'k', 'value': 'v',
            'uuid': base.UNKNOWN}).status)
        profiles, arqs = '/v2/device_profiles', '/v2/accelerator_requests'
        before = self.content()
        for status, answer in (
                (400, self.admin.post(profiles, [{'groups': GROUPS}])),
                (400, self.admin.post(profiles, [{'name': 'x'}])),
                (400, self.admin.post(profiles, raw=b'null')),
                (400, self.admin.post(profiles, [None])),
                (400, self.member.get(arqs + '?bind_state=bound')),
                (400, self.member.post(arqs, {})),
                (400, self.nova.delete(arqs)),
                (400, self.nova.delete(arqs + '?arqs=&instance=' + arq
                                       + '&arqs=' + arq)),
                (400, self.patch({})),
                (400, self.patch({arq: []})),
                (400, self.patch({arq: None})),
                (409, self.patch({arq: self.binding(
                    device, instance=base.UNKNOWN)})),
                (409, self.admin.post('/v2/attributes', {
                    'deployable_id': device.deployable.id, 'key': 'k',
                    'value': 'v', 'uuid': base.UNKNOWN})),
                (400, self.admin.patch('/v2/deployables/%s/program'
                                       % device.deployable.uuid, []))):
            self.assertFault(status, answer)
        self.assertEqual(before, self.content())
        self.assertEqual([], self.tracebacks())


class TestBinding(base.ApiTestCase):

    def setUp(self):
        super().setUp()
        self.profile()
        self.target = self.device()
        self.request, = self.arqs()

    def test_fault_6_an_unknown_provider_fails_the_bind(self):
        self.assertFault(404, self.patch(
            {self.request: self.binding(base.UNKNOWN)}), base.UNKNOWN)
        self.assertEqual(['BindFailed'], self.states(self.request))
        self.assertEqual({self.request: 'failed'},
                         self.service.nova.statuses())
        resolved = self.member.get(
            '/v2/accelerator_requests?bind_state=resolved&instance='
            + base.INSTANCE)
        self.assertEqual(200, resolved.status)
        # The instance is not blocked for ever.
        self.assertEqual(202, self.patch(
            {self.request: self.unbinding()}).status)
        self.bind(self.request, self.target)

    def test_fault_7_the_provider_of_another_host(self):
        self.assertFault(409, self.patch({self.request: self.binding(
            self.target, host='elsewhere')}), 'elsewhere')
        self.assertEqual(['BindFailed'], self.states(self.request))
        self.assertFalse(rows.read(self.target.handles[0]).in_use)

    def test_fault_11_an_admin_leaves_the_owner(self):
        admin = self.admin.as_(api.ADMIN_SERVICE)
        self.assertEqual(202, self.patch(
            {self.request: self.binding(self.target)}, admin).status)
        self.assertEqual(base.PROJECT_A, self.arq(
            self.request, self.member)['project_id'])

    def test_fault_11_unless_one_is_named(self):
        admin = self.admin.as_(api.ADMIN_SERVICE)
        project = api.MEMBER_B['X-Project-Id']
        self.assertEqual(202, self.patch({self.request: self.binding(
            self.target, project_id=project)}, admin).status)
        self.assertEqual(404, self.member.get(
            '/v2/accelerator_requests/' + self.request).status)
        self.assertEqual('Bound', self.arq(
            self.request, self.stranger)['state'])

    def test_fault_12_nova_does_not_answer(self):
        for status in (404, 500):
            self.service.nova.answer = status
            self.assertFault(400, self.patch(
                {self.request: self.binding(self.target)}), 'Nova')
            self.assertEqual(['Bound'], self.states(self.request))
            self.patch({self.request: self.unbinding()})
        self.assertEqual(['Unbound'], self.states(self.request))

    def test_fault_12_an_instance_without_a_host_yet_is_fine(self):
        """B48"""
        self.service.nova.answer, self.service.nova.codes = 207, [422]
        self.bind(self.request, self.target)

    def test_fault_14_an_unbind_that_fails_says_so(self):
        rows.change(self.target.handles[0], attach_type='MDEV',
                    attach_info=rows.address(
                        asked_type='nvidia-1', vgpu_mark='x_0'))
        self.bind(self.request, self.target)

        def fail(*args, **kwargs):
            raise LookupError('the mediated device is in use')

        self.service.agent.remove_vgpu_mdev = fail
        answer = self.patch({self.request: self.unbinding()})
        self.assertGreaterEqual(answer.status, 500)
        self.assertNotIn('KeyError', answer.text)
        self.assertEqual('Bound', self.arq(self.request)['state'])
        self.assertTrue(rows.read(self.target.handles[0]).in_use)

    def test_fault_15_expected_states_are_words(self):
        self.bind(self.request, self.target)
        self.assertFault(409, self.patch({self.request: self.binding(
            self.target, instance=base.UNKNOWN)}), 'Initial, Unbound')


class TestSeveralRequests(base.ApiTestCase):
    """Fault 13: a body with several requests is all or nothing."""

    def setUp(self):
        super().setUp()
        self.profile('two', **{'resources:CUSTOM_PCI': '2'})
        self.first, self.second = self.arqs('two')
        self.target = self.device(handles=2)

    def refused(self, status, body, text='', client=None):
        before = self.content()
        self.assertFault(status, self.patch(body, client), text)
        self.assertEqual(before, self.content())
        self.assertEqual([], self.service.nova.events)

    def test_all(self):
        self.assertEqual(202, self.patch(dict.fromkeys(
            (self.first, self.second), self.binding(self.target))).status)
        self.assertEqual(['Bound'] * 2,
                         self.states(self.first, self.second))
        self.assertEqual(dict.fromkeys((self.first, self.second),
                                       'completed'),
                         self.service.nova.statuses())

    def test_nothing_when_handles_run_out(self):
        """B42, B43"""
        rows.change(self.target.handles[1], in_use=True)
        self.assertFault(404, self.patch(dict.fromkeys(
            (self.first, self.second), self.binding(self.target))))
        self.assertEqual(['BindFailed'] * 2,
                         self.states(self.first, self.second))
        self.assertFalse(rows.read(self.target.handles[0]).in_use)
        self.assertEqual(dict.fromkeys((self.first, self.second), 'failed'),
                         self.service.nova.statuses())

    def test_nothing_when_the_second_is_unknown(self):
        self.refused(404, {self.first: self.binding(self.target),
                           base.UNKNOWN: self.binding(self.target)},
                     base.UNKNOWN)

    def test_nothing_when_the_second_belongs_to_others(self):
        other, = self.arqs('two', self.stranger)[:1]
        self.refused(404, {self.first: self.binding(self.target),
                           other: self.binding(self.target)}, other)

    def test_nothing_when_the_second_is_malformed(self):
        for second in (self.binding(self.target)[:2],
                       self.binding(self.target, foo='x'),
                       self.binding(self.target, instance='xyz'),
                       [{'path': '/hostname', 'op': 'replace',
                         'value': 'x'}]):
            self.refused(400, {self.first: self.binding(self.target),
                               self.second: second})

    def test_nothing_when_the_second_cannot_be_bound(self):
        self.bind(self.second, self.target, instance=base.UNKNOWN)
        self.service.nova.events.clear()
        self.refused(409, {self.first: self.binding(self.target),
                           self.second: self.binding(self.target)})

    def test_every_operation_needs_the_service_token(self):
        self.refused(403, {self.first: self.unbinding(),
                           self.second: self.binding(self.target)},
                     'service token', client=self.member)

    def test_the_instance_of_any_request_is_checked(self):
        self.bind(self.second, self.target)
        self.service.nova.events.clear()
        third, = self.arqs('two')[:1]
        # The first of the body says nothing about the instance.
        self.refused(400, {self.first: self.unbinding(),
                           third: self.binding(self.target)},
                     base.INSTANCE)


class TestValidation(base.ApiTestCase):

    def create(self, **values):
        return self.admin.post('/v2/device_profiles', [
            {'name': 'p', 'groups': GROUPS, **values}])

    def test_fault_8_what_is_no_uuid_is_not_stored(self):
        self.profile()
        device = self.device()
        arq, = self.arqs()
        before = self.content()
        for value in ('xyz', 5, [], {}):
            self.assertFault(400, self.create(uuid=value))
            self.assertFault(400, self.admin.post('/v2/attributes', {
                'deployable_id': device.deployable.id, 'key': 'k',
                'value': 'v', 'uuid': value}))
            self.assertFault(400, self.patch({arq: self.binding(
                device, instance=value)}))
            self.assertIn(self.patch({arq: self.binding(value)}).status,
                          (400, 404))
            self.assertFault(400, self.patch(
                {arq: self.binding(device, project_id=value)},
                self.admin.as_(api.ADMIN_SERVICE)))
        other = self.member.as_({'X-Project-Id': 'not-a-uuid'})
        self.assertFault(400, other.post('/v2/accelerator_requests', {
            'device_profile_name': 'dp'}), 'not-a-uuid')
        self.assertEqual(before, self.content())
        for collection in ('device_profiles', 'accelerator_requests',
                           'attributes'):
            self.assertEqual(200, self.admin.get('/v2/' + collection).status)

    def test_fault_9_only_the_service_sets_ids_and_times(self):
        answer = self.create(id=9999, created_at='2020-01-01', foo='bar')
        self.assertEqual(201, answer.status)
        self.assertNotIn('2020', answer.text)
        row, = self.content()['device_profiles']
        self.assertNotIn(9999, row)

    def test_fault_10_names_and_amounts(self):
        for name in ('a\n', 'n' * 256, base.UNKNOWN, 'a b', ''):
            self.assertFault(400, self.create(name=name))
        for amount in ('-1', -1, '-0x1'):
            self.assertFault(400, self.create(
                groups=[{'resources:FPGA': amount}]))
        self.assertEqual([], self.content()['device_profiles'])

    def test_fault_10_a_stored_amount_that_is_no_number(self):
        self.assertEqual(201, self.create(
            groups=[{'resources:FPGA': 1.5}]).status)
        self.assertFault(400, self.member.post(
            '/v2/accelerator_requests', {'device_profile_name': 'p'}), '1.5')

    def test_fault_16_a_profile_in_use_stays(self):
        self.profile()
        arq, = self.arqs()
        self.assertFault(409, self.admin.delete('/v2/device_profiles/dp'),
                         'dp')
        self.assertEqual('dp', self.arq(arq)['device_profile_name'])
        self.member.delete('/v2/accelerator_requests?arqs=' + arq)
        self.assertEqual(204, self.admin.delete(
            '/v2/device_profiles/dp').status)

    def test_a_second_profile_with_the_same_uuid(self):
        self.assertEqual(201, self.create(uuid=base.UNKNOWN).status)
        self.assertFault(409, self.create(name='q', uuid=base.UNKNOWN))


class TestCreation(base.ApiTestCase):

    def test_a_set_is_created_whole_or_not_at_all(self):
        self.profile('three', **{'resources:CUSTOM_PCI': '3'})
        conductor = self.service.conductor

        class Failing:
            """Loses contact after two requests."""

            left = 2
            arq_delete_by_uuid = conductor.arq_delete_by_uuid

            def supports_creating_many(self):
                """As under a cap of ``[upgrade_levels]``."""
                return False

            def arq_create(self, *args):
                if not self.left:
                    raise oslo_messaging.MessagingTimeout()
                self.left -= 1
                return conductor.arq_create(*args)

        self.context.project_id = base.PROJECT_A
        self.assertRaises(oslo_messaging.MessagingTimeout, requests.create,
                          self.context, Failing(), 'three')
        self.assertEqual([], self.content()['extended_accelerator_requests'])
        self.assertEqual(3, len(requests.create(
            self.context, conductor, 'three')))


    def test_the_answer_to_a_creation_is_lost(self):
        """It was created, and is not left in Initial for ever."""
        self.profile('two', **{'resources:CUSTOM_PCI': '2'})
        conductor = self.service.conductor

        class Silent:
            def __init__(self, many):
                self.supports_creating_many = lambda: many

            def arq_create(self, *args):
                conductor.arq_create(*args)
                raise oslo_messaging.MessagingTimeout()

            def arq_create_many(self, *args):
                conductor.arq_create_many(*args)
                raise oslo_messaging.MessagingTimeout()

        self.context.project_id = base.PROJECT_A
        for many in (False, True):
            self.assertRaises(
                oslo_messaging.MessagingTimeout, requests.create,
                self.context, Silent(many), 'two')
            self.assertEqual(
                [], self.content()['extended_accelerator_requests'])


class TestDeletion(base.ApiTestCase):

    def setUp(self):
        super().setUp()
        self.profile()
        self.target = self.device()
        self.requests = [self.arqs()[0] for _ in range(2)]

    def after_the_look(self, action):
        """Run ``action`` when the next connection is given back.

        Not through the API: its frameworks serve one request a thread.
        """
        waiting = [action]

        @sa.event.listens_for(self.service.db.engine.pool, 'checkin')
        def once(*arguments):
            if waiting:
                waiting.pop()()

    def delete(self):
        return self.member.delete(
            '/v2/accelerator_requests?arqs=' + ','.join(self.requests))

    def test_bound_between_the_look_and_the_deletion(self):
        """A user without a service token never takes a guest's device."""
        operations = self.binding(self.target)
        self.after_the_look(lambda: self.service.conductor.arq_apply_patch(
            self.context, {self.requests[1]: operations},
            {self.requests[1]: {operation['path'][1:]: operation['value']
                                for operation in operations}}))
        self.assertFault(403, self.delete(), base.INSTANCE)
        self.assertEqual(['Initial', 'Bound'], self.states(*self.requests))
        self.assertTrue(rows.read(self.target.handles[0]).in_use)

    def test_deleted_between_the_look_and_the_deletion(self):
        self.after_the_look(lambda: self.service.conductor.arq_delete_by_uuid(
            self.context, self.requests[1]))
        self.assertFault(404, self.delete(), self.requests[1])
        self.assertEqual(['Initial'], self.states(self.requests[0]))

    def test_a_handle_that_no_instance_has(self):
        self.bind(self.requests[0], self.target)
        with self.service.db.engine.begin() as connection:
            connection.exec_driver_sql(
                'UPDATE extended_accelerator_requests '
                'SET instance_uuid = NULL')
        self.assertFault(409, self.delete(), self.requests[0])
        self.assertEqual(204, self.nova.delete(
            '/v2/accelerator_requests?arqs=' + self.requests[0]).status)
        self.assertFalse(rows.read(self.target.handles[0]).in_use)


class TestRest(base.ApiTestCase):

    def test_a_version_without_a_service_is_told_of_once(self):
        """B56"""
        for _ in range(3):
            self.assertEqual('accelerator 2.1', self.admin.get(
                '/v2/devices', headers={
                    'OpenStack-API-Version': '2.1', 'User-Agent': 'old/1'}
            ).headers['openstack-api-version'])
        self.assertEqual(1, len([
            message for message in self.logs.messages('WARNING')
            if 'old/1' in message]))

    def test_an_instance_in_capitals(self):
        self.profile()
        arq, = self.arqs()
        instance = 'abcdef00-0000-4000-8000-000000000001'
        self.bind(arq, self.device(), instance=instance.upper())
        path = '/v2/accelerator_requests?instance='
        for text in (instance, instance.upper(), instance.replace('-', '')):
            self.assertEqual([arq], [item['uuid'] for item in self.member.get(
                path + text).body['arqs']])
        self.assertEqual(204, self.nova.delete(
            path + instance.upper()).status)
        self.assertEqual([], self.member.get(path + instance).body['arqs'])

    def test_fault_28_a_uuid_in_the_path_of_a_create(self):
        self.assertEqual(201, self.admin.post(
            '/v2/device_profiles/' + base.UNKNOWN,
            [{'name': 'p', 'groups': GROUPS}]).status)

    def test_fault_28_delete_by_path(self):
        self.profile()
        arq, = self.arqs()
        self.assertEqual(204, self.member.delete(
            '/v2/accelerator_requests/' + arq).status)
        self.assertEqual(404, self.member.get(
            '/v2/accelerator_requests/' + arq).status)

    def test_fault_29_filters(self):
        first, second = self.device(0x3b), self.device(0x3c)
        for query, wanted in (
                ('', [first, second]),
                ('?filters.field=limit&filters.value=1', [second]),
                ('?filters[0].field=sort_key&filters[0].value=id'
                 '&filters[1].field=sort_dir&filters[1].value=asc',
                 [first, second]),
                ('?filters.field=board&filters.value=x', [second, first]),
                ('?vendor=10de', [second, first]),
                ('?vendor=8086', []),
                ('?type=nonsense', [])):
            answer = self.admin.get('/v2/devices' + query)
            self.assertEqual([item.device.uuid for item in wanted],
                             [item['uuid'] for item
                              in answer.body['devices']], query)
        answer = self.admin.get('/v2/deployables?filters.field=name'
                                '&filters.value=' + first.deployable.name)
        self.assertEqual([first.deployable.uuid], [
            item['uuid'] for item in answer.body['deployables']])

    def test_fault_30_a_bad_service_catalog(self):
        for value in ('{not json', '5', '[5]', '{}', '[' * 100000):
            answer = self.admin.get('/v2/devices', headers={
                'X-Service-Catalog': value})
            self.assertEqual(400, answer.status)
            self.assertIn('X-Service-Catalog', answer.body['error_message'])
        self.assertEqual([], self.tracebacks())

    def test_fault_31_texts_are_filled_in(self):
        for value in ('accelerator 2.99', 'accelerator x'):
            answer = self.admin.get('/v2', headers={
                'OpenStack-API-Version': value})
            self.assertEqual(406, answer.status)
            self.assertNotIn('${', answer.text)
            self.assertNotIn('browser', answer.text)

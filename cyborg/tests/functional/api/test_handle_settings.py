# SPDX-License-Identifier: Apache-2.0
"""Microversion 2.4: managed, stateful and numa_node (API-1 to API-6)."""

import itertools
import json

from cyborg.api import microversions
from cyborg.tests.fixtures import rows
from cyborg.tests.functional.api import base

OLD = (None, '2.0', '2.1', '2.2', '2.3')
NEW = ('2.4', 'latest')
TYPES = ('PCI', 'MDEV', 'TEST_PCI')
#: Stored settings -> what 2.4 shows of them, beside the defaults.
STORED = (
    ({}, {}),
    ({'managed': True}, {'managed': True}),
    ({'managed': False}, {'managed': False}),
    ({'stateful': True}, {'stateful': True}),
    ({'stateful': False, 'numa_node': 0}, {'numa_node': 0}),
    ({'managed': False, 'stateful': True, 'numa_node': 7},
     {'managed': False, 'stateful': True, 'numa_node': 7}),
    ({'numa_node': None}, {}),
)
DEFAULTS = {'managed': True, 'stateful': False, 'numa_node': None}
#: Stored settings of a wrong type, and the key at fault.
WRONG = (('managed', 'true'), ('managed', 'false'), ('managed', 0),
         ('managed', None), ('stateful', 'true'), ('stateful', 1),
         ('numa_node', '0'), ('numa_node', -1), ('numa_node', True),
         ('numa_node', 0.5), ('managed', []), ('stateful', {'a': [1]}),
         ('numa_node', [0]))


class SettingsTestCase(base.ApiTestCase):

    timeout = 300

    def setUp(self):
        super().setUp()
        self.row = rows.profile('dp')

    def bound(self, bus: int, handle_type: str, stored: dict, **values):
        """A request that is bound to a handle with these settings.

        :returns: (row of the request, row of the handle, stored address)
        """
        device = self.device(bus)
        handle = device.handles[0]
        text = rows.address(0, bus, **stored)
        rows.change(handle, in_use=True, attach_type=handle_type,
                    attach_info=text)
        arq = rows.arq(self.row, handle, **{
            'project_id': base.PROJECT_A, 'hostname': base.HOST,
            'instance_uuid': base.INSTANCE,
            'device_rp_uuid': device.deployable.rp_uuid, **values})
        return arq, handle, {key: value for key, value
                             in json.loads(text).items()
                             if key not in DEFAULTS}

    def ask(self, version, path: str):
        if version is None:
            client = self.service.client.as_(
                {key: value for key, value in self.member.headers.items()
                 if key != 'OpenStack-API-Version'})
        else:
            client = self.member.as_(version=version)
        return client.get('/v2/accelerator_requests' + path)

    def ways(self, arq):
        """Every way that a request can be read: path, how to pick it."""
        def single(body):
            return body

        def listed(body):
            found, = (item for item in body['arqs']
                      if item['uuid'] == arq.uuid)
            return found

        instance = '?instance=' + base.INSTANCE
        return (('/' + arq.uuid, single), ('', listed), (instance, listed),
                ('?bind_state=resolved', listed),
                (instance + '&bind_state=resolved', listed))


class TestMatrix(SettingsTestCase):
    """Handle type x stored settings x version x way of reading."""

    def setUp(self):
        super().setUp()
        self.cases = [
            (*self.bound(bus, kind, stored), kind, shown)
            for bus, (kind, (stored, shown)) in enumerate(
                itertools.product(TYPES, STORED), 1)]
        self.before = self.content()

    def test_new_versions_show_all(self):
        """API-1"""
        for arq, _handle, address, kind, shown in self.cases:
            wanted = {**address, **DEFAULTS, **shown}
            if kind != 'PCI':
                del wanted['managed']
            for version, (path, pick) in itertools.product(
                    NEW, self.ways(arq)):
                answer = self.ask(version, path)
                self.assertEqual(200, answer.status, answer)
                info = pick(answer.body)['attach_handle_info']
                self.assertEqual(wanted, info, (kind, shown, version, path))
                for key, value in wanted.items():
                    self.assertIs(type(value), type(info[key]))
        self.assertEqual(self.before, self.content())

    def test_old_versions_show_none(self):
        """API-2: the same bytes as if nothing was stored."""
        answers = {}
        for version, (arq, *_rest) in itertools.product(OLD, self.cases):
            for path, _pick in self.ways(arq):
                answers[version, path] = self.ask(version, path).text
        for _arq, handle, address, _kind, _shown in self.cases:
            rows.change(handle, attach_info=json.dumps(address,
                                                       sort_keys=True))
        for (version, path), text in answers.items():
            self.assertEqual(text, self.ask(version, path).text)
            for name in DEFAULTS:
                self.assertNotIn(name, text)

    def test_headers_and_documents(self):
        """API-6"""
        newest = str(microversions.MAXIMUM)
        for version, shown in (*((v, v) for v in OLD[1:]), ('2.4', '2.4'),
                               ('latest', newest)):
            headers = self.ask(version, '').headers
            self.assertEqual('accelerator ' + shown,
                             headers['openstack-api-version'])
            self.assertEqual(newest,
                             headers['openstack-api-maximum-version'])
        for path in ('/', '/v2'):
            self.assertIn('"max_version": "%s"' % newest,
                          self.member.get(path).text)
        self.assertEqual(406, self.ask('2.99', '').status)


class TestWithoutHandle(SettingsTestCase):
    """API-2: nothing is gained where there is no handle."""

    def test_states(self):
        arq, _handle, _address = self.bound(1, 'PCI', {'managed': False})
        for state in ('Initial', 'BindStarted', 'BindFailed', 'Unbound',
                      'Deleting'):
            rows.change(arq, state=state)
            for version in (*OLD, *NEW):
                answer = self.ask(version, '/' + arq.uuid)
                self.assertEqual({}, answer.body['attach_handle_info'])
                self.assertEqual('', answer.body['attach_handle_type'])
                self.assertIsNone(answer.body['attach_handle_uuid'])

    def test_new_requests(self):
        answer = self.member.post('/v2/accelerator_requests',
                                  {'device_profile_name': 'dp'})
        self.assertEqual({}, answer.body['arqs'][0]['attach_handle_info'])


class TestWrongTypes(SettingsTestCase):
    """API-4: damage is an error where it would show, and hides nothing."""

    def test_wrong_types(self):
        whole, _handle, address = self.bound(1, 'PCI', {'managed': False})
        for bus, (key, value) in enumerate(WRONG, 2):
            arq, handle, _address = self.bound(bus, 'PCI', {key: value})
            for version in NEW:
                for path, _pick in self.ways(arq):
                    answer = self.ask(version, path)
                    self.assertFault(500, answer, key)
                    self.assertIn(handle.uuid, answer.text)
                # What is not damaged can be shown all the same.
                self.assertEqual(200, self.ask(
                    version, '/' + whole.uuid).status)
            for version, (path, pick) in itertools.product(
                    OLD, self.ways(arq)):
                answer = self.ask(version, path)
                self.assertEqual(200, answer.status, answer)
                self.assertNotIn(key, pick(answer.body)[
                    'attach_handle_info'])
            listed = self.ask('2.3', '').body['arqs']
            self.assertEqual({whole.uuid, arq.uuid},
                             {item['uuid'] for item in listed})
            self.assertEqual(address, listed[0]['attach_handle_info'])
            rows.remove(arq)

    def test_a_setting_that_is_not_shown_does_not_matter(self):
        for kind in ('MDEV', 'TEST_PCI'):
            arq, _handle, _address = self.bound(
                TYPES.index(kind) + 1, kind, {'managed': 'junk'})
            self.assertEqual(200, self.ask('2.4', '/' + arq.uuid).status)


class TestCost(SettingsTestCase):
    """PERF-2: a list takes the same few statements whatever its length."""

    def count(self, client, path: str) -> int:
        with self.service.db.count_statements() as statements:
            answer = client.get(path)
        self.assertEqual(200, answer.status, answer)
        return len(statements)

    def test_requests(self):
        client = self.member.as_(version='2.4')
        path = '/v2/accelerator_requests'
        counts = []
        for total in (0, 10, 200):
            for number in range(total // 2):
                rows.arq(self.row, project_id=base.PROJECT_A)
                if number < 40:
                    self.bound(number + 1, 'PCI', {'managed': False})
            counts.append({self.count(client, path + query) for query in
                           ('', '?instance=' + base.INSTANCE,
                            '?bind_state=resolved')})
        self.assertLessEqual(max(set.union(*counts)), 3)
        self.assertEqual(1, len(set.union(*counts)), counts)

    def test_one_request(self):
        arq, *_rest = self.bound(1, 'PCI', {})
        self.assertLessEqual(self.count(
            self.member, '/v2/accelerator_requests/' + arq.uuid), 3)

    def test_others(self):
        most = {'/v2/devices': 1, '/v2/devices?vendor=10de': 1,
                '/v2/deployables': 2,
                '/v2/deployables?filters.field=limit&filters.value=500': 2,
                '/v2/attributes': 1, '/v2/device_profiles': 1,
                '/v2/device_profiles?name=dp,x': 1}
        for number in range(30):
            self.device(number + 1)
            rows.profile('dp%d' % number)
        for path, limit in most.items():
            self.assertLessEqual(self.count(self.admin, path), limit, path)

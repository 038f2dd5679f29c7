# SPDX-License-Identifier: Apache-2.0
"""Whatever a client sends: the right 4xx, and nothing changes.

Every endpoint gets malformed JSON, wrong types, huge and foreign names, NUL,
unknown UUIDs, other projects' things and junk headers. An answer has to be
4xx with a JSON body, the database has to be as before, and no traceback may be
logged.
"""

import itertools
import json

import testscenarios

from cyborg.tests.fixtures import api
from cyborg.tests.fixtures import rows
from cyborg.tests.functional.api import base

load_tests = testscenarios.load_tests_apply_scenarios

HUGE = 'x' * 100000
#: Texts that are no name of anything.
TEXTS = ('nope', '', ' ', HUGE, 'é', '😀', 'a/b', "'; DROP TABLE devices;--",
         '..', '%', '{{x}}')
JUNK = (None, True, False, 0, -1, 1.5, 2 ** 63, 'x', '', [], {}, [[]], [{}],
        [None], {'x': 1}, {'x': [1, 2]}, [1, 'a', None], HUGE, '\x00',
        ['\ud800'])
MALFORMED = (b'', b'{', b'[', b'"', b'nul', b'{"a":', b'[] x', b'\xff',
             b'"\xff"', b'\x00', b'[NaN]', b'Infinity', b'1e999',
             b'9' * 5000, b'[' * 100000, b'{"a":1,"a":2}',
             '[]'.encode('utf-16'))
CONTENT_TYPES = ('text/plain', 'application/xml', 'text/xml', 'image/png',
                 'application/json-patch+json', 'application/octet-stream',
                 'multipart/form-data', 'multipart/form-data; boundary=x',
                 'application/x-www-form-urlencoded',
                 'application/x-www-form-urlencoded; charset=latin-1',
                 'application/json; charset=foo',
                 'application/json; charset=hex')


class BadInputTestCase(base.ApiTestCase):

    timeout = 300

    def setUp(self):
        super().setUp()
        self.profile()
        self.target = self.device()
        self.mine, self.bound = (self.arqs()[0] for _ in range(2))
        self.bind(self.bound, self.target)
        self.admin = self.admin.as_(api.ADMIN_SERVICE)
        self.before = self.content()

    def check(self, answer, what, statuses=range(400, 500)):
        self.assertIn(answer.status, statuses, (what, answer))
        self.assertEqual('application/json', answer.headers['content-type'],
                         what)
        self.assertEqual(['error_message'], list(answer.body), what)
        for secret in ('Traceback', 'SELECT', 'site-packages', '.py'):
            self.assertNotIn(secret, answer.text, what)

    def tearDown(self):
        # At the end of each test, whatever it sent.
        try:
            self.assertEqual(self.before, self.content())
            self.assertEqual([], self.tracebacks())
        finally:
            super().tearDown()


class TestBodies(BadInputTestCase):
    """Bodies of every endpoint that takes one."""

    scenarios = [(name, {'method': method, 'path': path})
                 for name, method, path in (
        ('create a profile', 'POST', '/v2/device_profiles'),
        ('create requests', 'POST', '/v2/accelerator_requests'),
        ('bind', 'PATCH', '/v2/accelerator_requests'),
        ('create an attribute', 'POST', '/v2/attributes'),
        ('program', 'PATCH', '/v2/deployables/%(deployable)s/program'),
        ('disable', 'POST', '/v2/devices/%(device)s/disable'),
    )]

    def send(self, **kwargs):
        path = self.path % {'deployable': self.target.deployable.uuid,
                            'device': self.target.device.uuid}
        return self.admin.request(self.method, path, **kwargs)

    def harmless(self, raw: bytes) -> bool:
        """Bodies that the request works without, or with."""
        return self.path.endswith('/disable') and raw in (b'', b'{}')

    def test_malformed(self):
        for raw in MALFORMED:
            if not self.harmless(raw):
                self.check(self.send(raw=raw), raw[:50])

    def test_wrong_types(self):
        for value in JUNK:
            raw = json.dumps(value).encode()
            if not self.harmless(raw):
                self.check(self.send(raw=raw), raw[:50])

    def test_wrong_types_one_level_down(self):
        keys = ('name', 'groups', 'device_profile_name', 'deployable_id',
                'path', self.mine)
        for key, value in itertools.product(keys, JUNK):
            for body in ({key: value}, [{key: value}]):
                if body == {'device_profile_name': value} and isinstance(
                        value, (str, int, float)) and value is not None:
                    continue  # names, see TestNames
                self.check(self.send(body=body), json.dumps(body)[:80])

    def test_deep_values_that_count_for_nothing(self):
        """They were passed on, until something recursed through them."""
        for depth in (40, 600, 900):
            deep = json.loads('[' * depth + ']' * depth)
            for body in (
                    {self.mine: [{'op': 'remove', 'path': '/hostname',
                                  'value': deep}]},
                    {self.mine: [{**operation, 'foo': deep} for operation
                                 in self.binding(self.target)]},
                    {'device_profile_name': 'dp', 'foo': deep},
                    {'deployable_id': self.target.deployable.id, 'key': 'k',
                     'value': 'v', 'foo': deep},
                    [{'name': 'p', 'groups': [{}], 'foo': deep}],
                    [{'name': 'p', 'groups': [{}], 'id': deep}]):
                self.check(self.send(body=body), (depth, str(body)[:50]))

    def test_content_types(self):
        for content_type in CONTENT_TYPES:
            for raw in (b'[]', b'a=b', b'<a/>'):
                self.check(self.send(raw=raw, content_type=content_type),
                           (content_type, raw))


class TestFields(BadInputTestCase):
    """Each field of a body that is otherwise right."""

    def test_profile(self):
        good = {'name': 'p', 'groups': [{'resources:FPGA': '1'}]}
        for field, values in (
                ('name', (*JUNK, *TEXTS)),
                ('groups', JUNK[:14]),
                ('uuid', (5, True, [], {}, 'xyz', HUGE, '\x00')),
                ('description', ([], {}, HUGE, '\x00', '\ud800')),
                ('created_at', ('x', [], {})),
                ('id', ('x', [], {}))):
            for value in values:
                if (field, value) in (('name', 'x'), ('name', 'nope')):
                    continue  # good ones
                if field == 'groups' and value == [{}]:
                    continue
                self.check(self.admin.post(
                    '/v2/device_profiles', [{**good, field: value}]),
                    (field, str(value)[:50]))

    def test_profile_groups(self):
        for group in ({'': '1'}, {'FPGA': '1'}, {'resources:VCPU': '1'},
                      {'resources:FPGA': 'x'}, {'resources:FPGA': '-1'},
                      {'resources:FPGA': None}, {'resources:FPGA': []},
                      {'resources:FPGA': '9' * 5000},
                      {'resources:CUSTOM_' + HUGE: '1'},
                      {'trait:X': 'required'}, {'trait:CUSTOM_A': 'x'},
                      {'trait:CUSTOM_A': None}, {'accel:x': []},
                      {'accel:x': HUGE}, {'accel:x': '\x00'},
                      {'accel:\x00': 'x'}, {'accel:\ud800': 'x'}):
            self.check(self.admin.post('/v2/device_profiles', [
                {'name': 'p', 'groups': [group]}]), str(group)[:50])

    def test_attribute(self):
        good = {'deployable_id': self.target.deployable.id, 'key': 'k',
                'value': 'v'}
        for field, values in (
                ('deployable_id', (None, 'x', '', [], {}, 0, -1, 9999,
                                   2 ** 63, 1e400, HUGE)),
                ('key', (None, [], {}, HUGE, '\x00', '\ud800')),
                ('value', (None, [], {}, HUGE, '\x00', '\ud800')),
                ('uuid', (None, 5, True, [], {}, 'xyz', HUGE))):
            for value in values:
                self.check(self.admin.post(
                    '/v2/attributes', {**good, field: value}),
                    (field, str(value)[:50]))
            if field != 'uuid':
                self.check(self.admin.post('/v2/attributes', {
                    key: value for key, value in good.items()
                    if key != field}), field)

    def test_bind(self):
        for field in ('hostname', 'device_rp_uuid', 'instance_uuid',
                      'project_id'):
            for value in (None, True, 5, 1.5, [], {}, '', '\x00', '\ud800',
                          HUGE):
                self.check(self.patch({self.mine: self.binding(
                    self.target, **{
                        'host' if field == 'hostname' else
                        'instance' if field == 'instance_uuid' else
                        field: value})}, self.admin),
                    (field, str(value)[:50]))
        for path in ('/state', '/uuid', '/attach_handle_uuid', '/managed',
                     '/hostname/x', '', '/', HUGE, '\x00'):
            self.check(self.patch({self.mine: [
                {'path': path, 'op': 'add', 'value': 'x'}]}), path[:50])
        for op in ('replace', 'test', 'move', 'copy', '', 'ADD', HUGE):
            self.check(self.patch({self.mine: [
                {'path': '/hostname', 'op': op, 'value': 'x'}]}), op[:50])
        for uuid in (*TEXTS, base.UNKNOWN, self.mine.upper() + 'x'):
            self.check(self.patch({uuid: self.binding(self.target)}),
                       uuid[:50])
            self.check(self.patch({uuid: self.unbinding()}), uuid[:50])

    def test_program(self):
        path = '/v2/deployables/%s/program' % self.target.deployable.uuid
        good = {'path': '/program', 'op': 'replace',
                'value': [{'image_uuid': base.UNKNOWN}]}
        for field, values in (
                ('path', (None, 5, [], '', 'x', '/name', '/uuid/x', HUGE,
                          '/a\n', '\x00')),
                ('op', (None, 5, [], '', 'test', HUGE)),
                ('value', (None, 5, 'x', {}, [], ['x'], [{}], [None],
                           [{'image_uuid': 'xyz'}], [{'image_uuid': 5}],
                           [{'image_uuid': None}], [{'image_uuid': []}]))):
            for value in values:
                self.check(self.admin.patch(path, [{**good, field: value}]),
                           (field, str(value)[:50]))


class TestNames(BadInputTestCase):
    """What is in paths and queries."""

    PATHS = (
        ('GET', '/v2/device_profiles/%s'),
        ('DELETE', '/v2/device_profiles/%s'),
        ('DELETE', '/v2/device_profiles?value=%s'),
        ('GET', '/v2/accelerator_requests/%s'),
        ('DELETE', '/v2/accelerator_requests/%s'),
        ('DELETE', '/v2/accelerator_requests?arqs=%s'),
        ('GET', '/v2/devices/%s'),
        ('POST', '/v2/devices/%s/enable'),
        ('POST', '/v2/devices/%s/disable'),
        ('GET', '/v2/deployables/%s'),
        ('GET', '/v2/attributes/%s'),
        ('DELETE', '/v2/attributes/%s'),
        ('DELETE', '/v2/attributes?uuid=%s'),
    )

    def test_names_of_nothing(self):
        names = ('nope', base.UNKNOWN, 'x' * 5000, '%C3%A9', '%F0%9F%98%80',
                 '%00', '%FF', '%27%3B--', '1', '-1', '%20', '%0A',
                 base.UNKNOWN.replace('-', ''), '%7B%7Bx%7D%7D',
                 '{%s}' % base.UNKNOWN, '_', '__class__', 'get_all')
        for (method, path), name in itertools.product(self.PATHS, names):
            self.check(self.admin.request(method, path % name),
                       (method, path, name[:50]))

    def test_queries(self):
        for collection in ('device_profiles', 'accelerator_requests',
                           'devices', 'deployables', 'attributes'):
            for query in ('foo=1', '=1', 'limit=1', '%FF=1', 'x=%FF',
                          'name[]=1', 'uuid=x', '_method=DELETE',
                          '_method=get_all', '__body__=x', HUGE + '=1'):
                self.check(self.admin.get('/v2/%s?%s' % (collection, query)),
                           (collection, query[:50]))

    def test_filters(self):
        for path in (
                'accelerator_requests?bind_state=bound',
                'accelerator_requests?bind_state=' + HUGE,
                'accelerator_requests?instance=xyz',
                'accelerator_requests?instance=',
                'accelerator_requests?instance=' + HUGE,
                'attributes?deployable_id=x',
                'attributes?deployable_id=',
                'attributes?deployable_id=1.5',
                'attributes?deployable_id=' + '9' * 30,
                'attributes?deployable_id=' + '9' * 5000,
                'attributes?deployable_id=1&deployable_id=2',
                'attributes?key=%00',
                'devices?vendor=%00',
                *('%s?filters%s' % item for item in itertools.product(
                    ('devices', 'deployables'),
                    ('=a', '=', '={}', '[0]=x', '[x].field=limit',
                     '.field=vendor&filters.value=x', '.field=limit',
                     '.field=limit&filters.value=x',
                     '.field=limit&filters.value=' + '9' * 30,
                     '.field=sort_key&filters.value=nope',
                     '.field=sort_key&filters.value=metadata',
                     '.field=sort_key&filters.value=__class__',
                     '.field=sort_dir&filters.value=up', '.foo=1')))):
            self.check(self.admin.get('/v2/' + path), path[:80])

    def test_profile_of_new_requests(self):
        for name in (*TEXTS, 5, True, 1.5, '\x00', '\ud800', base.UNKNOWN):
            self.check(self.member.post('/v2/accelerator_requests', {
                'device_profile_name': name}), str(name)[:50])


class TestBeyondTheBasicPlane(BadInputTestCase):
    """MariaDB's tables have no place for such characters."""

    database = 'mariadb'
    text = '\U0001f600'

    def test_bodies(self):
        for path, body in (
                ('device_profiles', [{
                    'name': 'p', 'description': self.text,
                    'groups': [{'resources:FPGA': '1'}]}]),
                ('accelerator_requests', {'device_profile_name': self.text}),
                ('attributes', {'deployable_id': self.target.deployable.id,
                                'key': self.text, 'value': 'x'}),
                ('attributes', {'deployable_id': self.target.deployable.id,
                                'key': 'x', 'value': self.text})):
            self.check(self.admin.post('/v2/' + path, body), (path, body))
        self.check(self.patch({self.text: self.binding(self.target)}), 'arq')

    def test_names(self):
        name = '%F0%9F%98%80'
        for path in ('device_profiles/', 'device_profiles?name=',
                     'device_profiles?name=dp,', 'devices/',
                     'devices?hostname=', 'devices?vendor=',
                     'attributes?key=',
                     'deployables?filters.field=name&filters.value='):
            self.check(self.admin.get('/v2/%s%s' % (path, name)), path)
        for path in ('devices/%s/disable', 'devices/%s/enable'):
            self.check(self.admin.post('/v2/' + path % name), path)
        for path in ('device_profiles/', 'accelerator_requests?arqs=',
                     'attributes/'):
            self.check(self.admin.delete('/v2/%s%s' % (path, name)), path)


class TestFormsOfAUuid(base.ApiTestCase):
    """What is taken for a UUID finds its row."""

    def setUp(self):
        super().setUp()
        self.profile()
        self.target = self.device()
        self.mine, = self.arqs()

    def forms(self, uuid):
        return (uuid.upper(), uuid.replace('-', ''), '{%s}' % uuid,
                'urn:uuid:' + uuid)

    def test_every_form(self):
        profile = self.admin.get('/v2/device_profiles/dp').body[
            'device_profile']['uuid']
        for path, uuid in (
                ('accelerator_requests', self.mine),
                ('devices', self.target.device.uuid),
                ('deployables', self.target.deployable.uuid),
                ('device_profiles', profile)):
            for form in self.forms(uuid):
                answer = self.admin.get('/v2/%s/%s' % (path, form))
                self.assertEqual(200, answer.status, (path, form))
                self.assertIn(uuid, answer.text)
        for form in self.forms(self.mine):
            self.assertEqual(202, self.patch(
                {form: self.unbinding()}).status)
        self.assertFault(400, self.patch({
            form: self.unbinding() for form in self.forms(self.mine)}))


class TestOrder(BadInputTestCase):
    """Who may not do it is told so, whatever the body is."""

    def test_policy_and_token_come_first(self):
        for method, path, client in (
                ('POST', '/v2/device_profiles', self.member),
                ('PATCH', '/v2/accelerator_requests', self.member),
                ('POST', '/v2/accelerator_requests', self.anonymous),
                ('POST', '/v2/attributes', self.member),
                ('PATCH', '/v2/deployables/%s/program' % base.UNKNOWN,
                 self.member),
                ('POST', '/v2/devices/nope/disable', self.member)):
            for raw in (b'{', b'[]', b'[' * 5000, b'\xff', b'1,' * 90000):
                self.check(client.request(method, path, raw=raw),
                           (method, path, raw[:20]), {403})


class TestForeign(BadInputTestCase):
    """B57: what belongs to another project is not there."""

    def test_requests_of_another_project(self):
        stranger = self.stranger.as_({'X-Service-Roles': 'service'})
        for arq in (self.mine, self.bound):
            path = '/v2/accelerator_requests'
            self.assertFault(404, stranger.get('%s/%s' % (path, arq)))
            self.assertFault(404, stranger.delete('%s/%s' % (path, arq)))
            self.assertFault(404, stranger.delete('%s?arqs=%s'
                                                  % (path, arq)))
            self.assertFault(404, self.patch({arq: self.unbinding()},
                                             stranger))
            self.assertFault(404, self.patch(
                {arq: self.binding(self.target)}, stranger))
        self.assertEqual([], stranger.get(
            '/v2/accelerator_requests').body['arqs'])
        self.assertEqual(204, stranger.delete(
            '/v2/accelerator_requests?instance=' + base.INSTANCE).status)

    def test_what_needs_a_service_token(self):
        path = '/v2/accelerator_requests'
        for body in ({self.mine: self.binding(self.target)},
                     {self.bound: self.unbinding()}):
            self.assertFault(403, self.patch(body, self.member), 'service')
        self.assertFault(403, self.member.delete(
            '%s?instance=%s' % (path, base.INSTANCE)), 'service')
        for arqs in (self.bound, '%s,%s' % (self.mine, self.bound)):
            self.assertFault(403, self.member.delete(
                '%s?arqs=%s' % (path, arqs)), base.INSTANCE)

    def test_what_only_an_admin_may(self):
        device = '/v2/devices/' + self.target.device.uuid
        part = '/v2/deployables/%s/program' % self.target.deployable.uuid
        for answer in (
                self.member.post('/v2/device_profiles', [
                    {'name': 'p', 'groups': [{}]}]),
                self.member.delete('/v2/device_profiles/dp'),
                self.member.post(device + '/disable'),
                self.member.post(device + '/enable'),
                self.member.patch(part, []),
                self.member.post('/v2/attributes', {}),
                self.member.delete('/v2/attributes/'
                                   + self.target.attributes[0].uuid),
                self.patch({self.mine: self.binding(
                    self.target, project_id=base.PROJECT_A)})):
            self.assertFault(403, answer)

    def test_a_token_of_the_wrong_scope(self):
        for scope in ({'Openstack-System-Scope': 'all'},
                      {'X-Domain-Id': 'default'}):
            other = self.anonymous.as_(
                {'X-User-Id': 'u', 'X-Roles': 'admin,member,reader', **scope})
            for path in ('devices', 'accelerator_requests',
                         'device_profiles'):
                self.assertFault(403, other.get('/v2/' + path))


class TestHeaders(BadInputTestCase):

    def test_headers(self):
        for name, value, status in (
                ('OpenStack-API-Version', 'accelerator 2.99', 406),
                ('OpenStack-API-Version', 'accelerator x', 406),
                ('OpenStack-API-Version', '', 406),
                ('OpenStack-API-Version', HUGE, 406),
                ('OpenStack-API-Version', '\xff', 406),
                ('Accept', 'text/html', 406),
                ('Accept', 'application/xml', 406),
                ('X-Service-Catalog', '{not json', 400),
                ('X-Service-Catalog', '[' * 100000, 400),
                ('X-Service-Catalog', '5', 400),
                ('X-Service-Catalog', '[null]', 400)):
            for path in ('/v2/devices', '/v2/accelerator_requests'):
                self.check(self.admin.get(path, headers={name: value}),
                           (name, value[:50]), (status,))

    def test_headers_that_do_not_matter(self):
        for name, value in (
                ('Accept', 'garbage'), ('Accept', ''), ('X-Roles', HUGE),
                ('X-Service-Roles', ',,,'), ('Content-Type', 'garbage'),
                ('X-Openstack-Request-Id', HUGE), ('Origin', '\xff'),
                ('X-Forwarded-Host', 'evil.example.org'),
                ('X-Forwarded-Prefix', '/../..')):
            self.assertEqual(200, self.member.get(
                '/v2/accelerator_requests', headers={name: value}).status,
                name)

    def test_methods(self):
        for method, path in itertools.product(
                ('PUT', 'TRACE', 'FOO', 'HEAD', 'COPY'),
                ('/', '/v2', '/v2/devices', '/v2/device_profiles/x',
                 '/v2/accelerator_requests', '/v2/attributes/x',
                 '/v2/deployables/x/program')):
            answer = self.admin.request(method, path)
            self.assertEqual(405, answer.status, (method, path))
            self.assertIn('GET', answer.headers['allow'])

    def test_paths(self):
        for path in ('/v1', '/v3', '/v2.0', '/v2/foo', '/foo', '/v1/devices',
                     '/v2/foo/devices', '/v2/devices/x/y',
                     '/accelerator/v2/foo', '/accelerator/accelerator/v2',
                     '/v2/__class__', '/v2/_route', '/v2/children',
                     '/v2/devices/x/__init__', '/V2', '/v2/../v2'):
            self.check(self.admin.get(path), path, (404,))


class TestStoredDamage(base.ApiTestCase):
    """Rows that no release should have written don't hide the others."""

    def test_a_request_whose_profile_and_handle_are_gone(self):
        self.profile()
        target = self.device()
        damaged, whole = self.arqs()[0], self.arqs()[0]
        self.bind(damaged, target)
        rows.remove(target.handles[0])
        answer = self.member.get('/v2/accelerator_requests')
        self.assertEqual(200, answer.status, answer)
        self.assertEqual({damaged, whole},
                         {arq['uuid'] for arq in answer.body['arqs']})

    def test_a_profile_with_damaged_groups(self):
        rows.profile('broken', profile_json='no json')
        self.profile('whole')
        answer = self.admin.get('/v2/device_profiles')
        self.assertEqual(['broken', 'whole'], [
            item['name'] for item in answer.body['device_profiles']])
        self.assertEqual(204, self.admin.delete(
            '/v2/device_profiles/broken').status)

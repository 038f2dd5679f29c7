# SPDX-License-Identifier: Apache-2.0
"""Who the caller is, and where the service is mounted."""

from keystoneauth1 import fixture as ksa_fixture
from keystoneauth1 import loading
from keystonemiddleware import fixture as ksm_fixture
import webob

from cyborg.api.middleware import noauth
from cyborg.common import config
from cyborg.conf import CONF
from cyborg.tests import base as unit_base
from cyborg.tests.fixtures import api
from cyborg.tests.fixtures import processes
from cyborg.tests.fixtures import rows
from cyborg.tests.fixtures import rpc
from cyborg.tests.functional.api import base

PROJECT = 'aaaaaaaaaaaa4aaa8aaaaaaaaaaaaaaa'


class TestKeystone(base.ApiTestCase):
    """Behind keystonemiddleware, with tokens."""

    filters = 'authtoken'

    def configure(self):
        config.set_api_defaults()
        self.conf.set(group='keystone_authtoken',
                      www_authenticate_uri='http://keystone.example.org')

    def setUp(self):
        super().setUp()
        self.tokens = self.useFixture(ksm_fixture.AuthTokenFixture())
        self.user = self.token(['member', 'reader'])
        self.service_token = self.token(['service'], project='5' * 32)
        self.row = rows.profile('dp')

    def token(self, roles, project: str = PROJECT) -> str:
        token = ksa_fixture.V3Token()
        token.set_project_scope(id=project)
        for role in roles:
            token.add_role(name=role)
        return self.tokens.add_token(token)

    def caller(self, token: str, service_token: str | None = None, **more):
        headers = {'X-Auth-Token': token, **more}
        if service_token is not None:
            headers['X-Service-Token'] = service_token
        return self.service.client.as_(headers, version='latest')

    def test_the_token_says_who_it_is(self):
        answer = self.caller(self.user).post(
            '/v2/accelerator_requests', {'device_profile_name': 'dp'})
        self.assertEqual(201, answer.status, answer)
        self.assertEqual(PROJECT, answer.body['arqs'][0]['project_id'])

    def test_headers_cannot_be_forged(self):
        forged = self.caller(self.user, **{
            'X-Roles': 'admin', 'X-Service-Roles': 'service',
            'X-Project-Id': '9' * 32})
        self.assertEqual(403, forged.post('/v2/device_profiles', [
            {'name': 'p', 'groups': [{}]}]).status)
        arq = rows.arq(self.row, project_id=PROJECT)
        self.assertEqual(403, forged.patch('/v2/accelerator_requests', {
            arq.uuid: self.unbinding()}).status)

    def test_the_version_documents_need_no_token(self):
        for path in ('/', '/v2', '/v2/', '/accelerator', '/accelerator/',
                     '/accelerator/v2'):
            self.assertEqual(200, self.service.client.get(path).status, path)
        for path in ('/v2/devices', '/accelerator/v2/devices',
                     '/accelerator/accelerator', '/accelerator/x'):
            self.assertEqual(401, self.service.client.get(path).status, path)

    def test_a_bad_token(self):
        answer = self.caller('nonsense').get('/v2/devices')
        self.assertEqual(401, answer.status)
        self.assertEqual(401, answer.body['error']['code'])

    def test_a_service_token_binds(self):
        """B57"""
        device = self.device()
        arq = rows.arq(self.row, project_id=PROJECT)
        body = {arq.uuid: self.binding(device)}
        path = '/v2/accelerator_requests'
        self.assertEqual(403, self.caller(self.user).patch(
            path, body).status)
        # A second token without the role does not help.
        self.assertIn(self.caller(self.user, self.user).patch(
            path, body).status, (401, 403))
        self.assertEqual(202, self.caller(
            self.user, self.service_token).patch(path, body).status)

    def test_another_role_can_be_configured(self):
        self.conf.set(group='keystone_authtoken',
                      service_token_roles=['nova'])
        arq = rows.arq(self.row, project_id=PROJECT)
        answer = self.caller(self.user, self.service_token).patch(
            '/v2/accelerator_requests', {arq.uuid: self.unbinding()})
        self.assertIn(answer.status, (401, 403))


class TestWithoutKeystone(base.ApiTestCase):

    filters = 'authtoken'

    def configure(self):
        config.set_api_defaults()
        loading.register_auth_conf_options(CONF, 'keystone_authtoken')
        options = loading.get_auth_plugin_conf_options('password')
        CONF.register_opts(options, group='keystone_authtoken')
        # Some are required, of whoever reads a configuration from now on.
        self.addCleanup(CONF.unregister_opts, options,
                        group='keystone_authtoken')
        url = 'http://127.0.0.1:%d' % processes.free_port()
        self.conf.set(
            group='keystone_authtoken', auth_type='password', username='c',
            password='x', auth_url=url, www_authenticate_uri=url,
            http_request_max_retries=0)

    def test_the_answer_is_json(self):
        answer = self.service.client.as_({'X-Auth-Token': 'x'}).get(
            '/v2/devices')
        self.assertEqual(503, answer.status)
        self.assertEqual('application/json', answer.headers['content-type'])
        self.assertIn('identity service does not answer',
                      answer.body['error_message'])
        self.assertEqual(200, self.service.client.get('/v2').status)


class TestNoAuth(base.ApiTestCase):
    """Standalone's pipeline."""

    filters = 'noauth'

    def test_without_headers_everything_works(self):
        client = self.service.client
        self.assertEqual(201, client.post('/v2/device_profiles', [
            {'name': 'p', 'groups': [{'resources:CUSTOM_PCI': 1}]}]).status)
        created = client.post('/v2/accelerator_requests',
                              {'device_profile_name': 'p'}).body['arqs'][0]
        self.assertEqual(noauth.PROJECT_ID, created['project_id'])
        device = self.device()
        self.assertEqual(202, client.patch('/v2/accelerator_requests', {
            created['uuid']: self.binding(device)}).status)
        self.assertEqual(204, client.delete(
            '/v2/accelerator_requests?arqs=' + created['uuid']).status)

    def test_with_headers_the_caller_is_who_he_says(self):
        self.assertEqual(403, self.member.post('/v2/device_profiles', [
            {'name': 'p', 'groups': [{}]}]).status)


class TestCors(unit_base.TestCase):

    def test_origins_of_the_configuration(self):
        self.useFixture(rpc.RPCFixture())
        client = self.useFixture(api.ApiFixture()).client
        origin = {'Origin': 'https://ui.example.org',
                  'Access-Control-Request-Method': 'GET'}
        self.assertNotIn('access-control-allow-origin', client.request(
            'OPTIONS', '/v2', headers=origin).headers)
        self.conf.set(group='cors',
                      allowed_origin=['https://ui.example.org'])
        client = self.useFixture(api.ApiFixture()).client
        self.assertEqual('https://ui.example.org', client.request(
            'OPTIONS', '/v2', headers=origin).headers[
                'access-control-allow-origin'])


class TestLinks(unit_base.TestCase):
    """Links lead back to where the client came from."""

    def setUp(self):
        super().setUp()
        self.useFixture(rpc.RPCFixture())
        self.application = self.useFixture(api.ApiFixture()).application

    def link(self, path='/', script_name='', **headers) -> str:
        request = webob.Request.blank(path, base_url=api.BASE_URL, headers={
            key.replace('_', '-'): value for key, value in headers.items()})
        request.environ['SCRIPT_NAME'] = script_name
        answer = request.get_response(self.application).json
        links = (answer['versions'][0] if 'versions' in answer
                 else answer)['links']
        return links[0]['href']

    def test_at_the_root(self):
        self.assertEqual('http://127.0.0.1:6666/accelerator/v2', self.link())
        self.assertEqual('http://127.0.0.1:6666/accelerator/v2/',
                         self.link('/v2'))

    def test_below_a_path(self):
        for path in ('/', '/v2', '/v2/'):
            self.assertIn(
                self.link(path, script_name='/accelerator'),
                ('http://127.0.0.1:6666/accelerator/v2',
                 'http://127.0.0.1:6666/accelerator/v2/'))

    def test_links_lead_somewhere(self):
        """Mounted at the root, as gunicorn mounts it by itself."""
        self.assertEqual('http://127.0.0.1:6666/accelerator/v2/',
                         self.link('/accelerator/v2'))
        for path in ('/accelerator', '/accelerator/'):
            self.assertEqual('http://127.0.0.1:6666/accelerator/v2',
                             self.link(path))
        for path, status in (('/acceleratorx', 404),
                             ('/accelerator/v2/nothing', 404),
                             ('/accelerator/accelerator/v2', 404)):
            self.assertEqual(status, webob.Request.blank(path).get_response(
                self.application).status_int, path)

    def test_below_another_path(self):
        self.assertEqual('http://127.0.0.1:6666/cloud/acc/v2',
                         self.link(script_name='/cloud/acc'))

    def test_by_the_host_header(self):
        self.assertEqual('http://c.example.org:8443/accelerator/v2',
                         self.link(Host='c.example.org:8443'))

    def test_public_endpoint(self):
        for value in ('https://x.example.org/',
                      'https://x.example.org/accelerator',
                      'https://x.example.org/accelerator/'):
            self.conf.set(group='api', public_endpoint=value)
            for script_name in ('', '/accelerator'):
                self.assertEqual('https://x.example.org/accelerator/v2',
                                 self.link(script_name=script_name))

    def test_a_proxy_counts_only_when_it_is_trusted(self):
        headers = {'X_Forwarded_Proto': 'https',
                   'X_Forwarded_Host': 'x.example.org'}
        self.assertEqual('http://127.0.0.1:6666/accelerator/v2',
                         self.link(**headers))
        self.conf.set(group='oslo_middleware',
                      enable_proxy_headers_parsing=True)
        self.assertEqual('https://x.example.org/accelerator/v2',
                         self.link(**headers))

# SPDX-License-Identifier: Apache-2.0
"""What stands around the application."""

import io
import json
from unittest import mock

import webob

from cyborg.api import bodies
from cyborg.api.middleware import auth_token
from cyborg.api.middleware import errors
from cyborg.api.middleware import noauth
from cyborg.api.middleware import readable
from cyborg.common import config
from cyborg.common import exception
from cyborg.tests import base


def echo(environ, start_response):
    """Answers with the identity it sees."""
    seen = {key: value for key, value in environ.items()
            if key.startswith(('HTTP_X_', 'HTTP_OPENSTACK_S'))}
    start_response('200 OK', [('Content-Type', 'application/json')])
    return [json.dumps(seen).encode()]


def ask(app, path='/', method='GET', **headers):
    request = webob.Request.blank(
        path, method=method, headers={
            key.replace('_', '-'): value for key, value in headers.items()})
    return request.get_response(app)


class TestErrorBody(base.TestCase):

    def app(self, status, body, content_type='text/plain', headers=()):
        def answering(environ, start_response):
            start_response(status, [('Content-Type', content_type),
                                    ('Content-Length', str(len(body))),
                                    *headers])
            return [body]
        return errors.ErrorBody(answering)

    def test_an_error_is_put_into_error_message(self):
        answer = ask(self.app('404 Not Found', 'ünknown'.encode(),
                              headers=[('Allow', 'GET'), ('Vary', 'X')]))
        self.assertEqual(404, answer.status_int)
        self.assertEqual({'error_message': 'ünknown'}, answer.json)
        self.assertEqual('application/json', answer.headers['Content-Type'])
        self.assertEqual('GET', answer.headers['Allow'])
        self.assertEqual('X', answer.headers['Vary'])
        self.assertEqual(str(len(answer.body)),
                         answer.headers['Content-Length'])

    def test_a_json_error_stays_text(self):
        answer = ask(self.app('423 Locked', b'null', 'application/json'))
        self.assertEqual({'error_message': 'null'}, answer.json)

    def test_bytes_that_are_no_text(self):
        answer = ask(self.app('500 X', b'\xff'))
        self.assertEqual({'error_message': '\ufffd'}, answer.json)

    def test_head_has_no_body(self):
        answer = ask(self.app('405 X', b''), method='HEAD')
        self.assertEqual(b'', answer.body)
        self.assertEqual('application/json', answer.headers['Content-Type'])

    def test_a_good_answer_is_left_alone(self):
        answer = ask(self.app('202 Accepted', b'x'))
        self.assertEqual((b'x', 'text/plain'),
                         (answer.body, answer.headers['Content-Type']))

    def test_what_escapes_becomes_an_answer(self):
        def failing(environ, start_response):
            raise KeyError('secret')

        answer = ask(errors.ErrorBody(failing))
        self.assertEqual(500, answer.status_int)
        fault = json.loads(answer.json['error_message'])
        self.assertEqual('Server', fault['faultcode'])
        self.assertNotIn('secret', answer.text)
        self.assertLogged('ERROR', 'KeyError')


class TestReadable(base.TestCase):

    def status(self, path='/', body=b'', content_type='application/json',
               method='POST'):
        request = webob.Request.blank(path, method=method)
        request.body = body
        request.content_type = content_type
        refusal = readable.refusal(request)
        return refusal and refusal.status_int

    def test_readable(self):
        for body in (b'', b'{}', b'[1]', b'{', b'x'):
            self.assertIsNone(self.status('/v2?x=%C3%A9', body))
        self.assertIsNone(self.status(
            body=b'\xff', content_type='application/octet-stream'))

    def test_not_utf_8(self):
        self.assertEqual(400, self.status('/%ff'))
        self.assertEqual(400, self.status('/?x=%ff'))
        self.assertEqual(400, self.status('/?%ff=1'))

    def test_arguments_by_the_thousand(self):
        self.assertIsNone(self.status('/?' + '&'.join(['a=1'] * 100)))
        self.assertEqual(400, self.status('/?' + '&'.join(['a=1'] * 101)))
        self.assertEqual(400, self.status(
            body=b'&'.join([b'a=1'] * 101),
            content_type='application/x-www-form-urlencoded'))

    def test_a_charset_that_nobody_knows(self):
        for charset in ('foo', 'hex', 'rot13'):
            for kind in ('application/json', 'text/plain',
                         'application/x-www-form-urlencoded'):
                self.assertEqual(415, self.status(
                    body=b'[]', content_type='%s; charset=%s'
                    % (kind, charset)), charset)

    def test_the_charset_of_no_body_does_not_matter(self):
        self.assertIsNone(self.status(
            content_type='application/json; charset=foo', method='GET'))

    def test_a_form_in_another_encoding(self):
        self.assertEqual(415, self.status(
            body=b'a=%E9', content_type='application/x-www-form-urlencoded; '
            'charset=latin-1'))

    def chunked(self, stream):
        """A request whose end only its body tells."""
        request = webob.Request.blank('/', method='POST', environ={
            'wsgi.input': stream, 'wsgi.input_terminated': True})
        request.content_type = 'application/json'
        request.content_length = None
        return request

    def test_a_body_without_a_length(self):
        request = self.chunked(io.BytesIO(b'{"a": 1}'))
        self.assertIsNone(readable.refusal(request))
        self.assertEqual({'a': 1}, request.json)

    def test_a_body_that_cannot_be_read(self):
        class InvalidChunkSize(Exception):
            """As gunicorn has it."""

        for error in (OSError('cut off'), ValueError('bad chunk'),
                      InvalidChunkSize(b'zz')):
            stream = mock.Mock()
            stream.read.side_effect = error
            self.assertEqual(400, readable.refusal(
                self.chunked(stream)).status_int)

    def test_a_body_shorter_than_announced(self):
        request = self.chunked(io.BytesIO(b'[]'))
        request.content_length = 5
        self.assertEqual(400, readable.refusal(request).status_int)

    def test_a_body_of_any_size(self):
        long = b'"%s"' % (b'x' * bodies.MAX_BODY)
        self.assertEqual(413, self.status(body=long))
        self.assertEqual(413, readable.refusal(
            self.chunked(io.BytesIO(long))).status_int)
        self.assertIsNone(self.status(body=long[:-3] + b'"'))

    def test_a_broken_multipart_body(self):
        self.assertEqual(415, self.status(
            body=b'x', content_type='multipart/form-data'))

    def test_the_argument_that_pecan_takes_for_the_method(self):
        self.assertEqual(405, self.status('/?_method=delete'))


class TestNoAuth(base.TestCase):

    def setUp(self):
        super().setUp()
        self.app = noauth.AdminWithoutHeaders.factory({})(echo)

    def test_nobody_is_the_administrator(self):
        seen = ask(self.app).json
        self.assertIn('admin', seen['HTTP_X_ROLES'].split(','))
        self.assertEqual('service', seen['HTTP_X_SERVICE_ROLES'])
        self.assertEqual(noauth.PROJECT_ID, seen['HTTP_X_PROJECT_ID'])

    def test_somebody_is_who_he_says(self):
        for name, value in (('X_User_Id', 'u'), ('X_Project_Id', 'p'),
                            ('X_Roles', 'reader'),
                            ('Openstack_System_Scope', 'all')):
            seen = ask(self.app, **{name: value}).json
            self.assertEqual({'HTTP_' + name.upper(): value}, seen)

    def test_an_empty_header_is_nobody(self):
        self.assertIn('HTTP_X_SERVICE_ROLES', ask(self.app, X_Roles='').json)


class TestAuthToken(base.TestCase):

    def setUp(self):
        super().setUp()
        config.set_api_defaults()
        self.conf.set(group='keystone_authtoken',
                      www_authenticate_uri='http://keystone.example.org')
        self.app = auth_token.AuthTokenMiddleware.factory(
            {}, acl_public_routes='/, /v2')(echo)

    def status(self, path):
        request = webob.Request.blank('/')
        request.environ['PATH_INFO'] = path
        return request.get_response(self.app).status_int

    def test_public_routes(self):
        for path in ('/', '', '/v2', '/v2/', '/v2.json', '//', '/v2//'):
            self.assertEqual(200, self.status(path), path)

    def test_all_others_need_a_token(self):
        for path in ('/v2/devices', '/v1', '/v2.0', '/v2x', '/devices',
                     '/v2/..', '/v2.json/devices', '/v2\n', '//v2',
                     '/x/v2', '/v2.JSON'):
            self.assertEqual(401, self.status(path), path)

    def test_without_a_token_nobody_is_anybody(self):
        seen = ask(self.app, '/v2', X_Roles='admin', X_Project_Id='p',
                   X_User_Id='u', X_Service_Roles='service',
                   X_Auth_Token='t', Openstack_System_Scope='all',
                   X_Domain_Id='d', X_Identity_Status='Confirmed',
                   X_Is_Admin_Project='True', X_Tenant='t', X_Role='admin',
                   X_Service_Catalog='[]', X_Forwarded_Host='h').json
        self.assertEqual({'HTTP_X_FORWARDED_HOST': 'h'}, seen)

    def test_a_route_that_is_no_expression(self):
        error = self.assertRaises(
            exception.ConfigInvalid, auth_token.AuthTokenMiddleware.factory(
                {}, acl_public_routes='/v2('), echo)
        self.assertIn('acl_public_routes', str(error))

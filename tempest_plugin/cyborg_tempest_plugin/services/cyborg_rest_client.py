# SPDX-License-Identifier: Apache-2.0
"""The accelerator API, as Tempest calls it."""

import json
from urllib import parse

from tempest import config
from tempest.lib import auth
from tempest.lib.common import rest_client

CONF = config.CONF
SERVICE_TYPE = 'accelerator'


class CyborgRestClient(rest_client.RestClient):
    """A client whose microversion is stated, or left out, explicitly.

    :ivar microversion: sent with each request, such as ``2.4``; None sends
        none, which the service takes for 2.0
    """

    DP_URL = '/device_profiles'
    AR_URL = '/accelerator_requests'
    ATTR_URL = '/attributes'
    api_microversion_header_name = 'OpenStack-API-Version'

    def __init__(self, auth_provider, service=SERVICE_TYPE, region=None,
                 microversion=None, **kwargs):
        super().__init__(auth_provider, service,
                         region or CONF.identity.region, **kwargs)
        self.microversion = microversion

    def _call(self, method, url, code, body=None, microversion=None):
        """One request.

        :param microversion: instead of the client's own
        :returns: the decoded answer with the response; empty without a body
        """
        headers = self.get_headers()
        version = microversion or self.microversion
        if version is not None:
            headers[self.api_microversion_header_name] = '%s %s' % (
                SERVICE_TYPE, version)
        keywords = {} if body is None else {'body': json.dumps(body)}
        response, answer = getattr(self, method)(url, headers=headers,
                                                 **keywords)
        self.expected_success(code, response.status)
        return rest_client.ResponseBody(response,
                                        json.loads(answer) if answer else {})

    @staticmethod
    def _with(url, query):
        return url + '?' + parse.urlencode(query) if query else url

    # Device profiles

    def create_device_profile(self, body):
        return self._call('post', self.DP_URL, 201, body)

    def list_device_profile(self):
        return self._call('get', self.DP_URL, 200)

    def get_device_profile(self, device_profile_uuid):
        """:param device_profile_uuid: or a name, from 2.2 on"""
        return self._call('get', '%s/%s' % (self.DP_URL, device_profile_uuid),
                          200)

    def delete_device_profile(self, name):
        return self._call('delete', '%s/%s' % (self.DP_URL, name), 204)

    # One path serves both.
    delete_device_profile_by_uuid = delete_device_profile

    def delete_multiple_device_profile_by_names(self, *device_profile_names):
        return self._call('delete', '%s?value=%s' % (
            self.DP_URL, ','.join(device_profile_names)), 204)

    # Accelerator requests

    def create_accelerator_request(self, body):
        return self._call('post', self.AR_URL, 201, body)

    def list_accelerator_request(self, params=None, microversion=None):
        """:param params: ``instance`` and ``bind_state``"""
        return self._call('get', self._with(self.AR_URL, params), 200,
                          microversion=microversion)

    def get_accelerator_request(self, accelerator_request_uuid,
                                microversion=None):
        return self._call('get', '%s/%s' % (self.AR_URL,
                                            accelerator_request_uuid),
                          200, microversion=microversion)

    def bind_accelerator_request(self, arq_uuid, hostname, device_rp_uuid,
                                 instance_uuid):
        """Ask that a device of the provider is bound to the instance."""
        wanted = {'hostname': hostname, 'device_rp_uuid': device_rp_uuid,
                  'instance_uuid': instance_uuid}
        return self.patch_accelerator_request({arq_uuid: [
            {'op': 'add', 'path': '/' + name, 'value': value}
            for name, value in wanted.items()]})

    def patch_accelerator_request(self, body):
        """:param body: JSON patches by UUID"""
        return self._call('patch', self.AR_URL, 202, body)

    def delete_accelerator_request(self, accelerator_request_uuid):
        return self._call('delete', '%s?arqs=%s' % (
            self.AR_URL, accelerator_request_uuid), 204)

    def delete_accelerator_request_by_instance_uuid(self, instance_uuid):
        """Takes a client with a service token."""
        return self._call('delete', '%s?instance=%s' % (
            self.AR_URL, instance_uuid), 204)

    # Inventory

    def list_devices(self, params=None):
        return self._call('get', self._with('/devices', params), 200)

    def get_device(self, device_uuid):
        return self._call('get', '/devices/%s' % device_uuid, 200)

    def list_deployables(self):
        return self._call('get', '/deployables', 200)

    def get_deployable(self, deployable_uuid):
        return self._call('get', '/deployables/%s' % deployable_uuid, 200)

    get_deployables = get_deployable

    def list_attributes(self):
        return self._call('get', self.ATTR_URL, 200)

    def get_attributes(self, attr_id):
        return self._call('get', '%s/%s' % (self.ATTR_URL, attr_id), 200)


def get_auth_provider(credentials, scope='project'):
    """What clients outside of a test's own credentials authenticate with."""
    version = ('V3' if isinstance(credentials, auth.KeystoneV3Credentials)
               else 'V2')
    made = getattr(auth, 'Keystone%sAuthProvider' % version)(
        credentials,
        CONF.identity.uri_v3 if version == 'V3' else CONF.identity.uri,
        scope=scope, ca_certs=CONF.identity.ca_certificates_file,
        disable_ssl_certificate_validation=(
            CONF.identity.disable_ssl_certificate_validation),
        trace_requests=CONF.debug.trace_requests)
    made.set_auth()
    return made

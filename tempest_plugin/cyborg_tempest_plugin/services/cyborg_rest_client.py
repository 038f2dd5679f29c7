# SPDX-License-Identifier: Apache-2.0
"""The accelerator API, as Tempest calls it."""

import json
from urllib import parse

from tempest.lib.common import rest_client

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

    def __init__(self, auth_provider, region, microversion=None, **kwargs):
        super().__init__(auth_provider, SERVICE_TYPE, region, **kwargs)
        self.microversion = microversion

    def get_headers(self, *args, **kwargs):
        headers = super().get_headers(*args, **kwargs)
        if self.microversion is not None:
            headers[self.api_microversion_header_name] = '%s %s' % (
                SERVICE_TYPE, self.microversion)
        return headers

    def _call(self, method, url, code, body=None):
        """:returns: the decoded answer, or None without a body"""
        text = None if body is None else json.dumps(body)
        response, answer = getattr(self, method)(
            url, **({} if text is None else {'body': text}))
        self.expected_success(code, response.status)
        return json.loads(answer) if answer else None

    # Device profiles

    def create_device_profile(self, body):
        return self._call('post', self.DP_URL, 201, body)

    def list_device_profile(self):
        return self._call('get', self.DP_URL, 200)

    def get_device_profile(self, name_or_uuid):
        """:param name_or_uuid: a name takes 2.2 or newer"""
        return self._call('get', '%s/%s' % (self.DP_URL, name_or_uuid), 200)

    def delete_device_profile_by_uuid(self, uuid):
        return self._call('delete', '%s/%s' % (self.DP_URL, uuid), 204)

    # Accelerator requests

    def create_accelerator_request(self, body):
        return self._call('post', self.AR_URL, 201, body)

    def list_accelerator_request(self, **filters):
        """:param filters: ``instance`` and ``bind_state``"""
        query = '?' + parse.urlencode(filters) if filters else ''
        return self._call('get', self.AR_URL + query, 200)

    def get_accelerator_request(self, uuid):
        return self._call('get', '%s/%s' % (self.AR_URL, uuid), 200)

    def bind_accelerator_request(self, body):
        """:param body: JSON patches by UUID"""
        return self._call('patch', self.AR_URL, 202, body)

    def delete_accelerator_request(self, uuid):
        return self._call('delete', '%s?arqs=%s' % (self.AR_URL, uuid), 204)

    def delete_accelerator_request_by_instance_uuid(self, uuid):
        return self._call('delete', '%s?instance=%s' % (self.AR_URL, uuid),
                          204)

    # Inventory

    def list_devices(self, **filters):
        query = '?' + parse.urlencode(filters) if filters else ''
        return self._call('get', '/devices' + query, 200)

    def get_device(self, uuid):
        return self._call('get', '/devices/%s' % uuid, 200)

    def list_deployables(self):
        return self._call('get', '/deployables', 200)

    def get_deployable(self, uuid):
        return self._call('get', '/deployables/%s' % uuid, 200)

    def list_attributes(self):
        return self._call('get', self.ATTR_URL, 200)

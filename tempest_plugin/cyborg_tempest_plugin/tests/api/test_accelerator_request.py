# SPDX-License-Identifier: Apache-2.0
"""Accelerator requests, with and without a microversion."""

from tempest.lib import decorators

from cyborg_tempest_plugin.common import schemas
from cyborg_tempest_plugin.tests.api import base


class TestAcceleratorRequestController(base.BaseAPITest):

    def setUp(self):
        super().setUp()
        self.profile = self.create_profile()

    def uuids(self):
        return [arq['uuid'] for arq in
                self.cyborg_reader_client.list_accelerator_request()['arqs']]

    @decorators.idempotent_id('b7d01588-7561-4774-bae3-2427d6d3a002')
    def test_create_accelerator_request(self):
        arq = self.create_request(self.profile['name'])
        self.assertEqual('Initial', arq['state'])
        self.assertEqual(self.profile['name'], arq['device_profile_name'])

    @decorators.idempotent_id('be5dd697-fe6c-44f5-b6f2-bc92cebb7532')
    def test_list_get_delete_accelerator_request(self):
        uuid = self.create_request(self.profile['name'])['uuid']
        self.assertIn(uuid, self.uuids())
        shown = self.cyborg_reader_client.get_accelerator_request(uuid)
        self.assertEqual((uuid, self.profile['name']),
                         (shown['uuid'], shown['device_profile_name']))
        self.cyborg_member_client.delete_accelerator_request(uuid)
        self.assertNotIn(uuid, self.uuids())

    @decorators.idempotent_id('3b1f0a52-6f43-4a0e-8a55-0d5d5f1f6f03')
    def test_unbound_request_has_no_settings(self):
        """A request without an attach handle gains nothing with 2.4."""
        client = self.at(self.need_settings())
        uuid = self.create_request(self.profile['name'])['uuid']
        shown = client.get_accelerator_request(uuid)
        self.assertEqual({}, shown['attach_handle_info'])
        self.assertEqual(
            self.cyborg_admin_client.get_accelerator_request(uuid), shown)

    @decorators.idempotent_id('3b1f0a52-6f43-4a0e-8a55-0d5d5f1f6f04')
    def test_fields_of_each_microversion(self):
        """No field is missing, and none is there too early."""
        uuid = self.create_request(self.profile['name'])['uuid']
        for version, client in self.each_version():
            listed = client.list_accelerator_request()['arqs']
            shown = client.get_accelerator_request(uuid)
            for arq in [shown] + [arq for arq in listed
                                  if arq['uuid'] == uuid]:
                self.assertDocument(schemas.accelerator_request(version),
                                    dict(arq))

    @decorators.idempotent_id('3b1f0a52-6f43-4a0e-8a55-0d5d5f1f6f05')
    def test_fields_of_bound_requests(self):
        """The same for whatever is bound in this cloud."""
        for version, client in self.each_version():
            for arq in client.list_accelerator_request()['arqs']:
                if arq['state'] == 'Bound':
                    self.assertDocument(schemas.accelerator_request(
                        version, arq['attach_handle_type']), arq)

# SPDX-License-Identifier: Apache-2.0
"""Accelerator requests, with and without a microversion."""

from tempest.lib import decorators
from tempest.lib.common.utils import data_utils

from cyborg_tempest_plugin.tests.api import base


class TestAcceleratorRequestController(base.BaseAPITest):

    def setUp(self):
        super().setUp()
        self.profile = self.create_profile(data_utils.rand_name('profile'))

    @decorators.idempotent_id('3b1f0a52-6f43-4a0e-8a55-0d5d5f1f6f01')
    def test_create_accelerator_request(self):
        arq = self.create_request(self.profile['name'])
        self.assertEqual('Initial', arq['state'])
        self.assertEqual(self.profile['name'], arq['device_profile_name'])

    @decorators.idempotent_id('3b1f0a52-6f43-4a0e-8a55-0d5d5f1f6f02')
    def test_list_get_delete_accelerator_request(self):
        uuid = self.create_request(self.profile['name'])['uuid']
        listed = self.client.list_accelerator_request()['arqs']
        self.assertIn(uuid, [arq['uuid'] for arq in listed])
        self.assertEqual(
            uuid, self.client.get_accelerator_request(uuid)['uuid'])
        self.client.delete_accelerator_request(uuid)
        listed = self.client.list_accelerator_request()['arqs']
        self.assertNotIn(uuid, [arq['uuid'] for arq in listed])

    @decorators.idempotent_id('3b1f0a52-6f43-4a0e-8a55-0d5d5f1f6f03')
    def test_unbound_request_has_no_settings(self):
        """A request without an attach handle gains nothing with 2.4."""
        client = self.at(self.need_settings())
        uuid = self.create_request(self.profile['name'])['uuid']
        self.assertEqual(
            {}, client.get_accelerator_request(uuid)['attach_handle_info'])
        self.assertEqual(self.client.get_accelerator_request(uuid),
                         client.get_accelerator_request(uuid))

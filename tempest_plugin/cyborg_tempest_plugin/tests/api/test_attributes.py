# SPDX-License-Identifier: Apache-2.0
"""Attributes of deployables."""

from tempest.lib import decorators

from cyborg_tempest_plugin.common import schemas
from cyborg_tempest_plugin.tests.api import base


class TestAttributes(base.BaseAPITest):

    @decorators.idempotent_id('1bf7d6a8-24bd-4906-b3a3-1a212b7b6d5c')
    def test_list_attributes(self):
        self.assertIsInstance(
            self.cyborg_manager_client.list_attributes()['attributes'], list)

    @decorators.idempotent_id('79a762ef-b448-4b62-a44e-b633ada87de9')
    def test_get_attribute(self):
        client = self.cyborg_manager_client
        listed = self.first(client.list_attributes(), 'attributes')
        self.assertEqual(listed, client.get_attributes(listed['uuid']))

    @decorators.idempotent_id('3b1f0a52-6f43-4a0e-8a55-0d5d5f1f6f21')
    def test_fields_of_each_microversion(self):
        for version, client in self.each_version():
            self.assertDocument(
                schemas.listing('attributes', schemas.attribute(version)),
                dict(client.list_attributes()))

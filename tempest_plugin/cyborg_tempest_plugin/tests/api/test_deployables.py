# SPDX-License-Identifier: Apache-2.0
"""Deployables."""

from tempest.lib import decorators

from cyborg_tempest_plugin.common import schemas
from cyborg_tempest_plugin.tests.api import base


class TestDeployables(base.BaseAPITest):

    @decorators.idempotent_id('6bc3d256-2c1e-4a72-a87d-66d7ab5688b5')
    def test_list_deployables(self):
        client = self.cyborg_manager_client
        listed = self.first(client.list_deployables(), 'deployables')
        self.assertEqual(listed['uuid'],
                         client.get_deployable(listed['uuid'])['uuid'])

    @decorators.idempotent_id('3b1f0a52-6f43-4a0e-8a55-0d5d5f1f6f31')
    def test_fields_of_each_microversion(self):
        for version, client in self.each_version():
            listed = client.list_deployables()
            self.assertDocument(
                schemas.listing('deployables', schemas.deployable(version)),
                dict(listed))
            for deployable in listed['deployables'][:1]:
                self.assertDocument(
                    schemas.deployable(version),
                    dict(client.get_deployable(deployable['uuid'])))

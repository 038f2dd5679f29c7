# SPDX-License-Identifier: Apache-2.0
"""What is bound goes with a service token alone (bug 2144056)."""

from tempest.common import utils
from tempest.common import waiters
from tempest.lib import decorators
from tempest.lib import exceptions

from cyborg_tempest_plugin.services import cyborg_rest_client
from cyborg_tempest_plugin.tests.scenario import manager


class TestARQServiceTokenOps(manager.ScenarioTest):

    credentials = ['primary', 'admin', ['service_user', 'service']]

    @decorators.idempotent_id('a4c1e7b2-3d5f-4a8e-9b0c-1d2e3f4a5b6c')
    @decorators.attr(type='smoke')
    @utils.services('compute', 'network')
    def test_delete_bound_arq_by_instance_uuid(self):
        server, _ = self.boot_with(self.create_device_profile())
        uuid = server['id']
        self.assertNotEqual([], self.requests_of(uuid))
        error = self.assertRaises(
            exceptions.Forbidden,
            self.accelerators.delete_accelerator_request_by_instance_uuid,
            uuid)
        self.assertIn('service token', str(error))
        self.assertNotEqual([], self.requests_of(uuid))
        # A running guest would lose its device.
        self.servers_client.stop_server(uuid)
        waiters.wait_for_server_status(self.servers_client, uuid, 'SHUTOFF')
        with_token = cyborg_rest_client.CyborgRestClient(
            self.os_admin.auth_provider, service_token=(
                self.os_service_user.auth_provider.get_token()))
        with_token.delete_accelerator_request_by_instance_uuid(uuid)
        self.assertEqual([], self.requests_of(uuid))

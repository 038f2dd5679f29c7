# SPDX-License-Identifier: Apache-2.0
"""The shortest life of a server with an accelerator."""

from tempest.common import utils
from tempest.common import waiters
from tempest.lib import decorators

from cyborg_tempest_plugin.tests.scenario import manager


class TestServerBasicOps(manager.ScenarioTest):

    @decorators.idempotent_id('7fff3fb3-91d8-4fd0-bd7d-0204f1f180ba')
    @decorators.attr(type='smoke')
    @utils.services('compute', 'network')
    def test_server_basic_ops(self):
        server, _ = self.boot_with(self.create_device_profile())
        self.assertEqual(['Bound'], [
            arq['state'] for arq in self.requests_of(server['id'])])
        self.servers_client.delete_server(server['id'])
        waiters.wait_for_server_termination(self.servers_client, server['id'])
        self.wait_for_no_requests(server['id'])

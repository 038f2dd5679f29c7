# SPDX-License-Identifier: Apache-2.0
"""Mistakes of clients with deployables."""

from tempest.lib import decorators
from tempest.lib import exceptions
from tempest.lib.common.utils import data_utils

from cyborg_tempest_plugin.tests.api import base


class DeployableNegativeTest(base.BaseAPITest):

    @decorators.attr(type=['negative', 'gate'])
    @decorators.idempotent_id('6c79a89c-bbdd-401a-b470-817c1aa8b9cf')
    def test_get_non_existent_deployable(self):
        self.assertRaises(exceptions.NotFound,
                          self.cyborg_manager_client.get_deployable,
                          data_utils.rand_uuid())

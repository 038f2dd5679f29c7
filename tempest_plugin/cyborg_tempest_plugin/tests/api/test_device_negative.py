# SPDX-License-Identifier: Apache-2.0
"""Mistakes of clients with devices."""

from tempest.lib import decorators
from tempest.lib import exceptions
from tempest.lib.common.utils import data_utils

from cyborg_tempest_plugin.tests.api import base


class DeviceNegativeTest(base.BaseAPITest):

    @decorators.attr(type=['negative', 'gate'])
    @decorators.idempotent_id('d904a4c8-5fe0-4884-814f-2f8a0aecdf01')
    def test_get_non_existent_device(self):
        self.assertRaises(exceptions.NotFound,
                          self.cyborg_manager_client.get_device,
                          data_utils.rand_uuid())

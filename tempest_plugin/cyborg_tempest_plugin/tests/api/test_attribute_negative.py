# SPDX-License-Identifier: Apache-2.0
"""Mistakes of clients with attributes."""

from tempest.lib import decorators
from tempest.lib import exceptions
from tempest.lib.common.utils import data_utils

from cyborg_tempest_plugin.tests.api import base


class AttributeNegativeTest(base.BaseAPITest):

    @decorators.attr(type=['negative', 'gate'])
    @decorators.idempotent_id('6e96d2b4-b948-46b3-9562-817fcbddfa7f')
    def test_get_non_existent_attribute(self):
        self.assertRaises(exceptions.NotFound,
                          self.cyborg_manager_client.get_attributes,
                          data_utils.rand_uuid())

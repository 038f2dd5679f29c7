# SPDX-License-Identifier: Apache-2.0
"""Devices and the filters of their list."""

from tempest.lib import decorators
from tempest.lib.common.utils import data_utils

from cyborg_tempest_plugin.common import schemas
from cyborg_tempest_plugin.tests.api import base


class TestDevice(base.BaseAPITest):

    def devices(self, **params):
        return self.cyborg_manager_client.list_devices(
            params=params or None)['devices']

    def filtered_by(self, *names):
        """The list with the values of one device: that, and none other."""
        device = self.first(self.cyborg_manager_client.list_devices(),
                            'devices')
        wanted = {name: device[name] for name in names}
        found = self.devices(**wanted)
        self.assertIn(device['uuid'], [other['uuid'] for other in found])
        for other in found:
            self.assertEqual(wanted, {name: other[name] for name in names})

    def nothing_with(self, name):
        self.assertEqual([], self.devices(**{
            name: data_utils.rand_name('none')}))

    @decorators.idempotent_id('6f4bf672-1b8e-4e3e-8562-de64093bad52')
    def test_list_get_device(self):
        client = self.cyborg_manager_client
        listed = self.first(client.list_devices(), 'devices')
        self.assertEqual(listed, client.get_device(listed['uuid']))

    @decorators.idempotent_id('61096874-0b10-4b12-954f-f03eb0e59f5d')
    def test_list_devices_filter_by_type(self):
        self.filtered_by('type')

    @decorators.idempotent_id('f55cc5a7-bfc0-49a2-bcc9-d4b512efd2c6')
    def test_list_devices_filter_by_non_exist_type(self):
        self.nothing_with('type')

    @decorators.idempotent_id('f501b343-a7e4-41a7-8e02-ab6725714bbf')
    def test_list_devices_filter_by_vendor(self):
        self.filtered_by('vendor')

    @decorators.idempotent_id('8dba0f88-2db6-4001-9e99-fe668512eb09')
    def test_list_devices_filter_by_non_exist_vendor(self):
        self.nothing_with('vendor')

    @decorators.idempotent_id('ae34fb47-6079-4cc4-817d-5954a149d0d8')
    def test_list_devices_filter_by_hostname(self):
        self.filtered_by('hostname')

    @decorators.idempotent_id('98e54bb5-001d-428c-81e2-8443220bd720')
    def test_list_devices_filter_by_non_exist_hostname(self):
        self.nothing_with('hostname')

    @decorators.idempotent_id('0ee1ff4c-b667-4706-8372-5db3d205af8d')
    def test_list_devices_filter_by_combine_args(self):
        self.filtered_by('type', 'vendor', 'hostname')

    @decorators.idempotent_id('3b1f0a52-6f43-4a0e-8a55-0d5d5f1f6f41')
    def test_fields_of_each_microversion(self):
        for version, client in self.each_version():
            listed = client.list_devices()
            self.assertDocument(
                schemas.listing('devices', schemas.device(version)),
                dict(listed))
            for device in listed['devices'][:1]:
                self.assertDocument(schemas.device(version),
                                    dict(client.get_device(device['uuid'])))

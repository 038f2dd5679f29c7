# SPDX-License-Identifier: Apache-2.0
"""Device profiles."""

from tempest import config
from tempest.lib import decorators
from tempest.lib.common.utils import data_utils

from cyborg_tempest_plugin.common import schemas
from cyborg_tempest_plugin.services import cyborg_data
from cyborg_tempest_plugin.tests.api import base

CONF = config.CONF


class TestDeviceProfileController(base.BaseAPITest):

    def listed(self, key):
        return [profile[key] for profile in
                self.cyborg_reader_client.list_device_profile()[
                    'device_profiles']]

    @decorators.idempotent_id('59bee5a9-1af3-42bd-8a51-d7b5ecb2049f')
    def test_create_device_profile(self):
        name = data_utils.rand_name('created')
        self.assertEqual(name, self.create_profile(name)['name'])
        self.assertIn(name, self.listed('name'))

    @decorators.idempotent_id('7e6276bc-49da-4915-a4ce-7ada60828096')
    def test_delete_multiple_device_profile(self):
        names = {self.create_profile()['name'] for _ in range(2)}
        self.assertEqual(names, names & set(self.listed('name')))
        self.cyborg_admin_client.delete_multiple_device_profile_by_names(
            *names)
        self.assertEqual(set(), names & set(self.listed('name')))

    @decorators.idempotent_id('10cc0ffe-a7a8-4c16-884f-fb3a10640fc1')
    def test_get_and_delete_device_profile(self):
        wanted = cyborg_data.make_device_profile_data(
            data_utils.rand_name('shown'), description='for a test')[0]
        made = self.create_profile(wanted['name'], description='for a test')
        self.assertEqual(wanted, {key: made[key] for key in wanted})
        self.assertIn(made['uuid'], self.listed('uuid'))
        shown = self.cyborg_reader_client.get_device_profile(made['uuid'])[
            'device_profile']
        self.assertEqual({**wanted, 'uuid': made['uuid']},
                         {key: shown[key] for key in (*wanted, 'uuid')})
        self.cyborg_admin_client.delete_device_profile_by_uuid(made['uuid'])
        self.assertNotIn(made['uuid'], self.listed('uuid'))

    @decorators.idempotent_id('292998b7-418b-491b-8876-0fb71a447b49')
    def test_delete_device_profile_by_name(self):
        name = self.create_profile()['name']
        self.cyborg_admin_client.delete_device_profile(name)
        self.assertNotIn(name, self.listed('name'))

    @decorators.idempotent_id('3b1f0a52-6f43-4a0e-8a55-0d5d5f1f6f51')
    def test_get_by_name(self):
        """From 2.2 a name will do."""
        if '2.2' not in schemas.versions_up_to(CONF.cyborg.max_microversion):
            self.skipTest('names can be asked for since 2.2')
        made = self.create_profile()
        shown = self.at('2.2').get_device_profile(made['name'])
        self.assertEqual(made['uuid'], shown['device_profile']['uuid'])

    @decorators.idempotent_id('3b1f0a52-6f43-4a0e-8a55-0d5d5f1f6f52')
    def test_fields_of_each_microversion(self):
        made = self.create_profile()
        self.assertDocument(schemas.device_profile('2.0'), dict(made))
        for version, client in self.each_version():
            self.assertDocument(schemas.listing(
                'device_profiles', schemas.device_profile(version)),
                dict(client.list_device_profile()))
            self.assertDocument(
                schemas.shown_device_profile(version),
                dict(client.get_device_profile(made['uuid'])))

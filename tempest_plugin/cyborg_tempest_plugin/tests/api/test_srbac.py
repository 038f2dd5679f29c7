# SPDX-License-Identifier: Apache-2.0
"""Who may do what with the new defaults of the policies.

Left out unless ``[cyborg_policy] enforce_new_defaults`` says that the service
under test enforces them.
"""

from tempest import config
from tempest.lib import decorators
from tempest.lib import exceptions

from cyborg_tempest_plugin.services import cyborg_data
from cyborg_tempest_plugin.tests.api import base

CONF = config.CONF


class NewDefaultsTest(base.BaseAPITest):
    """Common to the tests here, has none itself."""

    @classmethod
    def skip_checks(cls):
        super().skip_checks()
        if not CONF.cyborg_policy.enforce_new_defaults:
            raise cls.skipException(
                '[cyborg_policy] enforce_new_defaults is not set')

    def of(self, role):
        return getattr(self, 'os_project_' + role).cyborg_client

    def forbidden(self, role, *calls):
        """:param calls: names of methods, or tuples with arguments"""
        for call in calls:
            name, *arguments = [call] if isinstance(call, str) else call
            self.assertRaises(exceptions.Forbidden,
                              getattr(self.of(role), name), *arguments)


class TestSRBACServiceRole(NewDefaultsTest):

    @decorators.idempotent_id('4af35df0-461a-4dab-b2e5-dcec85ce6dcc')
    def test_service_create_and_delete_arq(self):
        """Other services ask for accelerators, and give them back."""
        client = self.cyborg_service_client
        arq = self.create_request(self.create_profile()['name'], client)
        client.delete_accelerator_request(arq['uuid'])
        self.assertRaises(exceptions.NotFound,
                          self.cyborg_admin_client.get_accelerator_request,
                          arq['uuid'])


class TestSRBACAdminImpliedRoles(NewDefaultsTest):

    @decorators.idempotent_id('7049b127-4d7b-41b0-8730-f4f40f0f1467')
    def test_admin_can_read_arqs(self):
        self.assertIn('arqs',
                      self.cyborg_admin_client.list_accelerator_request())

    @decorators.idempotent_id('b0cf2b5c-bb9f-421a-847d-9ba6dd5deb92')
    def test_admin_can_write_arqs(self):
        """In Keystone an administrator is a member too."""
        client = self.cyborg_admin_client
        arq = self.create_request(self.create_profile()['name'], client)
        client.delete_accelerator_request(arq['uuid'])

    @decorators.idempotent_id('3ab9e8c0-3493-4f34-af77-dcce42298bb0')
    def test_admin_can_read_devices(self):
        self.assertIn('devices', self.cyborg_admin_client.list_devices())

    @decorators.idempotent_id('d8cf8f77-f637-4755-913f-99971eceaa89')
    def test_admin_can_read_deployables(self):
        self.assertIn('deployables',
                      self.cyborg_admin_client.list_deployables())

    @decorators.idempotent_id('a1b2c3d4-e5f6-7890-abcd-ef1234567890')
    def test_admin_can_list_attributes(self):
        self.assertIn('attributes', self.cyborg_admin_client.list_attributes())

    @decorators.idempotent_id('b2c3d4e5-f6a7-8901-bcde-f12345678901')
    def test_reader_can_list_device_profiles(self):
        self.assertIn('device_profiles',
                      self.of('reader').list_device_profile())

    @decorators.idempotent_id('c3d4e5f6-a7b8-9012-cdef-123456789012')
    def test_reader_can_list_arqs(self):
        self.assertIn('arqs', self.of('reader').list_accelerator_request())


class TestSRBACRefused(NewDefaultsTest):
    """What a role is not enough for."""

    @decorators.attr(type=['negative', 'gate'])
    @decorators.idempotent_id('3b1f0a52-6f43-4a0e-8a55-0d5d5f1f6f71')
    def test_reader_cannot_write(self):
        self.forbidden(
            'reader',
            ('create_accelerator_request',
             {'device_profile_name': self.create_profile()['name']}),
            ('create_device_profile',
             cyborg_data.make_device_profile_data('reader')))

    @decorators.attr(type=['negative', 'gate'])
    @decorators.idempotent_id('3b1f0a52-6f43-4a0e-8a55-0d5d5f1f6f72')
    def test_member_cannot_read_inventory(self):
        """Hosts and hardware are no matter of tenants."""
        self.forbidden('member', 'list_devices', 'list_deployables',
                       'list_attributes')

    @decorators.attr(type=['negative', 'gate'])
    @decorators.idempotent_id('3b1f0a52-6f43-4a0e-8a55-0d5d5f1f6f73')
    def test_manager_cannot_change_profiles(self):
        profile = self.create_profile()
        self.forbidden(
            'manager', ('delete_device_profile', profile['uuid']),
            ('create_device_profile',
             cyborg_data.make_device_profile_data('manager')))


class TestSRBACScopeEnforcement(NewDefaultsTest):

    credentials = [*base.BaseAPITest.credentials, 'system_admin']

    @decorators.attr(type=['negative', 'gate'])
    @decorators.idempotent_id('66f071ce-dd76-4594-be98-a5a48d58d578')
    def test_system_admin_cannot_list_devices(self):
        """The API is one of projects; a token for the system is refused."""
        self.assertRaises(exceptions.Forbidden,
                          self.client_of(self.os_system_admin).list_devices)

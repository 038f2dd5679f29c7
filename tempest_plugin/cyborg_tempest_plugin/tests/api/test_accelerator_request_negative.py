# SPDX-License-Identifier: Apache-2.0
"""Mistakes of clients with accelerator requests."""

from tempest import config
from tempest.lib import decorators
from tempest.lib import exceptions
from tempest.lib.common.utils import data_utils

from cyborg_tempest_plugin.tests.api import base

CONF = config.CONF


class AcceleratorRequestNegativeTest(base.BaseAPITest):

    def no_such_profile(self, name):
        self.assertRaises(
            exceptions.NotFound,
            self.cyborg_member_client.create_accelerator_request,
            {'device_profile_name': name})

    @decorators.attr(type=['negative', 'gate'])
    @decorators.idempotent_id('a1e6dd06-c64f-49cd-ae4d-defde0b5e662')
    def test_get_non_existent_accelerator_request(self):
        """A UUID that no request has."""
        self.assertRaises(exceptions.NotFound,
                          self.cyborg_reader_client.get_accelerator_request,
                          data_utils.rand_uuid())

    @decorators.attr(type=['negative', 'gate'])
    @decorators.idempotent_id('d6b6a60f-8ab3-4036-b5c0-12402469b473')
    def test_delete_non_existent_accelerator_request(self):
        """The same for what is to go."""
        self.assertRaises(exceptions.NotFound,
                          self.cyborg_member_client.delete_accelerator_request,
                          data_utils.rand_uuid())

    @decorators.attr(type=['negative', 'gate'])
    @decorators.idempotent_id('343fb1b1-d546-46b4-b9b8-29d453e9c6cc')
    def test_create_accelerator_request_device_profile_name_is_null(self):
        """A name without a letter names no profile."""
        self.no_such_profile('')

    @decorators.attr(type=['negative', 'gate'])
    @decorators.idempotent_id('d8dc08a5-8777-4911-a9ed-2be8fc8af60e')
    def test_create_accelerator_request_device_profile_name_non_exist(self):
        """Neither does one that was never given."""
        self.no_such_profile(data_utils.rand_name('missing'))

    @decorators.attr(type=['negative', 'gate'])
    @decorators.idempotent_id('f48ea929-8bff-4109-bbb0-3df5c8c3cf83')
    def test_create_accelerator_request_with_special_characters(self):
        """Nor one that would mean something elsewhere."""
        self.no_such_profile('()[]!?&%$ \u00e4*')

    @decorators.attr(type=['negative', 'gate'])
    @decorators.idempotent_id('3b1f0a52-6f43-4a0e-8a55-0d5d5f1f6f11')
    def test_unknown_microversion(self):
        """A microversion that the service does not have."""
        self.assertRaises(exceptions.NotAcceptable,
                          self.at('2.99').list_accelerator_request)

    @decorators.attr(type=['negative', 'gate'])
    @decorators.idempotent_id('3b1f0a52-6f43-4a0e-8a55-0d5d5f1f6f12')
    def test_bind_without_service_token(self):
        """Nobody but Nova binds: neither members nor administrators."""
        self.need_settings()
        arq = self.create_request(self.create_profile()['name'])
        for client in (self.cyborg_member_client, self.cyborg_admin_client):
            self.assertRaises(
                exceptions.Forbidden, client.bind_accelerator_request,
                arq['uuid'], 'host', data_utils.rand_uuid(),
                data_utils.rand_uuid())

    @decorators.attr(type=['negative', 'gate'])
    @decorators.idempotent_id('3b1f0a52-6f43-4a0e-8a55-0d5d5f1f6f13')
    def test_settings_are_not_for_clients(self):
        """managed, stateful and numa_node cannot be set from outside."""
        self.need_settings()
        arq = self.create_request(self.create_profile()['name'])
        for name, value in (('managed', False), ('stateful', True),
                            ('numa_node', 0), ('attach_handle_info', {})):
            refused = self.refused(
                self.cyborg_admin_client.patch_accelerator_request,
                {arq['uuid']: [{'op': 'add', 'path': '/' + name,
                                'value': value}]})
            self.assertTrue(issubclass(refused,
                                       exceptions.ClientRestClientException),
                            '%s: %s' % (name, refused.__name__))

    @decorators.attr(type=['negative', 'gate'])
    @decorators.idempotent_id('3b1f0a52-6f43-4a0e-8a55-0d5d5f1f6f14')
    def test_delete_of_an_instance_without_service_token(self):
        self.assertRaises(
            exceptions.Forbidden,
            self.cyborg_admin_client
            .delete_accelerator_request_by_instance_uuid,
            data_utils.rand_uuid())

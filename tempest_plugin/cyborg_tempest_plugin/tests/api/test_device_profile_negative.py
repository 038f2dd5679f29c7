# SPDX-License-Identifier: Apache-2.0
"""Mistakes of clients with device profiles."""

from tempest import config
from tempest.lib import decorators
from tempest.lib import exceptions
from tempest.lib.common.utils import data_utils

from cyborg_tempest_plugin.common import expectations
from cyborg_tempest_plugin.services import cyborg_data
from cyborg_tempest_plugin.tests.api import base

CONF = config.CONF


class DeviceProfileNegativeTest(base.BaseAPITest):
    """Some mistakes were answered with 500 before 2027.1."""

    def mistake(self, body, answer):
        """:param answer: from 2027.1 on"""
        if expectations.version_to_ask_for(
                CONF.cyborg.max_microversion) is None:
            answer = exceptions.ServerFault
        self.assertRaises(
            answer, self.cyborg_admin_client.create_device_profile, body)

    @decorators.attr(type=['negative', 'gate'])
    @decorators.idempotent_id('2b4bcea3-af0f-4168-9d79-135aab333c7e')
    def test_get_non_existent_device_profile(self):
        """A UUID that no profile has."""
        self.assertRaises(exceptions.NotFound,
                          self.cyborg_reader_client.get_device_profile,
                          data_utils.rand_uuid())

    @decorators.attr(type=['negative', 'gate'])
    @decorators.idempotent_id('6a636136-793b-4d73-a240-c5662ef48b3b')
    def test_delete_non_existent_device_profile(self):
        """The same for what is to go."""
        self.assertRaises(
            exceptions.NotFound,
            self.cyborg_admin_client.delete_device_profile_by_uuid,
            data_utils.rand_uuid())

    @decorators.attr(type=['negative', 'gate'])
    @decorators.idempotent_id('48871ad4-579a-40cc-9e24-c5009e68feb7')
    def test_delete_multiple_non_existent_device_profile(self):
        """Names that no profile has."""
        self.assertRaises(
            exceptions.NotFound,
            self.cyborg_admin_client.delete_multiple_device_profile_by_names,
            data_utils.rand_name('one'), data_utils.rand_name('two'))

    @decorators.attr(type=['negative', 'gate'])
    @decorators.idempotent_id('d7a051e6-3883-444b-8c4b-d7ab2b04f831')
    def test_delete_device_profile_name_null(self):
        """A path that ends where the name should begin."""
        self.assertRaises(exceptions.BadRequest,
                          self.cyborg_admin_client.delete_device_profile, '')

    @decorators.attr(type=['negative', 'gate'])
    @decorators.idempotent_id('f83aa1a7-4b53-433b-9a60-67ae6ad3b97a')
    def test_create_device_profile_server_fault(self):
        """A UUID that another profile has."""
        body = cyborg_data.make_device_profile_data(
            data_utils.rand_name('twin'))
        body[0]['uuid'] = self.create_profile()['uuid']
        self.mistake(body, exceptions.Conflict)

    @decorators.attr(type=['negative', 'gate'])
    @decorators.idempotent_id('952b1c17-7c57-45ae-8085-e7a9edca54e4')
    def test_create_device_profile_conflict(self):
        """A name that another profile has."""
        body = cyborg_data.make_device_profile_data(
            self.create_profile()['name'])
        self.assertRaises(exceptions.Conflict,
                          self.cyborg_admin_client.create_device_profile,
                          body)

    @decorators.attr(type=['negative', 'gate'])
    @decorators.idempotent_id('3e337791-69a9-41f2-895c-742cccb0c629')
    def test_create_device_profile_name_is_null(self):
        """A name without a letter."""
        self.mistake(cyborg_data.make_device_profile_data(''),
                     exceptions.BadRequest)

    @decorators.attr(type=['negative', 'gate'])
    @decorators.idempotent_id('3c3bb71a-94c3-4233-ad33-5905d52dc288')
    def test_create_device_profile_name_to_long(self):
        """256 characters, one more than there is room for."""
        self.mistake(cyborg_data.make_device_profile_data('n' * 256),
                     exceptions.BadRequest)

    @decorators.attr(type=['negative', 'gate'])
    @decorators.idempotent_id('3b1f0a52-6f43-4a0e-8a55-0d5d5f1f6f61')
    def test_get_by_name_before_2_2(self):
        """A name is one mistake more below 2.2."""
        name = self.create_profile()['name']
        self.assertRaises(exceptions.NotAcceptable,
                          self.at('2.1').get_device_profile, name)

    @decorators.attr(type='negative')
    @decorators.idempotent_id('3b1f0a52-6f43-4a0e-8a55-0d5d5f1f6f62')
    def test_create_from_no_profile(self):
        """A body of another shape than one profile in a list."""
        (profile,) = cyborg_data.make_device_profile_data(
            data_utils.rand_name('shape'))
        for body in ({}, [], profile, [profile, profile]):
            refused = self.refused(
                self.cyborg_admin_client.create_device_profile, body)
            self.assertIs(exceptions.BadRequest, refused, body)

    @decorators.attr(type='negative')
    @decorators.idempotent_id('3b1f0a52-6f43-4a0e-8a55-0d5d5f1f6f63')
    def test_create_with_groups_that_ask_for_nothing(self):
        """Groups with keys that mean neither resource nor trait."""
        name = data_utils.rand_name('groups')
        for groups in ([{'resource:FPGA': '1'}], [{'resources:FPGA': 'one'}],
                       [{'trait:CUSTOM_FAKE_DEVICE': 'maybe'}]):
            body = cyborg_data.make_device_profile_data(name, groups=groups)
            refused = self.refused(
                self.cyborg_admin_client.create_device_profile, body)
            self.assertIs(exceptions.BadRequest, refused, groups)

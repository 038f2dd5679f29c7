# SPDX-License-Identifier: Apache-2.0
"""Servers with accelerators."""

from tempest import config
from tempest.lib.common.utils import data_utils
from tempest.lib.common.utils import test_utils
from tempest.scenario import manager

from cyborg_tempest_plugin.common import expectations
from cyborg_tempest_plugin.services import cyborg_data
from cyborg_tempest_plugin.services import cyborg_rest_client

CONF = config.CONF


class ScenarioTest(manager.ScenarioTest):
    """Flavors with a device profile, and a client that asks for 2.4.

    Each test names the services that it needs with ``utils.services`` and is
    left out where one is missing.

    :cvar microversion: the one ``accelerators`` states, None for none
    """

    credentials = ['primary', 'admin']

    @classmethod
    def skip_checks(cls):
        super().skip_checks()
        for name in ('cyborg', 'nova', 'glance'):
            if not getattr(CONF.service_available, name):
                raise cls.skipException('%s is not there' % name)

    @classmethod
    def setup_clients(cls):
        super().setup_clients()
        cls.make_client(cls.os_admin.auth_provider)
        cls.os_admin.cyborg_client = cls.accelerators
        cls.admin_flavors_client = cls.os_admin.flavors_client

    @classmethod
    def make_client(cls, auth_provider):
        cls.microversion = expectations.version_to_ask_for(
            CONF.cyborg.max_microversion)
        cls.accelerators = cyborg_rest_client.CyborgRestClient(
            auth_provider, microversion=cls.microversion)

    def create_device_profile(self, groups=cyborg_data.FAKE_GROUPS):
        """A device profile, deleted after the test; its name."""
        profile = self.accelerators.create_device_profile(
            cyborg_data.make_device_profile_data(
                data_utils.rand_name('scenario'), groups=groups))
        self.addCleanup(test_utils.call_and_ignore_notfound_exc,
                        self.accelerators.delete_device_profile,
                        profile['uuid'])
        return profile['name']

    def create_accel_flavor(self, dp_name, client=None, flavor_ref=None):
        """A flavor for the profile, deleted after the test; its UUID."""
        client = client or self.admin_flavors_client
        model = client.show_flavor(
            flavor_ref or CONF.cyborg.flavor_ref
            or CONF.compute.flavor_ref)['flavor']
        flavor = client.create_flavor(
            name=data_utils.rand_name('accelerated'),
            **{key: model[key] for key in ('ram', 'vcpus', 'disk')})['flavor']
        self.addCleanup(test_utils.call_and_ignore_notfound_exc,
                        client.delete_flavor, flavor['id'])
        client.set_flavor_extra_spec(
            flavor['id'], **{'accel:device_profile': dp_name})
        return flavor['id']

    def boot_with(self, profile_name):
        """An active server with a device of the profile."""
        keypair = self.create_keypair()
        group = self.create_security_group()
        return self.create_server(
            flavor=self.create_accel_flavor(profile_name),
            image_id=CONF.cyborg.image_ref or CONF.compute.image_ref,
            key_name=keypair['name'],
            security_groups=[{'name': group['name']}]), keypair

    def requests_of(self, server_id):
        return self.accelerators.list_accelerator_request(
            {'instance': server_id})['arqs']

    def wait_for_no_requests(self, server_id):
        """:raises AssertionError: some are left when time is up"""
        if not test_utils.call_until_true(
                lambda: not self.requests_of(server_id),
                CONF.compute.build_timeout, CONF.compute.build_interval):
            self.fail('accelerator requests of the server %s are left: %s'
                      % (server_id, self.requests_of(server_id)))

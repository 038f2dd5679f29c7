# SPDX-License-Identifier: Apache-2.0
"""Servers with accelerators."""

from tempest import config
from tempest.lib.common.utils import data_utils
from tempest.scenario import manager

from cyborg_tempest_plugin.common import expectations
from cyborg_tempest_plugin.services import cyborg_rest_client

CONF = config.CONF


class ScenarioTest(manager.ScenarioTest):
    """A flavor with a device profile, and a client that asks for 2.4.

    :cvar microversion: the one ``accelerators`` states, None for none
    """

    credentials = ['primary', 'admin']

    @classmethod
    def skip_checks(cls):
        super().skip_checks()
        if not CONF.service_available.cyborg:
            raise cls.skipException('the accelerator service is not there')

    @classmethod
    def setup_clients(cls):
        super().setup_clients()
        cls.make_client(cls.os_admin.auth_provider)
        cls.admin_flavors_client = cls.os_admin.flavors_client

    @classmethod
    def make_client(cls, auth_provider):
        cls.microversion = expectations.version_to_ask_for(
            CONF.cyborg.max_microversion)
        cls.accelerators = cyborg_rest_client.CyborgRestClient(
            auth_provider, CONF.identity.region,
            microversion=cls.microversion)

    def create_accel_flavor(self, profile_name):
        """A flavor for the profile, deleted after the test; its UUID."""
        model = self.admin_flavors_client.show_flavor(
            CONF.cyborg.flavor_ref or CONF.compute.flavor_ref)['flavor']
        flavor = self.admin_flavors_client.create_flavor(
            name=data_utils.rand_name('accelerated'), ram=model['ram'],
            vcpus=model['vcpus'], disk=model['disk'])['flavor']
        self.addCleanup(self.admin_flavors_client.delete_flavor,
                        flavor['id'])
        self.admin_flavors_client.set_flavor_extra_spec(
            flavor['id'], **{'accel:device_profile': profile_name})
        return flavor['id']

# SPDX-License-Identifier: Apache-2.0
"""Tests of the API alone."""

from tempest import config
from tempest import test
from tempest.lib import exceptions

from cyborg_tempest_plugin.common import expectations
from cyborg_tempest_plugin.services import cyborg_rest_client

CONF = config.CONF


class BaseAPITest(test.BaseTestCase):
    """Clients of an administrator.

    ``client`` states no microversion; :meth:`at` makes one that does.
    """

    credentials = ['admin']

    @classmethod
    def skip_checks(cls):
        super().skip_checks()
        if not CONF.service_available.cyborg:
            raise cls.skipException('the accelerator service is not there')

    @classmethod
    def setup_clients(cls):
        super().setup_clients()
        cls.client = cls.at(None)

    @classmethod
    def at(cls, microversion):
        return cyborg_rest_client.CyborgRestClient(
            cls.os_admin.auth_provider, CONF.identity.region,
            microversion=microversion)

    def need_settings(self):
        """The microversion with the settings, or the test is left out."""
        version = expectations.version_to_ask_for(CONF.cyborg.max_microversion)
        if version is None:
            self.skipTest('the service ends with microversion %s'
                          % CONF.cyborg.max_microversion)
        return version

    def create_profile(self, name, groups=None):
        """A device profile that is deleted after the test."""
        profile = self.client.create_device_profile([{
            'name': name, 'groups': groups or [{'resources:CUSTOM_PCI': '1'}],
        }])
        self.addCleanup(self._forget, self.client.
                        delete_device_profile_by_uuid, profile['uuid'])
        return profile

    def create_request(self, profile_name):
        """An accelerator request that is deleted after the test."""
        (arq,) = self.client.create_accelerator_request(
            {'device_profile_name': profile_name})['arqs']
        self.addCleanup(self._forget, self.client.delete_accelerator_request,
                        arq['uuid'])
        return arq

    @staticmethod
    def _forget(delete, uuid):
        try:
            delete(uuid)
        except exceptions.NotFound:
            pass

# SPDX-License-Identifier: Apache-2.0
"""Tests of the API alone."""

import jsonschema
from tempest import config
from tempest import test
from tempest.lib import exceptions
from tempest.lib.common.utils import data_utils
from tempest.lib.common.utils import test_utils

from cyborg_tempest_plugin.common import expectations
from cyborg_tempest_plugin.common import schemas
from cyborg_tempest_plugin.services import cyborg_data
from cyborg_tempest_plugin.services import cyborg_rest_client

CONF = config.CONF


class BaseAPITest(test.BaseTestCase):
    """A client for each kind of caller, without a microversion.

    ``cyborg_admin_client`` and ``cyborg_service_client`` are what their names
    say. ``cyborg_manager_client``, ``cyborg_member_client`` and
    ``cyborg_reader_client`` have no more than that role where the service
    enforces the new defaults of its policies, and are the administrator's
    where it does not, as the old defaults want.

    The clients of the persons themselves are ``cyborg_client`` of
    ``os_project_admin``, ``os_project_manager``, ``os_project_member`` and
    ``os_project_reader``, whatever is enforced.
    """

    PERSONS = ('project_admin', 'project_manager', 'project_member',
               'project_reader')
    credentials = ['primary', 'admin', *PERSONS, ['service_user', 'service']]

    @classmethod
    def skip_checks(cls):
        super().skip_checks()
        if not CONF.service_available.cyborg:
            raise cls.skipException('the accelerator service is not there')

    @classmethod
    def setup_clients(cls):
        super().setup_clients()
        cls.cyborg_admin_client = cls.client_of(cls.os_admin)
        cls.os_admin.cyborg_client = cls.cyborg_admin_client
        cls.cyborg_service_client = cls.client_of(cls.os_service_user)
        for person in cls.PERSONS:
            manager = getattr(cls, 'os_' + person)
            manager.cyborg_client = cls.client_of(manager)
        for role in ('manager', 'member', 'reader'):
            client = cls.cyborg_admin_client
            if CONF.cyborg_policy.enforce_new_defaults:
                client = getattr(cls, 'os_project_' + role).cyborg_client
            setattr(cls, 'cyborg_%s_client' % role, client)

    @classmethod
    def client_of(cls, manager, microversion=None):
        return cyborg_rest_client.CyborgRestClient(
            manager.auth_provider, microversion=microversion)

    @classmethod
    def at(cls, microversion):
        """The administrator's client that asks for a microversion."""
        return cls.client_of(cls.os_admin, microversion)

    def need_settings(self):
        """The microversion with the settings, or the test is left out."""
        version = expectations.version_to_ask_for(CONF.cyborg.max_microversion)
        if version is None:
            self.skipTest('the service ends with microversion %s'
                          % CONF.cyborg.max_microversion)
        return version

    def assertDocument(self, schema, document):
        try:
            jsonschema.Draft202012Validator(schema).validate(document)
        except jsonschema.ValidationError as error:
            self.fail('%s: %s' % (error.json_path, error.message))

    def each_version(self):
        """(microversion, client) for all that the service has."""
        for version in schemas.versions_up_to(CONF.cyborg.max_microversion):
            yield version, self.at(version)

    def refused(self, call, *arguments):
        """Which error a request of a client's mistake is answered with.

        :returns: the class of the exception
        """
        return type(self.assertRaises(exceptions.RestClientException,
                                      call, *arguments))

    def create_profile(self, name=None, **data):
        """A device profile that is deleted after the test."""
        body = cyborg_data.make_device_profile_data(
            name or data_utils.rand_name('profile'), **data)
        profile = self.cyborg_admin_client.create_device_profile(body)
        self.addCleanup(test_utils.call_and_ignore_notfound_exc,
                        self.cyborg_admin_client.delete_device_profile,
                        profile['uuid'])
        return profile

    def create_request(self, profile_name, client=None):
        """An accelerator request that is deleted after the test."""
        client = client or self.cyborg_member_client
        (arq,) = client.create_accelerator_request(
            {'device_profile_name': profile_name})['arqs']
        self.addCleanup(test_utils.call_and_ignore_notfound_exc,
                        client.delete_accelerator_request, arq['uuid'])
        return arq

    def first(self, listed, name):
        """One entry of a list, or the test is left out."""
        if not listed[name]:
            self.skipTest('the service has no %s' % name)
        return listed[name][0]

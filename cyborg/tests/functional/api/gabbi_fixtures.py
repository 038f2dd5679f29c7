# SPDX-License-Identifier: Apache-2.0
"""Starting states of the gabbi files, by the name they give."""

import json
import os

import fixtures
from gabbi import fixture as gabbi_fixture
import sqlalchemy as sa

from cyborg.api import microversions
from cyborg.common import context
from cyborg.db import api as db_api
from cyborg.db.sqlalchemy import models
from cyborg.tests import contract
from cyborg.tests.fixtures import api
from cyborg.tests.fixtures import conf
from cyborg.tests.fixtures import logging as log_fixture

INSTANCE = '10000000-0000-4000-8000-000000000001'


class _Service(fixtures.Fixture):

    def _setUp(self):
        self.useFixture(log_fixture.LogFixture())
        self.useFixture(conf.ConfFixture())
        self.api = self.useFixture(api.ServiceFixture())


class ServiceFixture(gabbi_fixture.GabbiFixture):
    """A service without any devices.

    ``$ENVIRON`` has PROJECT_A, PROJECT_B, INSTANCE and NEWEST, the newest
    microversion.
    """

    # gabbi wants the application before it starts the fixtures.
    _application = None

    def start_fixture(self):
        self._service = _Service()
        self._service.setUp()
        self.api = self._service.api
        ServiceFixture._application = self.api.application
        self._names = {'PROJECT_A': api.MEMBER_A['X-Project-Id'],
                       'PROJECT_B': api.MEMBER_B['X-Project-Id'],
                       'INSTANCE': INSTANCE,
                       'NEWEST': str(microversions.MAXIMUM), **self.prepare()}
        os.environ.update(self._names)

    def prepare(self) -> dict[str, str]:
        """Fill the service; returns further names for ``$ENVIRON``."""
        return {}

    def stop_fixture(self):
        for name in self._names:
            os.environ.pop(name, None)
        ServiceFixture._application = None
        self._service.cleanUp()

    @classmethod
    def application(cls):
        """The application of the file that runs at the time of a request."""
        return lambda environ, start_response: cls._application(
            environ, start_response)


class InventoryFixture(ServiceFixture):
    """Two GPUs of host compute-1, as its agent reports them.

    CARD, PART and PROVIDER are the UUIDs of the first one's device,
    deployable and resource provider. The second is to be attached unmanaged,
    keeps data and sits at NUMA node 1; UNMANAGED is its provider.
    """

    def prepare(self):
        devices = json.loads((contract.RECORDS / '_setup.json').read_text())[
            'driver_device_list']
        self.api.report(context.get_admin_context(), [
            device for device in devices
            if device['cyborg_object.data']['vendor'] == '10de'])
        client = self.api.client.as_(api.ADMIN)
        card = client.get('/v2/devices').body['devices'][0]
        first, second = client.get('/v2/deployables').body['deployables']
        self._change_handle(second, managed=False, stateful=True,
                            numa_node=1)
        return {'CARD': card['uuid'], 'PART': first['uuid'],
                'PROVIDER': first['rp_uuid'], 'UNMANAGED': second['rp_uuid']}

    @staticmethod
    def _change_handle(part: dict, **settings):
        asker = context.get_admin_context()
        with db_api.writer(asker) as session:
            handle = session.scalars(
                sa.select(models.AttachHandle)
                .join(models.Deployable, models.Deployable.id
                      == models.AttachHandle.deployable_id)
                .where(models.Deployable.uuid == part['uuid'])).one()
            handle.attach_info = json.dumps(
                {**json.loads(handle.attach_info), **settings},
                sort_keys=True)

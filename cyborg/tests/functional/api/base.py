# SPDX-License-Identifier: Apache-2.0
"""What the tests of the whole service behind the API share."""

import uuid

import sqlalchemy as sa

from cyborg.db.sqlalchemy import models
from cyborg.tests import base
from cyborg.tests.fixtures import api
from cyborg.tests.fixtures import rows

INSTANCE = '10000000-0000-4000-8000-000000000001'
UNKNOWN = '00000000-0000-4000-8000-00000000dead'
PROJECT_A = api.MEMBER_A['X-Project-Id']
HOST = api.ServiceFixture.HOST


class ApiTestCase(base.TestCase):
    """Has the service in ``self.service`` and clients for some callers."""

    database = 'sqlite'
    filters = ''

    def setUp(self):
        super().setUp()
        self.configure()
        self.service = self.useFixture(api.ServiceFixture(
            self.database, self.filters))
        client = self.service.client
        self.anonymous = client.as_(version='latest')
        self.admin = client.as_(api.ADMIN, version='latest')
        self.member = client.as_(api.MEMBER_A, version='latest')
        self.stranger = client.as_(api.MEMBER_B, version='latest')
        self.nova = client.as_(api.NOVA_A, version='latest')

    # Setting up

    def configure(self) -> None:
        """Set options that the service reads when it starts."""

    def device(self, bus: int = 0x3b, handles: int = 1, **values):
        """A device with a resource provider, in the database alone."""
        return rows.device(HOST, bus, handles, rp_uuid=str(uuid.uuid4()),
                           **values)

    def profile(self, name: str = 'dp', **group) -> None:
        answer = self.admin.post('/v2/device_profiles', [{
            'name': name, 'groups': [group or {'resources:CUSTOM_PCI': 1}]}])
        self.assertEqual(201, answer.status, answer)

    def arqs(self, profile: str = 'dp', client=None) -> list[str]:
        """Create accelerator requests; their UUIDs."""
        answer = (client or self.member).post(
            '/v2/accelerator_requests', {'device_profile_name': profile})
        self.assertEqual(201, answer.status, answer)
        return [arq['uuid'] for arq in answer.body['arqs']]

    @staticmethod
    def binding(device, host: str = HOST, instance: str = INSTANCE,
                **more) -> list[dict]:
        """Operations that bind to a device."""
        values = {'hostname': host, 'instance_uuid': instance,
                  'device_rp_uuid': getattr(device, 'deployable', None)
                  and device.deployable.rp_uuid or device, **more}
        return [{'path': '/' + name, 'op': 'add', 'value': value}
                for name, value in values.items()]

    @staticmethod
    def unbinding() -> list[dict]:
        return [{'path': '/' + name, 'op': 'remove'} for name in
                ('hostname', 'device_rp_uuid', 'instance_uuid')]

    def bind(self, arq: str, device, **values) -> None:
        answer = self.patch({arq: self.binding(device, **values)})
        self.assertEqual(202, answer.status, answer)

    def patch(self, body: dict, client=None):
        return (client or self.nova).patch('/v2/accelerator_requests', body)

    # Looking

    def arq(self, uuid_: str, client=None) -> dict:
        answer = (client or self.admin).get(
            '/v2/accelerator_requests/' + uuid_)
        self.assertEqual(200, answer.status, answer)
        return answer.body

    def states(self, *uuids: str) -> list[str]:
        return [self.arq(uuid_)['state'] for uuid_ in uuids]

    def content(self) -> dict[str, list]:
        """Every row of every table."""
        with self.service.db.engine.connect() as connection:
            return {table.name: [tuple(row) for row in connection.execute(
                        sa.select(table).order_by(*table.primary_key))]
                    for table in models.Base.metadata.sorted_tables}

    def tracebacks(self) -> list[str]:
        return [record.getMessage() for record in self.logs.records
                if record.exc_info and record.exc_info[0] is not None]

    def assertFault(self, status: int, answer, text: str = '') -> None:
        """The answer is a controller's error with that text in it."""
        self.assertEqual(status, answer.status, answer)
        self.assertIsNotNone(answer.fault, answer)
        self.assertEqual('Client' if status < 500 else 'Server',
                         answer.fault['faultcode'])
        self.assertIn(text, answer.fault['faultstring'])
        self.assertNotIn('Traceback', answer.text)

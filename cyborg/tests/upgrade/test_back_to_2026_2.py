# SPDX-License-Identifier: Apache-2.0
"""The way back that install/upgrade.rst describes.

What 2027.1 added to attach information is no text that 2026.2 knows: it
compares the texts, and would replace the handles of devices in use.
"""

import json
import uuid

import sqlalchemy as sa
import testtools

from cyborg.tests.fixtures import database
from cyborg.tests.fixtures import pages
from cyborg.tests.fixtures import processes
from cyborg.tests.peers import deployment
from cyborg.tests.peers import hardware

OURS = """
[agent]
enabled_drivers = pci_driver
[pci]
sysfs_path = %s/sys
device_spec = {"vendor_id": "10de", "managed": false}
"""
RELEASED = """
[agent]
enabled_drivers = pci_driver
[pci]
passthrough_whitelist = {"vendor_id": "10de"}
[cyborg_sys_admin]
helper_command = %s/privsep-helper
"""


class BackTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.released = deployment.released()
        self.db = self.useFixture(database.DATABASES['mariadb']())
        self.cloud = self.useFixture(deployment.Deployment(
            self.db.url, lspci=hardware.lspci()))
        hardware.sysfs(self.cloud.folder / 'sys', numa_node=0)

    def rows(self, query: str) -> list[tuple]:
        with self.db.engine.connect() as connection:
            return sorted(map(tuple, connection.execute(sa.text(query))))

    def wait(self, query: str, expected: list) -> None:
        processes.wait_until(lambda: self.rows(query) == expected, query, 60)

    def run_ours(self) -> str:
        """Report and bind with 2027.1; the UUID of the request."""
        self.cloud.configure(OURS % self.cloud.folder)
        services = [
            self.cloud.service(deployment.OURS, 'cyborg-conductor'),
            self.cloud.service(deployment.OURS, 'cyborg-agent')]
        self.wait('SELECT count(*) FROM deployables '
                  'WHERE rp_uuid IS NOT NULL', [(2,)])
        api = self.cloud.api(deployment.OURS)
        api.call('POST', '/v2/device_profiles', [
            {'name': 'p', 'groups': [{'resources:CUSTOM_PCI': '1'}]}])
        arq, = api.request_arqs('p')
        provider = self.cloud.providers()[
            'compute-1_0000:3b:00.0']['uuid']
        answer = api.bind(arq, 'compute-1', provider, str(uuid.uuid4()))
        self.assertEqual(202, answer.status_code, answer.text)
        for service in (*services, api.process):
            service.stop()
        return arq

    def run_released(self) -> None:
        """Let 2026.2 report; its driver calls everything a GPU."""
        self.cloud.configure(RELEASED % self.released)
        services = [self.cloud.service(self.released, name, number=2)
                    for name in ('cyborg-conductor', 'cyborg-agent')]
        self.wait('SELECT DISTINCT type FROM devices', [('GPU',)])
        for service in services:
            service.stop()

    def handles(self) -> list[tuple]:
        return self.rows('SELECT id, uuid, attach_info, in_use '
                         'FROM attach_handles')

    def test_with_the_statement_of_the_guide(self):
        arq = self.run_ours()
        before = self.handles()
        self.assertEqual([{'managed': False, 'numa_node': 0}] * 2, [
            {key: json.loads(row[2]).get(key)
             for key in ('managed', 'numa_node')} for row in before])
        block, = [block for block in pages.blocks(
            'install/upgrade.rst', language='sql')
            if 'JSON_REMOVE' in block.text]
        with self.db.engine.begin() as connection:
            connection.exec_driver_sql(block.text)
        stripped = self.handles()
        self.run_released()
        self.assertEqual(stripped, self.handles())
        self.assertEqual([(row[0], row[1], row[3]) for row in before],
                         [(row[0], row[1], row[3]) for row in stripped])
        self.assertEqual([(arq, 'Bound')], self.rows(
            'SELECT uuid, state FROM extended_accelerator_requests'))

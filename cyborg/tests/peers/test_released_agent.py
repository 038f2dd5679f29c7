# SPDX-License-Identifier: Apache-2.0
"""The released 2026.2 agent and ours report one host to our conductor.

BASE-1, REC-9: over RabbitMQ, each into a database of its own; what is stored
and what stands in Placement is the same.
"""

import sqlalchemy as sa
import testtools

from cyborg.tests.fixtures import database
from cyborg.tests.fixtures import processes
from cyborg.tests.peers import deployment
from cyborg.tests.peers import hardware

DRIVERS = """
[agent]
enabled_drivers = fake_driver,pci_driver
[cyborg_sys_admin]
helper_command = %s/privsep-helper
[pci]
sysfs_path = %s/sys
%s
"""
QUERIES = {
    'devices': 'SELECT vendor, model, std_board_info, vendor_board_info,'
               ' hostname, status FROM devices',
    'control paths': 'SELECT cpid_type, cpid_info FROM controlpath_ids',
    'deployables': 'SELECT name, num_accelerators, rp_uuid, driver_name'
                   ' FROM deployables',
    'attributes': 'SELECT d.name, a.key, a.value FROM attributes a'
                  ' JOIN deployables d ON d.id = a.deployable_id',
    'handles': 'SELECT d.name, h.attach_type, h.attach_info, h.in_use'
               ' FROM attach_handles h'
               ' JOIN deployables d ON d.id = h.deployable_id',
}


class ReleasedAgent(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.released = deployment.released()

    def inventory(self, bin_folder):
        """What a conductor of ours stores of the report of an agent."""
        db = self.useFixture(database.SqliteDatabase())
        cloud = self.useFixture(deployment.Deployment(
            db.url, lspci=hardware.lspci()))
        # Without NUMA node the text of a handle is 2026.2's.
        hardware.sysfs(cloud.folder / 'sys', numa_node=-1)
        cloud.configure(DRIVERS % (self.released, cloud.folder, ''.join(
            'passthrough_whitelist = %s\n' % rule
            for rule in hardware.RULES)))
        conductor = cloud.service(deployment.OURS, 'cyborg-conductor')
        agent = cloud.service(bin_folder, 'cyborg-agent')

        def rows(query):
            with db.engine.connect() as connection:
                return sorted(connection.execute(sa.text(query)).all())

        def complete():
            found = rows('SELECT rp_uuid FROM deployables '
                         'WHERE rp_uuid IS NOT NULL')
            for process in (conductor, agent):
                self.assertIsNone(process.process.poll(), process.output)
            return len(found) == 4
        processes.wait_until(complete, 'first report')
        result = {name: rows(query) for name, query in QUERIES.items()}
        result['providers'] = cloud.providers()
        conductor.stop()
        agent.stop()
        self.assertNotIn('Traceback', conductor.output)
        return result

    def test_a_host_that_is_renamed(self):
        """f01, ID-2: this agent cannot ask, so the conductor looks."""
        db = self.useFixture(database.SqliteDatabase())
        cloud = self.useFixture(deployment.Deployment(
            db.url, lspci=hardware.lspci()))
        hardware.sysfs(cloud.folder / 'sys', numa_node=-1)
        drivers = DRIVERS % (self.released, cloud.folder, ''.join(
            'passthrough_whitelist = %s\n' % rule
            for rule in hardware.RULES))
        cloud.configure(drivers)
        conductor = cloud.service(deployment.OURS, 'cyborg-conductor')
        agent = cloud.service(self.released, 'cyborg-agent')

        def rows():
            with db.engine.connect() as connection:
                return sorted(connection.execute(sa.text(
                    'SELECT d.hostname, p.name, p.rp_uuid FROM devices d '
                    'JOIN deployables p ON p.device_id = d.id '
                    'WHERE p.rp_uuid IS NOT NULL')).all())
        processes.wait_until(lambda: len(rows()) == 4, 'first report', 120)
        before = rows()
        agent.stop()
        cloud.host = 'compute-1.example.org'
        cloud.add_root()
        cloud.configure(drivers)
        cloud.service(self.released, 'cyborg-agent', number=2)
        conductor.wait_for_output(
            'is refused: Host compute-1.example.org has devices stored under '
            'compute-1, another name of this machine', 120)
        self.assertEqual(before, rows())
        self.assertEqual({name for _host, name, _uuid in before},
                         set(cloud.providers()))
        self.assertNotIn('Traceback', conductor.output)

    def test_inventories_are_equal(self):
        ours = self.inventory(deployment.OURS)
        theirs = self.inventory(self.released)
        self.assertEqual(theirs, ours)
        self.assertEqual(4, len(ours['devices']))

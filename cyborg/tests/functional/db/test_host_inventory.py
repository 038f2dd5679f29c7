# SPDX-License-Identifier: Apache-2.0
"""A host's rows, read in a constant number of statements (PERF-1)."""

import sqlalchemy as sa

from cyborg.common import context
from cyborg.db import api
from cyborg.db import host_inventory
from cyborg.db.sqlalchemy import models
from cyborg.inventory import values
from cyborg.tests.fixtures import rows
from cyborg.tests.functional.db import base


class TestLoad(base.DatabaseTestCase):

    def test_everything_of_the_host_and_nothing_else(self):
        rows.device(hostname='compute-2', bus=9)
        card = rows.device(bus=1, handles=2, rp_uuid='rp1')
        bare = rows.device(bus=2, handles=0, attributes=())
        first, second = card.handles
        arq = rows.arq(rows.profile(), second)
        rows.change(second, in_use=True)
        loaded = host_inventory.load(self.context, 'compute-1')
        self.assertEqual('compute-1', loaded.hostname)
        self.assertEqual([card.device.id, bare.device.id],
                         [device.id for device in loaded.devices])
        self.assertEqual(values.PersistedDevice(
            id=card.device.id, uuid=card.device.uuid, hostname='compute-1',
            type='PCI', vendor='10de', model='1eb8', status='enabled',
            device_state='available',
            controlpath=values.PersistedControlPath(
                card.controlpath.id, card.controlpath.uuid, card.device.id,
                'PCI', rows.address(bus=1)),
            deployables=(values.PersistedDeployable(
                id=card.deployable.id, uuid=card.deployable.uuid,
                device_id=card.device.id, name='compute-1_0000:01:00.0',
                num_accelerators=2, driver_name='NVIDIA', rp_uuid='rp1',
                attributes=(values.PersistedAttribute(
                    card.attributes[0].id, card.attributes[0].uuid, 'rc',
                    'CUSTOM_PCI'),),
                handles=(
                    values.PersistedHandle(
                        first.id, first.uuid, card.deployable.id,
                        card.controlpath.id, 'PCI', rows.address(0, 1)),
                    values.PersistedHandle(
                        second.id, second.uuid, card.deployable.id,
                        card.controlpath.id, 'PCI', rows.address(1, 1),
                        in_use=True, arq_uuids=(arq.uuid,))),
                arq_uuids=(arq.uuid,)),)), loaded.devices[0])

    def test_an_unknown_host(self):
        self.assertEqual(values.PersistedHost('nowhere'),
                         host_inventory.load(self.context, 'nowhere'))

    def test_four_statements(self):
        """PERF-1, known fault 33: whatever the number of devices."""
        for count in (1, 6):
            for bus in range(count):
                rows.device(bus=bus, handles=3)
            with self.db.count_statements() as sql:
                host_inventory.load(self.context, 'compute-1')
            self.assertEqual(4, len([
                statement for statement in sql.statements
                if statement.startswith('SELECT')]))

    def test_two_arqs_at_one_handle(self):
        """Damage is shown, and gives no row twice."""
        card = rows.device()
        profile = rows.profile()
        twins = tuple(rows.arq(profile, card.handles[0]).uuid
                      for _each in range(2))
        device, = host_inventory.load(self.context, 'compute-1').devices
        handle, = device.deployables[0].handles
        self.assertEqual(twins, handle.arq_uuids)


class TestOneState(base.DatabaseTestCase):
    # On SQLite a writer can't commit while a reader looks.
    scenarios = [('mariadb', {'database': 'mariadb'}),
                 ('postgresql', {'database': 'postgresql'})]

    def test_one_state_of_the_database(self):
        """What another transaction commits in between is not seen."""
        rows.device(bus=1)
        changed = []

        def interfere(_conn, _cursor, statement, *_args):
            if 'FROM deployables' in statement and not changed:
                changed.append(True)
                other = context.get_admin_context()
                with api.writer(other) as session:
                    session.execute(sa.update(models.Deployable)
                                    .values(name='changed'))

        sa.event.listen(self.db.engine, 'before_cursor_execute', interfere)
        device, = host_inventory.load(self.context, 'compute-1').devices
        self.assertEqual([True], changed)
        self.assertEqual('compute-1_0000:01:00.0',
                         device.deployables[0].name)

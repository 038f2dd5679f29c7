# SPDX-License-Identifier: Apache-2.0
"""PERF-4: one host among 2,500 costs what it costs alone."""

import testscenarios

from cyborg import objects
from cyborg.db.sqlalchemy import indexes
from cyborg.tests.fixtures import fleet
from cyborg.tests.functional.conductor import base
from cyborg.tests.functional.conductor import test_costs

load_tests = testscenarios.load_tests_apply_scenarios

#: Rows that a statement may look at beyond those that it returns or changes.
SLACK = 1000


class FleetTest(testscenarios.WithScenarios, base.ConductorTestCase):

    scenarios = [(name, {'database': name})
                 for name in ('mariadb', 'postgresql')]
    timeout = 600

    def setUp(self):
        super().setUp()
        fleet.fill(self.db.engine)
        indexes.add()
        self.addCleanup(indexes.drop)

    def life(self) -> None:
        """Everything that the services ask a database."""
        devices = test_costs.devices(fleet.DEVICES)
        self.report(*devices, by=self.manager)
        self.report(*devices, by=self.manager)
        self.report(*test_costs.devices(4, traits=('B',)), *devices[4:-1],
                    by=self.manager)
        profile = self.profile()
        arqs = [self.arq(profile) for _ in range(2)]
        names = ['%s_%d' % (base.HOST, number) for number in range(2)]
        instance = self.bind(arqs[0], name=names[0])
        self.bind(arqs[1], name=names[1])
        for filters in ({'instance_uuid': instance}, {'project_id': 'p' * 32}):
            objects.ExtARQ.list(self.context, **filters)
        objects.ExtARQ.get(self.context, arqs[0])
        self.report(*devices[1:], by=self.manager)
        self.report(*devices, by=self.manager)
        self.unbind(arqs[0])
        self.conductor.arq_delete_by_uuid(self.context, ','.join(arqs[:1]))
        self.conductor.arq_delete_by_instance_uuid(
            self.context, self.arq_row(arqs[1]).instance_uuid)
        self.report(by=self.manager)

    def test_no_statement_looks_at_the_fleet(self):
        with fleet.Watch(self.db.engine) as watch:
            self.life()
        self.assertGreater(len(watch.looked), 50)
        self.assertEqual([], [
            looked for looked in watch.looked
            if looked.rows - looked.result > SLACK])


class LocksTest(base.ConductorTestCase):
    """PERF-4: a report locks what it changes, and not the other hosts."""

    database = 'mariadb'
    timeout = 600

    def test_locks_of_new_devices(self):
        fleet.fill(self.db.engine)
        indexes.add()
        self.addCleanup(indexes.drop)
        with fleet.LockWatch(self.db.engine) as watch:
            self.report(*test_costs.devices(fleet.DEVICES), by=self.manager)
        self.assertNotEqual([], watch.locked)
        self.assertLessEqual(max(watch.locked), 10 * fleet.DEVICES,
                             watch.locked)

# SPDX-License-Identifier: Apache-2.0
"""Reports of a host: what is stored, what is published."""

from cyborg.common import exception
from cyborg.conductor import notes  # noqa: F401
from cyborg.db.sqlalchemy import models
from cyborg.tests.functional.conductor import base

NAME = 'compute-1_0000:01:00.0'
OTHER = 'compute-1_0000:02:00.0'


class ReportTest(base.ConductorTestCase):

    def test_first_report_stores_and_publishes(self):
        """placement-traffic step 1"""
        self.report(base.device(1), base.device(2))
        stored = self.host()
        self.assertEqual(['10de', '10de'], [d.vendor for d in stored.devices])
        device = stored.devices[0]
        self.assertEqual(('enabled', 'available'),
                         (device.status, device.device_state))
        deployable = self.deployable(NAME)
        self.assertEqual(self.provider(NAME), deployable.rp_uuid)
        self.assertEqual([('rc', 'CUSTOM_PCI'), ('trait0', 'CUSTOM_A')],
                         sorted((a.key, a.value)
                                for a in deployable.attributes))
        self.assertEqual(
            '{"bus": "01", "device": "00", "domain": "0000", '
            '"function": "0"}', deployable.handles[0].attach_info)
        self.assertAmounts({'CUSTOM_PCI': (1, 0)}, NAME)
        self.assertEqual({'OWNER_CYBORG', 'CUSTOM_A'},
                         self.placement.traits(self.provider(NAME)))

    def test_unchanged_report_writes_nothing(self):
        """PERF-1"""
        devices = [base.device(bus) for bus in range(1, 17)]
        self.report(*devices)
        self.placement.forget_calls()
        with self.db.count_statements() as sql:
            self.report(*devices)
        self.assertLessEqual(len(sql), 8)
        self.assertEqual(['GET'], [c.method for c in self.placement.calls])

    def test_unknown_host_changes_nothing(self):
        self.assertRaises(
            exception.PlacementResourceProviderNotFound, self.report,
            base.device(1, host='nohost'), host='nohost')
        self.assertEqual(0, self.count(models.Device))

    def test_empty_report_of_unknown_host(self):
        """placement-traffic step 15"""
        self.assertRaises(
            exception.PlacementResourceProviderNotFound, self.report,
            host='nohost')

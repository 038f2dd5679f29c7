# SPDX-License-Identifier: Apache-2.0
"""What happens while an agent runs, and to devices that disappear.

Specification, "Startup and periodic reporting"; the story of a changed
whitelist. The class runs on any :class:`services.Cloud`.
"""

import json

import webtest

from cyborg.tests.fixtures import services

ONE, TWO = '0000:25:00.1', '0000:25:00.2'
NVME = '0000:45:00.0'


class LaterScenarios:
    """Mixed into a test case that has ``self.cloud``."""

    # Periodic reports

    def test_periodic_reports_keep_the_configuration_of_the_start(self):
        """CFG-7"""
        self.cloud.plug(ONE)
        self.cloud.start_agent()
        before = self.cloud.handles()
        self.cloud.conf.set('pci', device_spec=[services.rule(managed=False)],
                            exclude_list=[ONE])
        self.cloud.report()
        self.assertEqual(before, self.cloud.handles())

    def test_conflict_later_on_rejects_the_report_only(self):
        """REC-8: the device comes back under another mode."""
        self.cloud.plug(ONE)
        self.cloud.start_agent()
        arq = self.cloud.bind(ONE)
        self.cloud.stop_agent()
        self.cloud.unplug(ONE)
        self.cloud.configure('pci', device_spec=[
            services.rule(managed=False)])
        self.cloud.start_agent()
        self.cloud.plug(ONE, TWO)
        self.cloud.report()
        self.assertTrue(self.cloud.said('ERROR', 'is rejected', ONE, arq))
        self.assertNotIn(TWO, self.cloud.handles())
        self.cloud.delete(arq)
        self.cloud.report()
        self.assertEqual({ONE, TWO}, set(self.cloud.handles()))
        self.assertIs(False, json.loads(
            self.cloud.handles()[ONE].attach_info)['managed'])

    def test_excluded_class_later_on_rejects_the_report_only(self):
        """DSC-4, REC-8"""
        self.cloud.plug(ONE)
        self.cloud.start_agent()
        self.cloud.plug(TWO)
        self.cloud.plug(NVME, class_code=0x010802)
        self.cloud.report()
        self.assertTrue(self.cloud.said('ERROR', 'is rejected', NVME))
        self.assertEqual({ONE}, set(self.cloud.handles()))
        self.cloud.unplug(NVME)
        self.cloud.report()
        self.assertEqual({ONE, TWO}, set(self.cloud.handles()))

    def test_failed_discovery_reports_nothing(self):
        """MIS-7"""
        self.cloud.plug(ONE, TWO)
        self.cloud.start_agent()
        before = self.cloud.stored()
        self.cloud.move_sysfs_away()
        self.cloud.report()
        self.assertTrue(self.cloud.said('ERROR', 'pci_driver', self.cloud.host,
                                        'nothing is reported'))
        self.assertEqual(before, self.cloud.stored())
        self.assertEqual(2, self.cloud.free())

    # Devices that disappear

    def test_missing_allocated_device_is_retained(self):
        """MIS-1, MIS-2: it does not keep the agent from starting."""
        self.cloud.plug(ONE, TWO)
        self.cloud.start_agent()
        arq = self.cloud.bind(ONE)
        before = self.cloud.handles()[ONE]
        self.cloud.stop_agent()
        self.cloud.unplug(ONE, TWO)
        self.cloud.start_agent()
        self.assertEqual({ONE: before}, self.cloud.handles())
        self.assertEqual((1, 1), self.cloud.amounts(ONE))
        self.assertIsNone(self.cloud.provider(TWO))
        self.assertEqual('Bound', self.cloud.arq(arq)['state'])

    def test_excluded_allocated_device_is_retained(self):
        """MIS-1: ``[pci] exclude_list`` takes nothing away."""
        self.cloud.plug(ONE, TWO)
        self.cloud.start_agent()
        arq = self.cloud.bind(ONE)
        before = self.cloud.handles()[ONE]
        self.cloud.configure('pci', exclude_list=[ONE, TWO])
        self.cloud.restart_agent()
        self.assertEqual({ONE: before}, self.cloud.handles())
        self.assertEqual((1, 1), self.cloud.amounts(ONE))
        self.assertEqual('Bound', self.cloud.arq(arq)['state'])

    def test_returned_device_is_as_it_was(self):
        """MIS-3"""
        self.cloud.plug(ONE)
        self.cloud.start_agent()
        arq = self.cloud.bind(ONE)
        before = self.cloud.stored()
        self.cloud.unplug(ONE)
        self.cloud.report()
        self.assertEqual((1, 1), self.cloud.amounts(ONE))
        self.cloud.plug(ONE)
        self.cloud.report()
        self.assertEqual((1, 0), self.cloud.amounts(ONE))
        self.assertEqual(before, self.cloud.stored())
        self.assertEqual('Bound', self.cloud.arq(arq)['state'])

    def test_released_while_missing_is_removed(self):
        """MIS-3, MIS-4"""
        self.cloud.plug(ONE)
        self.cloud.start_agent()
        arq = self.cloud.bind(ONE)
        self.cloud.unplug(ONE)
        self.cloud.report()
        self.cloud.delete(arq)
        self.assertEqual(0, self.cloud.free())
        self.cloud.report()
        self.assertEqual({}, self.cloud.handles())
        self.assertIsNone(self.cloud.provider(ONE))

    def test_another_device_does_not_inherit_the_handle(self):
        """MIS-6, B23"""
        self.cloud.plug(ONE)
        self.cloud.rules({'vendor_id': '10de'}, {'vendor_id': '1d0f'})
        self.cloud.start_agent()
        arq = self.cloud.bind(ONE)
        before = self.cloud.handles()
        self.cloud.unplug(ONE)
        self.cloud.plug(ONE, vendor=0x1d0f, product=0xefa1)
        self.cloud.report()
        self.assertEqual(before, self.cloud.handles())
        self.assertEqual(0, self.cloud.free())
        self.cloud.delete(arq)
        self.cloud.report()
        self.cloud.report()
        self.assertEqual('1d0f', self.cloud.stored().devices[0].vendor)
        self.assertEqual(1, self.cloud.free())

    def test_rule_dropped_and_restored_keeps_the_allocation(self):
        """MIS-5: the story of a changed whitelist, from its start to its end

        Allocate, drop the rule, restart, restore the rule, restart, allocate
        again: the first keeps its handle, the newcomer gets another device.
        """
        self.cloud.plug(ONE, TWO)
        self.cloud.start_agent()
        first = self.cloud.bind(ONE)
        handle = self.cloud.handles()[ONE]
        spec = self.cloud.options['pci']['device_spec']

        self.cloud.configure('pci', device_spec=[])
        self.cloud.restart_agent()
        self.assertEqual({ONE: handle}, self.cloud.handles())
        self.assertEqual(0, self.cloud.free())

        self.cloud.configure('pci', device_spec=spec)
        self.cloud.restart_agent()
        self.assertEqual(handle, self.cloud.handles()[ONE])
        self.assertEqual(handle.uuid,
                         self.cloud.arq(first)['attach_handle_uuid'])
        self.assertEqual(1, self.cloud.free())
        self.assertRaises(webtest.AppError, self.cloud.bind, ONE)
        newcomer = self.cloud.bind(TWO)
        self.assertEqual(self.cloud.handles()[TWO].uuid,
                         self.cloud.arq(newcomer)['attach_handle_uuid'])
        self.assertEqual((handle.uuid, (first,)), (
            self.cloud.handles()[ONE].uuid,
            self.cloud.handles()[ONE].arq_uuids))

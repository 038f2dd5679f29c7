# SPDX-License-Identifier: Apache-2.0
"""What happens when an agent starts, sentence by sentence.

Specification, "Persisted state and reconciliation" and "Startup and periodic
reporting". The class runs on any :class:`services.Cloud`.
"""

import json

from cyborg.common import constants
from cyborg.tests.fixtures import services

ONE, TWO, THREE = '0000:25:00.1', '0000:25:00.2', '0000:25:00.3'
NVME = '0000:45:00.0'


class StartScenarios:
    """Mixed into a test case that has ``self.cloud``."""

    # Startup

    def test_first_discovery_is_reported_before_the_start_is_over(self):
        """REC-7"""
        self.cloud.plug(ONE, TWO)
        self.cloud.start_agent()
        self.assertEqual({ONE, TWO}, set(self.cloud.handles()))
        self.assertEqual((1, 0), self.cloud.amounts(ONE))
        self.assertEqual(2, self.cloud.free())

    def test_conflict_on_an_allocated_handle_prevents_startup(self):
        """REC-3, REC-7"""
        self.cloud.plug(ONE, TWO)
        self.cloud.start_agent()
        arq = self.cloud.bind(ONE)
        before = self.cloud.stored()
        self.cloud.configure('pci', device_spec=[
            services.rule(managed=False)])
        error = self.assert_refused()
        handle = self.cloud.handles()[ONE]
        for part in ('Device %s of host %s is allocated'
                     % (ONE, self.cloud.host),
                     'managed=true', handle.uuid, arq,
                     'configured managed=false is refused', 'Put true back'):
            self.assertIn(part, error)
        # Not even the free handle was touched.
        self.assertEqual(before, self.cloud.stored())
        self.assertNotIn('managed',
                         json.loads(self.cloud.handles()[TWO].attach_info))

    def test_restoring_the_configuration_lets_it_start(self):
        """REC-3"""
        self.cloud.plug(ONE)
        self.cloud.start_agent()
        self.cloud.bind(ONE)
        self.cloud.configure('pci', device_spec=[
            services.rule(managed=False)])
        self.assert_refused()
        self.cloud.configure('pci', device_spec=[services.rule(managed=True)])
        self.cloud.start_agent()
        self.assertTrue(self.cloud.handles()[ONE].allocated)

    def test_releasing_the_allocation_lets_it_start(self):
        """REC-3, REC-4"""
        self.cloud.plug(ONE)
        self.cloud.start_agent()
        arq = self.cloud.bind(ONE)
        before = self.cloud.handles()[ONE]
        self.cloud.configure('pci', device_spec=[
            services.rule(managed=False)])
        self.assert_refused()
        self.cloud.delete(arq)
        self.cloud.start_agent()
        after = self.cloud.handles()[ONE]
        self.assertEqual((before.id, before.uuid), (after.id, after.uuid))
        self.assertIs(False, json.loads(after.attach_info)['managed'])

    def test_all_conflicts_are_named(self):
        """REC-3"""
        self.cloud.plug(ONE, TWO)
        self.cloud.start_agent()
        self.cloud.bind(ONE)
        self.cloud.bind(TWO)
        self.cloud.configure('pci', device_spec=[
            services.rule(managed=False)])
        error = self.assert_refused()
        self.assertIn('2 allocated devices of host %s' % self.cloud.host,
                      error)
        self.assertIn(ONE, error)
        self.assertIn(TWO, error)

    def test_damaged_attach_info_prevents_startup(self):
        """REC-7: no value is silently taken in its place."""
        self.cloud.plug(ONE)
        self.cloud.start_agent()
        for text, reason in (
                ('{"managed": "true", "domain": "0000", "bus": "25", '
                 '"device": "00", "function": "1"}',
                 '"managed" is "true" and must be true or false'),
                ('{"domain": "0000"}', 'no text under "bus"'),
                ('[1]', 'not a JSON object')):
            row = self.cloud.stored().devices[0].deployables[0].handles[0]
            self.execute("UPDATE attach_handles SET attach_info = '%s' "
                         'WHERE id = %d' % (text, row.id))
            error = self.assert_refused()
            self.assertIn('attach info of attach handle %s on host %s is not '
                          'usable' % (row.uuid, self.cloud.host), error)
            self.assertIn(reason, error)

    def test_excluded_class_prevents_startup(self):
        """DSC-4, REC-7: nothing of that report is sent."""
        self.cloud.plug(ONE)
        self.cloud.plug(NVME, class_code=0x010802)
        error = self.assert_refused()
        self.assertIn('%s of host %s' % (NVME, self.cloud.host), error)
        self.assertIn('pci_driver', error)
        self.assertIn('0108', error)
        self.assertEqual((), self.cloud.stored().devices)

    def test_class_of_a_device_not_selected_does_not_matter(self):
        """DSC-2"""
        self.cloud.plug(ONE)
        self.cloud.plug(NVME, vendor=0x144d, class_code=0x010802)
        self.cloud.start_agent()
        self.assertEqual({ONE}, set(self.cloud.handles()))

    def test_explicit_managed_needs_the_cap_to_permit_it(self):
        """RPC-1: both values, both option names, before anything is sent."""
        self.cloud.configure('upgrade_levels', conductor='1.0')
        self.cloud.configure('pci', sysfs_path='/nonexistent')
        self.cloud.placement.forget_calls()
        for managed in (True, False):
            self.cloud.configure('pci', device_spec=[
                services.rule(managed=managed)])
            error = self.assert_refused()
            for part in ('managed-mode support', '1.1', 'caps it at 1.0',
                         '[upgrade_levels] conductor'):
                self.assertIn(part, error)
        self.assertEqual([], self.cloud.placement.calls)

    def test_permitted_cap_starts(self):
        """RPC-1"""
        self.cloud.plug(ONE)
        self.cloud.configure('upgrade_levels', conductor='1.1')
        self.cloud.configure('pci', device_spec=[
            services.rule(managed=False)])
        self.cloud.start_agent()
        self.assertIs(False, json.loads(
            self.cloud.handles()[ONE].attach_info)['managed'])

    def test_capped_agent_reports_without_reconciling(self):
        """REC-9"""
        self.cloud.plug(ONE)
        self.cloud.configure('pci', device_spec=[
            services.rule(managed=False)])
        self.cloud.start_agent()
        self.cloud.stop_agent()
        before = self.cloud.handles()[ONE]
        self.cloud.configure('upgrade_levels', conductor='1.0')
        self.cloud.configure('pci', device_spec=[services.rule()])
        self.cloud.plug(TWO)
        self.cloud.start_agent()
        self.assertEqual(before, self.cloud.handles()[ONE])
        self.assertIn(TWO, self.cloud.handles())
        self.assertTrue(self.cloud.said(
            'WARNING', 'caps conductors at 1.0', 'without reconciling'))

    def test_transient_failure_at_start_is_retried(self):
        """REC-7: logged, and made up for by a periodic report."""
        self.cloud.plug(ONE)
        self.cloud.start_agent()
        self.cloud.stop_agent()
        self.cloud.plug(TWO)
        self.cloud.placement.fail('in_tree', status=500, times=None)
        self.cloud.start_agent()
        self.assertTrue(self.cloud.said('WARNING', 'could not report',
                                        'Placement', '500'))
        self.assertNotIn(TWO, self.cloud.handles())
        self.cloud.placement.heal()
        self.cloud.report()
        self.assertEqual((1, 0), self.cloud.amounts(TWO))

    # Reconciliation

    def test_free_handle_is_updated_in_place(self):
        """REC-4"""
        self.cloud.plug(ONE)
        self.cloud.start_agent()
        before = self.cloud.stored()
        self.cloud.configure('pci', device_spec=[
            services.rule(managed=False)])
        self.cloud.restart_agent()
        after = self.cloud.stored()
        self.assertEqual({'bus': '25', 'device': '00', 'domain': '0000',
                          'function': '1', 'managed': False},
                         json.loads(self.cloud.handles()[ONE].attach_info))
        self.assertEqual(_ids(before), _ids(after))

    def test_equal_meaning_keeps_the_stored_form(self):
        """REC-2: absent and true are the same, also while allocated."""
        self.cloud.plug(ONE, TWO)
        self.cloud.start_agent()
        self.cloud.bind(ONE)
        before = self.cloud.handles()
        self.cloud.configure('pci', device_spec=[services.rule(managed=True)])
        self.cloud.restart_agent()
        self.assertEqual(before, self.cloud.handles())

    def test_numa_node_of_an_allocated_handle_is_refreshed(self):
        """REC-6"""
        self.cloud.plug(ONE)
        self.cloud.start_agent()
        arq = self.cloud.bind(ONE)
        before = self.cloud.handles()[ONE]
        self.cloud.tree.write(ONE, 'numa_node', b'1\n')
        self.cloud.report()
        after = self.cloud.handles()[ONE]
        self.assertEqual(1, json.loads(after.attach_info)['numa_node'])
        self.assertEqual((before.id, before.uuid, before.arq_uuids),
                         (after.id, after.uuid, after.arq_uuids))
        self.assertEqual(1, self.cloud.arq(arq)[
            'attach_handle_info']['numa_node'])

    def test_bound_arq_shows_the_configured_mode(self):
        """API-1 from configuration to answer"""
        self.cloud.plug(ONE, TWO)
        self.cloud.rules({'address': ONE, 'managed': False},
                         {'address': TWO})
        self.cloud.start_agent()
        for address, managed in ((ONE, False), (TWO, True)):
            info = self.cloud.arq(self.cloud.bind(address))[
                'attach_handle_info']
            self.assertIs(managed, info['managed'])
            self.assertIs(False, info['stateful'])
            self.assertIsNone(info['numa_node'])

    # Upgrade from 2026.2

    def test_rows_of_2026_2_stay_as_they_are(self):
        """Upgrade: managed true, then omitted, touches no row."""
        self.upgraded()
        before = self.cloud.handles()
        for rule in (services.rule(managed=True), services.rule()):
            self.cloud.configure('pci', device_spec=[rule])
            self.cloud.restart_agent()
            self.assertEqual(before, self.cloud.handles())

    def test_rows_of_2026_2_and_managed_false(self):
        """Upgrade: the bound one is refused by name, free ones change."""
        arq = self.upgraded()
        before = self.cloud.handles()
        self.cloud.stop_agent()
        self.cloud.configure('pci', device_spec=[
            services.rule(managed=False)])
        error = self.assert_refused()
        self.assertIn(ONE, error)
        self.assertNotIn(TWO, error)
        self.assertEqual(before, self.cloud.handles())
        # With a rule of its own for the bound one the others change.
        self.cloud.rules(
            {'address': ONE}, {'vendor_id': '10de', 'managed': False})
        self.cloud.start_agent()
        after = self.cloud.handles()
        self.assertEqual(before[ONE], after[ONE])
        for address in (TWO, THREE):
            self.assertEqual(before[address].uuid, after[address].uuid)
            self.assertIs(False, json.loads(
                after[address].attach_info)['managed'])
        self.assertEqual('Bound', self.cloud.arq(arq)['state'])

    def upgraded(self) -> str:
        """Three devices as 2026.2 stored them, the first bound.

        :returns: UUID of the ARQ.
        """
        self.cloud.plug(ONE, TWO, THREE)
        self.cloud.start_agent()
        for address in (ONE, TWO, THREE):
            info = json.loads(self.cloud.handles()[address].attach_info)
            # The PCI driver of 2026.2 called everything a GPU.
            self.assertEqual(['bus', 'device', 'domain', 'function'],
                             list(info))
        self.execute("UPDATE devices SET type = '%s' WHERE hostname = '%s'"
                     % (constants.DEVICE_GPU, self.cloud.host))
        return self.cloud.bind(ONE)

    # Words

    def execute(self, statement: str) -> None:
        """Write to the database behind everybody's back."""
        with self.cloud.db.engine.begin() as connection:
            connection.exec_driver_sql(statement)

    def assert_refused(self) -> str:
        """The agent refuses to start; what it said, in one line."""
        self.cloud.stop_agent()
        error = self.assertRaises(services.StartRefused,
                                  self.cloud.start_agent)
        self.assertNotIn('Traceback', str(error))
        return str(error)


def _ids(host):
    return [(device.id, device.uuid, d.id, d.uuid, h.id, h.uuid)
            for device in host.devices for d in device.deployables
            for h in d.handles]

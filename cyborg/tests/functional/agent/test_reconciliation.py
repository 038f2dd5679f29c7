# SPDX-License-Identifier: Apache-2.0
"""Between the agent's read and the conductor's write (REC-4, REC-5, REC-8).

Specification, "Persisted state and reconciliation".
"""

import json
import threading

import fixtures
import oslo_messaging as messaging

from cyborg.accelerator.common import records
from cyborg.accelerator.drivers.pci.pci import driver as pci_driver
from cyborg.agent import resource_tracker
from cyborg.common import exception
from cyborg.conductor import object_dispatch
from cyborg.inventory import attach_info
from cyborg.rpcapi import agent as agent_rpcapi
from cyborg.rpcapi import conductor as conductor_rpcapi
from cyborg.tests import amount
from cyborg.tests import base
from cyborg.tests.fixtures import services

ONE, TWO, THREE = '0000:25:00.1', '0000:25:00.2', '0000:25:00.3'
NVME = '0000:45:00.0'


class TestBase(base.TestCase):

    def setUp(self):
        super().setUp()
        self.cloud = self.useFixture(
            services.InOneProcess(self.conf, self.logs))
        self.cloud.plug(ONE, TWO)
        self.cloud.start_agent()
        self.conductor = self.cloud.conductor

    def managed(self, address):
        return json.loads(self.cloud.handles()[address].attach_info).get(
            'managed', True)

    def set_managed(self, managed):
        self.cloud.stop_agent()
        self.cloud.configure('pci', device_spec=[
            services.rule(managed=managed)])


class TestRaces(TestBase):

    def test_bound_between_read_and_update(self):
        """REC-5: read again, and refuse; the bind wins."""
        before = self.cloud.handles()
        arqs = []
        self.set_managed(False)
        self.conductor.before('object_action', lambda: arqs.append(
            self.cloud.bind(ONE)))
        error = self.assertRaises(services.StartRefused,
                                  self.cloud.start_agent)
        self.assertIn('Device %s of host compute-1 is allocated' % ONE,
                      str(error))
        self.assertIn(arqs[0], str(error))
        self.assertEqual(before[ONE].attach_info,
                         self.cloud.handles()[ONE].attach_info)
        self.assertIs(True, self.cloud.arq(arqs[0])[
            'attach_handle_info']['managed'])
        # Nothing of the refused report was sent.
        self.assertEqual(1, self.conductor.calls.count('report_data'))

    def test_the_last_one_is_bound_meanwhile(self):
        """REC-5: the first, which is free, keeps its mode, too."""
        before = self.cloud.handles()
        self.set_managed(False)
        self.conductor.before('object_action',
                              lambda: self.cloud.bind(TWO))
        self.assertRaises(services.StartRefused, self.cloud.start_agent)
        self.assertEqual(before[ONE], self.cloud.handles()[ONE])
        self.assertEqual(1, self.conductor.calls.count('object_action'))

    def test_conductor_that_knows_one_at_a_time(self):
        """Its lists have an older version; the modes change all the same."""
        self.set_managed(False)
        real = object_dispatch.class_action

        def older(context, objname, objmethod, object_versions, *args):
            return real(context, objname, objmethod, {
                **object_versions, 'HostInventory': '1.1',
                'AttachHandleList': '1.0'}, *args)
        self.useFixture(fixtures.MonkeyPatch(
            'cyborg.conductor.object_dispatch.class_action', older))
        self.cloud.start_agent()
        self.assertIs(False, self.managed(ONE))
        self.assertIs(False, self.managed(TWO))
        self.assertEqual(2, self.conductor.calls.count('object_action'))

    def test_mixed_modes_say_how_to_go_on(self):
        """REC-4: rules for what an earlier agent left."""
        self.cloud.bind(ONE)
        self.cloud.bind(TWO)
        handle = self.cloud.handles()[TWO]
        self.write("UPDATE attach_handles SET attach_info = '%s' WHERE id = "
                   '%d' % (json.dumps(dict(
                       json.loads(handle.attach_info), managed=False),
                       sort_keys=True), handle.id))
        rules = ['{"address": "%s", "managed": true}' % ONE,
                 '{"address": "%s", "managed": false}' % TWO]
        for managed in (True, False):
            self.set_managed(managed)
            error = str(self.assertRaises(services.StartRefused,
                                          self.cloud.start_agent))
            self.assertIn('the opposite value is refused as well', error)
            shown = [line.removeprefix('device_spec = ')
                     for line in error.splitlines()
                     if line.startswith('device_spec = ')]
            self.assertEqual(rules, shown)
            self.cloud.configure('pci', device_spec=[
                *shown, services.rule(managed=managed)])
            self.cloud.start_agent()
            self.cloud.stop_agent()

    def test_bound_and_freed_between_read_and_update(self):
        """REC-5: the state is again what was read, so the update holds."""
        self.set_managed(False)
        self.conductor.before('object_action', lambda: self.cloud.delete(
            self.cloud.bind(ONE)))
        self.cloud.start_agent()
        self.assertIs(False, self.managed(ONE))
        self.assertIs(False, self.managed(TWO))

    def test_text_changed_between_read_and_update(self):
        """REC-5: one retry, from what is there now."""
        self.set_managed(False)
        handle = self.cloud.handles()[ONE]
        text = json.dumps(dict(json.loads(handle.attach_info), numa_node=1),
                          sort_keys=True)
        self.conductor.before('object_action', lambda: self.write(
            "UPDATE attach_handles SET attach_info = '%s' WHERE id = %d"
            % (text, handle.id)))
        self.cloud.start_agent()
        self.assertIs(False, self.managed(ONE))
        self.assertEqual(2, self.conductor.calls.count(
            'object_class_action_versions') - self.reads_at_start())
        self.assertTrue(self.cloud.said('INFO', handle.uuid,
                                        'changed meanwhile'))

    def test_changed_again_after_the_retry(self):
        """REC-5: once is all; nothing is reported, the next report is."""
        self.set_managed(False)
        handle = self.cloud.handles()[ONE]
        base_info = json.loads(handle.attach_info)

        def change(node):
            self.write("UPDATE attach_handles SET attach_info = '%s' WHERE "
                       'id = %d' % (json.dumps(dict(base_info,
                                                    numa_node=node)),
                                    handle.id))
        self.conductor.before('object_action', lambda: change(1),
                              lambda: change(2))
        sent = self.conductor.calls.count('report_data')
        self.cloud.start_agent()
        self.assertEqual(sent, self.conductor.calls.count('report_data'))
        self.assertTrue(self.cloud.said('WARNING', 'could not report',
                                        handle.uuid))
        self.cloud.report()
        self.assertIs(False, self.managed(ONE))

    def test_freed_between_read_and_decision(self):
        """The refusal holds for what was read; the next start is free."""
        arq = self.cloud.bind(ONE)
        self.set_managed(False)
        self.conductor.after('object_class_action_versions', lambda: None,
                             lambda: self.cloud.delete(arq))
        # The first read is the probe, the second the reconciliation.
        self.assertRaises(services.StartRefused, self.cloud.start_agent)
        self.cloud.start_agent()
        self.assertIs(False, self.managed(ONE))

    def test_in_use_without_an_arq_is_allocated(self):
        """REC-3: either mark counts."""
        self.write('UPDATE attach_handles SET in_use = 1 WHERE id = %d'
                   % self.cloud.handles()[ONE].id)
        self.set_managed(False)
        error = self.assertRaises(services.StartRefused,
                                  self.cloud.start_agent)
        self.assertIn('none, in_use is set', str(error))

    def test_arq_without_in_use_is_allocated(self):
        """REC-3: either mark counts."""
        arq = self.cloud.bind(ONE)
        self.write('UPDATE attach_handles SET in_use = 0')
        self.set_managed(False)
        error = self.assertRaises(services.StartRefused,
                                  self.cloud.start_agent)
        self.assertIn(arq, str(error))

    def test_arq_reference_that_appears_between(self):
        """REC-4: with ``in_use`` false all along."""
        arq = self.cloud.create_arq()
        self.set_managed(False)
        self.conductor.before('object_action', lambda: self.write(
            "UPDATE extended_accelerator_requests SET attach_handle_id = %d "
            "WHERE uuid = '%s'" % (self.cloud.handles()[ONE].id, arq)))
        error = self.assertRaises(services.StartRefused,
                                  self.cloud.start_agent)
        self.assertIn(arq, str(error))
        self.assertIs(True, self.managed(ONE))

    def test_two_agents_of_one_host(self):
        """Both reconcile and report at once; one outcome."""
        self.set_managed(False)
        self.cloud.plug(THREE)
        self.cloud.start_agent()
        context = self.context
        errors = []

        def report():
            tracker = resource_tracker.ResourceTracker(
                self.cloud.agent.tracker.drivers,
                conductor_rpcapi.ConductorAPI())
            for _ in range(5):
                try:
                    tracker.report(context, 'compute-1')
                except Exception as error:
                    errors.append(error)
        self.write("UPDATE attach_handles SET attach_info = replace("
                   "attach_info, ', \"managed\": false', '')")
        threads = [threading.Thread(target=report) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([], errors)
        self.assertEqual({ONE: False, TWO: False, THREE: False}, {
            address: self.managed(address)
            for address in self.cloud.handles()})
        self.assertEqual(3, len(self.cloud.stored().devices))
        self.assertEqual(3, self.cloud.free())

    def test_lost_reply_of_an_update(self):
        """B55: the update was made; the next report finds nothing to do."""
        self.set_managed(False)

        def lose():
            raise messaging.MessagingTimeout('lost')
        self.conductor.after('object_action', lose)
        self.cloud.start_agent()
        self.assertTrue(self.cloud.said('WARNING', 'could not report'))
        self.cloud.report()
        self.assertIs(False, self.managed(ONE))
        self.assertIs(False, self.managed(TWO))
        self.assertTrue(self.cloud.said('INFO', 'reports again'))

    def reads_at_start(self):
        # The set-up's start and this one each probe once and ask once for
        # other names of the machine; the set-up's also reads once to
        # reconcile.
        return 5

    def write(self, statement):
        with self.cloud.db.engine.begin() as connection:
            connection.exec_driver_sql(statement)


class TestReport(TestBase):

    timeout = 400

    def test_unchanged_report_costs_two_calls(self):
        """PERF-1: whatever the number of devices, of whole reports."""
        self.conf.set(group='agent', whole_report_interval=0)
        self.conf.set(rpc_response_timeout=400)
        statements = []
        present = 2
        for count in (8, 16, amount.amount(
                'CYBORG_TEST_DEVICES', 64, 1024)):
            for number in range(present, count):
                self.cloud.plug('0000:%02x:%02x.%x' % (
                    0x40 + number // 256, number // 8 % 32, number % 8))
            present = count
            self.cloud.report()
            self.conductor.calls.clear()
            self.cloud.placement.forget_calls()
            with self.cloud.db.count_statements() as sql:
                self.cloud.report()
            self.assertLogged(
                'DEBUG', '%d devices discovered, 0 new, 0 changed' % count)
            self.assertEqual(['object_class_action_versions', 'report_data'],
                             self.conductor.calls)
            self.assertEqual(['GET'], [
                call.method for call in self.cloud.placement.calls])
            statements.append(len(sql))
        self.assertEqual(statements[:1] * 3, statements)

    def test_capped_agent_says_so_once(self):
        """REC-9"""
        self.cloud.stop_agent()
        self.cloud.configure('upgrade_levels', conductor='2026.2')
        self.cloud.start_agent()
        self.cloud.report()
        self.assertEqual(1, len([
            message for message in self.logs.messages('WARNING')
            if 'without reconciling' in message]))
        self.assertNotIn('object_action', self.conductor.calls)

    def test_capped_agent_sends_the_text_of_2026_2(self):
        """ID-7: whatever driver it is of; the driver's objects stay."""
        self.cloud.stop_agent()
        self.cloud.plug(THREE, numa_node=1)
        self.cloud.configure('upgrade_levels', conductor='2026.2')
        with self.attach_info(
                managed=False, stateful=True, vendor_word='x'):
            self.cloud.start_agent()
            driver = self.cloud.agent.tracker.drivers[0].driver
            self.assertIn('"stateful": true', driver.discover()[
                0].deployable_list[0].attach_handle_list[0].attach_info)
        self.assertEqual(
            '{"bus": "25", "device": "00", "domain": "0000", "function": '
            '"3", "vendor_word": "x"}',
            self.cloud.handles()[THREE].attach_info)
        self.assertEqual({'GPU'}, {
            device.type for device in self.cloud.stored().devices})

    def test_same_trouble_is_warned_of_once(self):
        self.cloud.placement.fail('', status=503, times=None)
        for _ in range(3):
            self.cloud.report()
        warnings = [message for message in self.logs.messages('WARNING')
                    if 'could not report' in message]
        self.assertEqual(1, len(warnings))
        self.assertIn('Host compute-1 could not report', warnings[0])
        self.assertIn('503', warnings[0])
        self.cloud.placement.heal()
        self.cloud.report()
        self.assertTrue(self.cloud.said('INFO', 'reports again'))

    def test_conflict_is_an_error_every_time(self):
        """REC-8"""
        self.cloud.plug('0000:45:00.0', class_code=0x010802)
        for _ in range(2):
            self.cloud.report()
        self.assertEqual(2, len([
            message for message in self.logs.messages('ERROR')
            if 'is rejected' in message]))

    def test_host_provider_that_goes_later_on(self):
        self.cloud.plug(THREE)
        for address in (ONE, TWO):
            self.cloud.placement.delete_provider(
                self.cloud.provider(address))
        self.cloud.placement.delete_provider(self.cloud.root)
        self.cloud.report()
        self.assertTrue(self.cloud.said('WARNING', 'could not report',
                                        'no resource provider compute-1'))
        self.assertNotIn(THREE, self.cloud.handles())

    def test_old_conductor(self):
        """Agents upgrade after conductors; the reason is told."""
        self.conductor.before('object_class_action_versions', _unknown)
        self.cloud.report()
        self.assertTrue(self.cloud.said(
            'WARNING', 'could not report', 'upgrade the conductors first'))

    def test_conductor_that_fails_inside(self):
        def fail():
            raise ValueError('of some kind\nTraceback of no use')
        self.conductor.before('report_data', fail)
        self.cloud.report()
        self.assertTrue(self.cloud.said(
            'WARNING', 'the conductor failed with ValueError: of some kind'))

    def test_damaged_row_later_on_rejects_the_report(self):
        """REC-8"""
        self.cloud.plug(THREE)
        with self.cloud.db.engine.begin() as connection:
            connection.exec_driver_sql(
                "UPDATE attach_handles SET attach_info = '[]' WHERE id = %d"
                % self.cloud.handles()[ONE].id)
        self.cloud.report()
        self.assertTrue(self.cloud.said('ERROR', 'is rejected',
                                        'is not usable'))
        self.assertNotIn(THREE, self.cloud.handles())

    def test_a_driver_with_unusable_attach_info_rejects_the_report(self):
        """REC-8: nothing counts as missing, and what comes is not offered."""
        self.cloud.plug(THREE)
        before = self.cloud.stored()
        with self.attach_info(managed=0):
            self.cloud.report()
        self.assertTrue(self.cloud.said(
            'ERROR', 'The report of host compute-1 is rejected',
            'Driver pci_driver', '"managed" is 0'))
        self.assertEqual(before, self.cloud.stored())
        self.cloud.restart_agent()
        self.assertIn(THREE, self.cloud.handles())

    def test_the_workaround_protects_what_is_allocated_all_the_same(self):
        """DSC-5, REC-3: it lifts the class check and nothing else."""
        self.cloud.plug(NVME, class_code=0x010802)
        self.cloud.configure('workarounds', allow_unsafe_devices=True)
        self.cloud.restart_agent()
        self.cloud.bind(NVME)
        before = self.cloud.stored()
        self.cloud.configure('pci', device_spec=[
            services.rule(managed=False)])
        error = str(self.assertRaises(services.StartRefused,
                                      self.cloud.restart_agent))
        self.assertIn('Device %s of host compute-1 is allocated' % NVME,
                      error)
        self.assertEqual(before, self.cloud.stored())
        # Without the workaround it is refused, and still its guest's.
        self.cloud.configure('pci', device_spec=[services.rule()])
        self.cloud.configure('workarounds', allow_unsafe_devices=False)
        error = str(self.assertRaises(services.StartRefused,
                                      self.cloud.restart_agent))
        self.assertIn('Device %s of host compute-1' % NVME, error)
        self.assertEqual(before, self.cloud.stored())

    def test_a_driver_with_unusable_attach_info_prevents_a_start(self):
        """REC-7: what is to be stored, as what is stored."""
        before = self.cloud.stored()
        with self.attach_info(managed='yes'):
            error = str(self.assertRaises(services.StartRefused,
                                          self.cloud.restart_agent))
        self.assertIn(
            'Driver pci_driver of host compute-1 gives PCI device %s attach '
            'info that is not usable: "managed" is "yes" and must be true or '
            'false' % ONE, error)
        self.assertIn('Correct the driver, or take it out of [agent] '
                      'enabled_drivers', error)
        self.assertEqual(before, self.cloud.stored())

    def test_a_driver_that_does_not_know_the_node(self):
        """DSC-7: -1 is what sysfs has for unknown."""
        self.cloud.plug(THREE)
        with self.attach_info(numa_node=-1):
            self.cloud.report()
        self.assertNotIn('numa_node',
                         self.cloud.handles()[THREE].attach_info)

    def attach_info(self, **settings):
        """Let the driver put these into all it reports anew."""
        real = records.attach_info

        def spoiled(*args):
            return attach_info.dump({**json.loads(real(*args)), **settings})

        return fixtures.MonkeyPatch(
            'cyborg.accelerator.common.records.attach_info', spoiled)

    def test_damaged_row_of_another_type_is_no_reason(self):
        with self.cloud.db.engine.begin() as connection:
            connection.exec_driver_sql(
                "UPDATE attach_handles SET attach_info = '[]', attach_type ="
                " 'TEST_PCI' WHERE id = %d" % self.cloud.handles()[ONE].id)
        self.cloud.plug(THREE)
        self.cloud.restart_agent()
        self.assertIn(THREE, self.cloud.handles())

    def test_device_that_cannot_be_offered_is_named_once(self):
        """B39: the same address twice is one device."""
        driver = self.cloud.agent.tracker.drivers[0].driver
        found = driver.discover()
        driver.discover = lambda: found + found[:1]
        for _ in range(2):
            self.cloud.report()
        self.assertEqual(2, len(self.cloud.stored().devices))
        self.assertEqual(1, len([
            message for message in self.logs.messages(
                'WARNING', 'cyborg.agent') if ONE in message
            and 'more than once' in message]))


class TestNames(base.TestCase):

    def test_agent_answers_to_both_names_of_its_host(self):
        """Rows name the provider, 2026.2 listened to ``[DEFAULT] host``."""
        cloud = self.useFixture(services.InOneProcess(self.conf, self.logs))
        cloud.placement.add_provider('compute-1.example.org')
        cloud.configure('agent',
                        resource_provider_name='compute-1.example.org')
        cloud.plug(ONE)
        cloud.start_agent()
        cloud.host = 'compute-1.example.org'
        # Deployables and providers are named after [DEFAULT] host, as ever.
        self.assertEqual(['compute-1_' + ONE], [
            device.deployables[0].name for device in cloud.stored().devices])
        for name in ('compute-1', 'compute-1.example.org'):
            self.assertRaises(
                exception.PciDeviceWrongAddressFormat,
                agent_rpcapi.AgentAPI().create_vgpu_mdev, self.context, name,
                'no address', 'nvidia-35', cloud.root, timeout=5)


class TestDiscovery(TestBase):
    """MIS-7: a failed discovery says nothing about any device."""

    def report_with(self, discover):
        driver = self.cloud.agent.tracker.drivers[0].driver
        driver.discover = discover
        before = self.cloud.stored()
        sent = self.conductor.calls.count('report_data')
        self.cloud.report()
        self.assertEqual(before, self.cloud.stored())
        self.assertEqual(sent, self.conductor.calls.count('report_data'))

    def test_driver_that_raises(self):
        def discover():
            raise OSError('bus error')
        self.report_with(discover)
        self.assertTrue(self.cloud.said(
            'ERROR', 'Driver pci_driver of host compute-1',
            'OSError: bus error'))

    def test_driver_that_answers_nothing(self):
        self.report_with(lambda: None)
        self.assertTrue(self.cloud.said(
            'ERROR', 'it answered NoneType instead of a list'))

    def test_driver_that_answers_nonsense(self):
        self.report_with(lambda: ['0000:3b:00.0'])
        self.assertTrue(self.cloud.said(
            'ERROR', 'its list holds str instead of DriverDevice'))

    #: What a driver left out or got wrong -> what the operator reads.
    INCOMPLETE = {
        'no-controlpath': (
            lambda device: delattr(device, '_obj_controlpath_id'),
            'DriverDevice (vendor 10de, model 25b6) has no controlpath_id'),
        'controlpath-without-info': (
            lambda device: delattr(device.controlpath_id, '_obj_cpid_info'),
            'controlpath_id of DriverDevice (vendor 10de, model 25b6) has no '
            'cpid_info'),
        'nothing-at-all': (
            lambda device: [delattr(device, '_obj_' + name) for name in (
                'vendor', 'model', 'type', 'controlpath_id')],
            'DriverDevice (vendor not set, model not set) has no'),
        'no-name': (
            lambda device: delattr(device.deployable_list[0], '_obj_name'),
            'deployable_list[0] of DriverDevice (vendor 10de, model 25b6) '
            'has no name'),
        'no-number': (
            lambda device: delattr(device.deployable_list[0],
                                   '_obj_num_accelerators'),
            'has no num_accelerators'),
        'no-attach-info': (
            lambda device: delattr(
                device.deployable_list[0].attach_handle_list[0],
                '_obj_attach_info'),
            'attach_handle_list[0] of deployable_list[0] of DriverDevice '
            '(vendor 10de, model 25b6) has no attach_info'),
        'no-attribute-value': (
            lambda device: delattr(
                device.deployable_list[0].attribute_list[0], '_obj_value'),
            'attribute_list[0] of deployable_list[0] of DriverDevice '
            '(vendor 10de, model 25b6) has no value'),
        'negative-number': (
            lambda device: setattr(device.deployable_list[0],
                                   'num_accelerators', -1),
            'num_accelerators of deployable_list[0] of DriverDevice '
            '(vendor 10de, model 25b6) is -1'),
        'no-database-takes-it': (
            lambda device: setattr(device.deployable_list[0],
                                   'num_accelerators', 2 ** 31),
            'is 2147483648, not a number from 0 to 2147483647'),
    }

    def test_driver_that_leaves_fields_out(self):
        """NotImplementedError ended the start of the agent (MIS-7)."""
        driver = self.cloud.agent.tracker.drivers[0].driver
        found = driver.discover()
        for name, (spoil, text) in self.INCOMPLETE.items():
            with self.subTest(name):
                device = found[1].obj_clone()
                spoil(device)
                self.report_with(lambda: [found[0], device])
                self.assertTrue(self.cloud.said(
                    'ERROR', 'Driver pci_driver of host compute-1', text),
                    self.logs.messages('ERROR'))
        driver.discover = lambda: found
        self.cloud.report()
        self.assertTrue(self.cloud.said('INFO', 'reports again'))

    def test_start_with_a_driver_that_leaves_fields_out(self):
        """MIS-7: the agent starts, and reports once the driver answers."""
        self.cloud.stop_agent()
        self.start_with_spoiled_driver()

    def test_capped_report_of_a_driver_that_leaves_fields_out(self):
        """REC-9: where nothing is reconciled it is found all the same."""
        self.cloud.stop_agent()
        self.cloud.configure('upgrade_levels', conductor='2026.2')
        self.start_with_spoiled_driver()

    def start_with_spoiled_driver(self):
        """The agent starts, and reports nothing without control paths."""

        class Forgetful(pci_driver.PCIDriver):

            def discover(self):
                found = super().discover()
                for device in found:
                    del device._obj_controlpath_id
                return found

        self.useFixture(fixtures.MonkeyPatch(
            'cyborg.accelerator.drivers.pci.pci.driver.PCIDriver',
            Forgetful))
        self.cloud.start_agent()
        self.assertTrue(self.cloud.said(
            'ERROR', 'Driver pci_driver', 'has no controlpath_id'))
        self.assertEqual(1, self.conductor.calls.count('report_data'))

    def test_empty_answer_is_an_answer(self):
        """Only what is free goes."""
        self.cloud.bind(ONE)
        driver = self.cloud.agent.tracker.drivers[0].driver
        driver.discover = list
        self.cloud.report()
        self.assertEqual({ONE}, set(self.cloud.handles()))


def _unknown():
    raise messaging.UnsupportedVersion('1.1', 'object_class_action_versions')

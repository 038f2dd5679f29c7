# SPDX-License-Identifier: Apache-2.0
"""Reports of a host: what is stored, what is published."""

import json
import uuid

import sqlalchemy as sa
import testscenarios

from cyborg import objects
from cyborg.common import exception
from cyborg.db import api
from cyborg.db.sqlalchemy import models
from cyborg.tests.functional.conductor import base

NAME = 'compute-1_0000:01:00.0'
OTHER = 'compute-1_0000:02:00.0'


class FirstReportTest(base.ConductorTestCase):

    def test_stores_and_publishes(self):
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
        # B34
        self.assertEqual({'OWNER_CYBORG', 'CUSTOM_A'},
                         self.placement.traits(self.provider(NAME)))

    def test_counts(self):
        self.report(base.device(1), base.device(2))
        info, = self.logs.messages('INFO', 'cyborg.conductor.report')
        self.assertIn('Report of host compute-1: 2 devices discovered, '
                      '2 new', info)

    def test_unknown_host_changes_nothing(self):
        """placement-traffic step 15, B32"""
        error = self.assertRaises(
            exception.PlacementResourceProviderNotFound, self.report,
            base.device(1, host='nohost'), host='nohost')
        self.assertIn('nohost', error.message)
        self.assertEqual(0, self.count(models.Device))
        self.assertRaises(exception.PlacementResourceProviderNotFound,
                          self.report, host='nohost')

    def test_empty_report(self):
        """placement-traffic step 20"""
        self.report()
        self.assertEqual(0, self.count(models.Device))

    def test_one_device_twice(self):
        """B39: one row, one provider, one warning."""
        for _cycle in range(2):
            self.report(base.device(1), base.device(1))
        self.assertEqual(1, self.count(models.Device))
        self.assertEqual(1, self.count(models.AttachHandle))
        warning, = self.logs.messages('WARNING')
        self.assertIn('0000:01:00.0', warning)

    def test_one_handle_twice(self):
        self.report(base.device(1, handles=base.handles(1) * 2, total=1))
        self.assertEqual(1, self.count(models.AttachHandle))

    def test_a_handle_without_meaning_rejects_the_report(self):
        """It is a fault of the driver, as what is stored like that is one."""
        bad = base.device(2)
        bad.deployable_list[0].attach_handle_list[0].attach_info = '{}'
        error = self.assertRaises(exception.DeviceAttachInfoInvalid,
                                  self.report, base.device(1), bad)
        self.assertIn('no text under "domain"', str(error))
        self.assertEqual(0, self.count(models.Device))

    def test_unknown_attach_type(self):
        bad = base.device(2, handles=[
            base.handle('WEIRD', **base.address(2))])
        self.report(base.device(1), bad)
        self.report(base.device(1), bad)
        self.assertEqual(1, self.count(models.Device))
        warning, = self.logs.messages('WARNING')
        self.assertIn('"WEIRD"', warning)

    def test_invalid_trait(self):
        """FAULT-22: it is not offered, and the error does not vanish."""
        bad = base.device(2, traits=('B', ' not a name'))
        for _cycle in range(2):
            self.report(base.device(1), bad)
        self.assertIsNone(self.placement.provider(self.provider(OTHER)))
        self.assertIsNone(self.deployable(OTHER).rp_uuid)
        self.assertAmounts({'CUSTOM_PCI': (1, 0)}, NAME)
        error, = self.logs.messages('ERROR')
        self.assertIn('CUSTOM_ not a name', error)
        self.report(base.device(1), base.device(2))
        self.assertEqual(self.provider(OTHER), self.deployable(OTHER).rp_uuid)

    def test_provider_of_another_service(self):
        """B33: Nova has a provider of that name."""
        self.placement.add_provider('compute-1_0000:02:00.0', self.root)
        self.report(base.device(1), base.device(2))
        self.assertIsNone(self.deployable(OTHER).rp_uuid)
        self.assertAmounts({'CUSTOM_PCI': (1, 0)}, NAME)
        self.assertEqual(1, len(self.logs.messages('ERROR')))

    def test_device_state_of_the_driver(self):
        device = base.device(1)
        device.device_state = 'pending_cleaning'
        self.report(device)
        self.assertEqual('pending_cleaning',
                         self.host().devices[0].device_state)

    def test_other_hosts_are_not_touched(self):
        self.placement.add_provider('compute-9')
        self.report(base.device(1))
        self.report(base.device(1, host='compute-9'), host='compute-9')
        self.report(host='compute-9')
        self.assertEqual(1, len(self.host().devices))
        self.assertEqual((), self.host('compute-9').devices)
        self.assertAmounts({'CUSTOM_PCI': (1, 0)}, NAME)


class StrictDatabaseTest(base.ConductorTestCase):
    """MariaDB and PostgreSQL refuse what is too long for a column."""

    scenarios = [(name, {'database': name})
                 for name in ('mariadb', 'postgresql')]

    def test_row_the_database_refuses(self):
        """The others are stored, and the log names the device."""
        bad = base.device(2, vendor='v' * 300)
        for _cycle in range(2):
            self.report(base.device(1), bad, base.device(3))
        self.assertEqual(2, self.count(models.Device))
        self.assertAmounts({'CUSTOM_PCI': (1, 0)},
                           'compute-1_0000:03:00.0')
        self.assertIsNone(self.placement.provider(self.provider(OTHER)))
        warning, = self.logs.messages('WARNING')
        self.assertIn('0000:02:00.0', warning)

    def test_change_the_database_refuses(self):
        self.report(base.device(1), base.device(2))
        for _cycle in range(2):
            self.report(base.device(1, vendor='v' * 300),
                        base.device(2, traits=('B',)))
        self.assertEqual('10de', self.host().devices[0].vendor)
        self.assertEqual({'OWNER_CYBORG', 'CUSTOM_B'},
                         self.placement.traits(self.provider(OTHER)))
        self.assertEqual(1, len(self.logs.messages('WARNING')))


class ChangedReportTest(base.ConductorTestCase):

    def setUp(self):
        super().setUp()
        self.report(base.device(1), base.device(2))
        self.logs.clear()

    def attributes(self, name=NAME):
        return {a.key: a.value for a in self.deployable(name).attributes}

    def test_device_columns(self):
        before = self.host().devices[0]
        self.report(base.device(1, device_type='GPU'), base.device(2))
        after = self.host().devices[0]
        self.assertEqual(('GPU', before.uuid), (after.type, after.uuid))
        self.assertLogged('INFO', '1 changed')

    def test_traits(self):
        """placement-traffic steps 3 to 5, B35"""
        self.report(base.device(1, traits=('B', 'C')), base.device(2))
        self.assertEqual({'rc': 'CUSTOM_PCI', 'trait0': 'CUSTOM_B',
                          'trait1': 'CUSTOM_C'}, self.attributes())
        self.assertEqual({'OWNER_CYBORG', 'CUSTOM_B', 'CUSTOM_C'},
                         self.placement.traits(self.provider(NAME)))
        self.report(base.device(1, traits=()), base.device(2))
        self.assertEqual({'rc': 'CUSTOM_PCI'}, self.attributes())
        self.assertEqual({'OWNER_CYBORG'},
                         self.placement.traits(self.provider(NAME)))
        self.assertEqual({'OWNER_CYBORG', 'CUSTOM_A'},
                         self.placement.traits(self.provider(OTHER)))
        # FAULT-23: what others may use is never deleted.
        self.assertLessEqual({'CUSTOM_A', 'CUSTOM_B', 'CUSTOM_C'},
                             self.placement.all_traits())

    def test_only_trait_attributes_become_traits(self):
        """FAULT-22"""
        device = base.device(1)
        device.deployable_list[0].attribute_list.append(
            objects.DriverAttribute(key='iommu_group', value='100'))
        self.report(device, base.device(2))
        self.assertEqual('100', self.attributes()['iommu_group'])
        self.assertEqual({'OWNER_CYBORG', 'CUSTOM_A'},
                         self.placement.traits(self.provider(NAME)))

    def test_volatile_attribute(self):
        """B25: the attribute is new, the handle the same."""
        handle = self.handle(NAME)
        for group in ('100', '125'):
            device = base.device(1)
            device.deployable_list[0].attribute_list.append(
                objects.DriverAttribute(key='iommu_group', value=group))
            self.report(device, base.device(2))
        self.assertEqual('125', self.attributes()['iommu_group'])
        self.assertEqual(handle, self.handle(NAME))

    def test_resource_class(self):
        """B15: the new class is in, the old one out, others keep it."""
        self.report(base.device(1, rc='CUSTOM_OTHER'), base.device(2))
        self.assertAmounts({'CUSTOM_OTHER': (1, 0)}, NAME)
        self.assertAmounts({'CUSTOM_PCI': (1, 0)}, OTHER)
        self.assertEqual('CUSTOM_OTHER', self.attributes()['rc'])

    def test_resource_class_of_allocated_device(self):
        """B36: the old class stays until the device is free."""
        consumer = self.placement.allocate(self.provider(NAME), 'CUSTOM_PCI')
        changed = base.device(1, rc='CUSTOM_OTHER')
        self.report(changed, base.device(2))
        self.assertEqual(
            {'CUSTOM_PCI': 1}, self.placement.usages(self.provider(NAME)))
        self.placement.deallocate(consumer)
        self.report(changed, base.device(2))
        self.assertAmounts({'CUSTOM_OTHER': (1, 0)}, NAME)

    def test_one_device_becomes_two_functions(self):
        """B22: consistent in the database and in Placement."""
        self.report(base.device(1, handles=base.handles(2)), base.device(2))
        self.assertEqual(2, len(self.deployable(NAME).handles))
        self.assertAmounts({'CUSTOM_PCI': (2, 0)}, NAME)

    def test_deployable_renamed(self):
        """placement-traffic step 14"""
        self.report(base.device(1, name='compute-1_renamed'), base.device(2))
        self.assertEqual(
            'compute-1_renamed', self.host().devices[0].deployables[0].name)
        self.assertIsNone(self.placement.provider(self.provider(NAME)))
        self.assertAmounts({'CUSTOM_PCI': (1, 0)}, 'compute-1_renamed')

    def test_device_at_another_address_with_its_old_name(self):
        """B23: bus numbers shift; one provider, one row afterwards."""
        name = 'compute-1_FakeDevice'
        self.report(base.device(1, name=name))
        for _cycle in range(2):
            self.report(base.device(4, name=name))
        self.assertEqual(1, self.count(models.Device))
        self.assertAmounts({'CUSTOM_PCI': (1, 0)}, name)
        self.assertEqual(self.provider(name), self.deployable(name).rp_uuid)

    def test_damaged_handle_is_left_alone(self):
        """The others of the host are processed all the same."""
        damaged = self.handle(NAME)
        self.change(models.AttachHandle, damaged.id, attach_info='broken')
        for _cycle in range(2):
            self.report(base.device(1), base.device(2), base.device(3))
        self.assertEqual('broken', self.handle(NAME).attach_info)
        self.assertEqual(3, self.count(models.Device))
        error, = self.logs.messages('ERROR')
        self.assertIn(damaged.uuid, error)

    def test_damaged_control_path(self):
        """It matches nothing: free, it is replaced within two reports."""
        path = self.host().devices[0].controlpath
        self.change(models.ControlpathID, path.id, cpid_info='broken')
        for _cycle in range(2):
            self.report(base.device(1), base.device(2))
        self.assertEqual(2, self.count(models.Device))
        self.assertAmounts({'CUSTOM_PCI': (1, 0)}, NAME)
        self.assertEqual(self.provider(NAME), self.deployable(NAME).rp_uuid)


class MetadataTest(base.ConductorTestCase):
    """``managed``, ``stateful`` and ``numa_node`` in a report."""

    def info(self, name=NAME):
        return json.loads(self.handle(name).attach_info)

    def test_new_handle_keeps_all(self):
        self.report(base.device(1, managed=False, stateful=True, numa_node=0))
        self.assertEqual(
            '{"bus": "01", "device": "00", "domain": "0000", "function": '
            '"0", "managed": false, "numa_node": 0, "stateful": true}',
            self.handle(NAME).attach_info)

    def test_refresh_on_allocated_handle(self):
        """B41, REC-6: one handle, still allocated, no free twin."""
        self.report(base.device(1))
        before, arq = self.handle(NAME), self.arq()
        self.bind(arq, name=NAME)
        self.report(base.device(1, numa_node=1, stateful=True))
        after = self.handle(NAME)
        self.assertEqual((before.id, before.uuid, True, (arq,)),
                         (after.id, after.uuid, after.in_use,
                          after.arq_uuids))
        self.assertEqual((1, True), (self.info()['numa_node'],
                                     self.info()['stateful']))
        self.report(base.device(1))
        self.assertEqual(before.attach_info, self.handle(NAME).attach_info)

    def test_report_never_changes_managed(self):
        """REC-9: whoever reports; it says so once."""
        self.report(base.device(1), base.device(2, managed=False))
        before = self.host()
        for _cycle in range(2):
            self.report(base.device(1, managed=False), base.device(2))
        self.assertEqual(before, self.host())
        warnings = self.logs.messages('WARNING')
        self.assertEqual(2, len(warnings))
        for name, warning in zip((NAME, OTHER), warnings):
            self.assertIn(self.handle(name).uuid, warning)
        self.assertLogged('INFO', '2 changes refused')

    def test_managed_is_not_smuggled_in(self):
        """REC-6, REC-9"""
        self.report(base.device(1))
        self.report(base.device(1, managed=False, numa_node=1))
        self.assertNotIn('managed', self.info())
        self.assertEqual(1, self.info()['numa_node'])

    def test_equal_meaning_is_no_change(self):
        """REC-2: rows that 2026.2 wrote are not touched."""
        self.report(base.device(1))
        handle = self.handle(NAME)
        old = ('{"function": "0", "domain": "0", "bus": "1", "device": "0", '
               '"physical_network": "net1"}')
        self.change(models.AttachHandle, handle.id, attach_info=old)
        self.report(base.device(1, managed=True, stateful=False,
                                numa_node=None, physical_network='net1'))
        self.assertEqual(old, self.handle(NAME).attach_info)
        self.assertEqual(handle.uuid, self.handle(NAME).uuid)

    def test_other_information_waits_for_the_allocation(self):
        """REC-10"""
        self.report(base.device(1, physical_network='net1'))
        arq = self.arq()
        self.bind(arq, name=NAME)
        changed = base.device(1, physical_network='net2')
        for _cycle in range(2):
            self.report(changed)
        self.assertEqual('net1', self.info()['physical_network'])
        warning, = self.logs.messages('WARNING')
        self.assertIn(arq, warning)
        self.unbind(arq)
        self.report(changed)
        self.assertEqual('net2', self.info()['physical_network'])

    def test_attach_type(self):
        self.report(base.device(1))
        self.report(base.device(1, handles=[
            base.handle('TEST_PCI', **base.address(1))]))
        self.assertEqual('TEST_PCI', self.handle(NAME).attach_type)


class EarlierRowsTest(base.ConductorTestCase):
    """Rows of 2026.2 have random UUIDs and other forms of text."""

    def setUp(self):
        super().setUp()
        self.report(base.device(1), base.device(2))
        with api.writer(self.context) as session:
            for model in (models.Device, models.ControlpathID,
                          models.Deployable, models.Attribute,
                          models.AttachHandle):
                for row_id in session.scalars(sa.select(model.id)).all():
                    session.execute(
                        sa.update(model).where(model.id == row_id).values(
                            uuid=str(uuid.uuid4())))
            session.execute(sa.update(models.ControlpathID).where(
                models.ControlpathID.id == 1).values(
                    cpid_info='{"domain":"0000","bus":"01","device":"00",'
                              '"function":"0"}'))
        self.before = self.host()

    def test_rows_stay_as_they_are(self):
        for _cycle in range(2):
            self.report(base.device(1), base.device(2))
        self.assertEqual(self.before, self.host())

    def test_rows_are_removed_and_made_anew(self):
        self.report(base.device(2))
        self.report(base.device(1), base.device(2))
        self.assertEqual(2, self.count(models.Device))
        self.assertAmounts({'CUSTOM_PCI': (1, 0)}, NAME)

    def test_state_of_rows_without_one(self):
        """The conductor fills it in at its start; a report leaves it."""
        self.change(models.Device, 1, device_state=None)
        self.report(base.device(1), base.device(2))
        self.assertIsNone(self.host().devices[0].device_state)


load_tests = testscenarios.load_tests_apply_scenarios

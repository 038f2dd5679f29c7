# SPDX-License-Identifier: Apache-2.0
"""Objects to plain values."""

import json
import pathlib

from cyborg import objects
from cyborg.common import exception
from cyborg.inventory import values
from cyborg.objects import base as objects_base
from cyborg.objects import inventory_values
from cyborg.tests import base

objects.register_all()


class TestDiscovered(base.TestCase):

    def test_a_recorded_report(self):
        examples = json.loads(pathlib.Path(__file__).with_name(
            'rpc-examples.json').read_text())
        devices = objects_base.CyborgObjectSerializer().deserialize_entity(
            self.context, examples['driver_device_list'])
        info = ('{"bus": "3b", "device": "00", "domain": "0000", '
                '"function": "0"}')
        self.assertEqual(values.DiscoveredDevice(
            cpid_type='PCI', cpid_info=info, type='GPU', vendor='10de',
            model='1eb8',
            std_board_info='{"product_id": "1eb8", "controller": null}',
            vendor_board_info='miss_vb_info',
            deployables=(values.DiscoveredDeployable(
                name='compute-1_0000:3b:00.0', num_accelerators=1,
                driver_name='NVIDIA',
                attributes=(('rc', 'CUSTOM_PCI'),
                            ('trait0', 'OWNER_CYBORG'),
                            ('trait1', 'CUSTOM_PCI_NVIDIA'),
                            ('trait2', 'CUSTOM_PCI_PRODUCT_ID_1EB8')),
                handles=(values.DiscoveredHandle('PCI', info),)),)),
            inventory_values.discovered_devices(devices)[1])

    def test_fields_that_a_driver_left_out(self):
        device = objects.DriverDevice(
            type='SSD', vendor='v', model='m',
            controlpath_id=objects.DriverControlPathID(
                cpid_type='PCI', cpid_info='{}'))
        self.assertEqual(
            values.DiscoveredDevice('PCI', '{}', 'SSD', 'v', 'm'),
            inventory_values.discovered_device(device))
        device.deployable_list = [objects.DriverDeployable(
            name='n', num_accelerators=1, attribute_list=None)]
        device.stub = True
        device.device_state = 'error'
        self.assertEqual(
            values.DiscoveredDevice(
                'PCI', '{}', 'SSD', 'v', 'm', device_state='error', stub=True,
                deployables=(values.DiscoveredDeployable('n', 1),)),
            inventory_values.discovered_device(device))

    def handle(self, kind='PCI', **settings):
        text = json.dumps({'domain': '0000', 'bus': '3b', 'device': '00',
                           'function': '0', **settings}, sort_keys=True)
        device = objects.DriverDevice(
            type='PCI', vendor='v', model='m',
            controlpath_id=objects.DriverControlPathID(
                cpid_type='PCI', cpid_info='{}'),
            deployable_list=[objects.DriverDeployable(
                name='n', num_accelerators=1, attach_handle_list=[
                    objects.DriverAttachHandle(
                        attach_type=kind, attach_info=text)])])
        return inventory_values.discovered_device(device).deployables[
            0].handles[0]

    def test_attach_info_without_a_clear_meaning(self):
        """REC-7, REC-8: a fault of the driver, which a report tells."""
        for name, value, reason in (
                ('managed', 'true', '"managed" is "true" and must be true or '
                 'false'),
                ('managed', 1, '"managed" is 1 and must be true or false'),
                ('stateful', None, '"stateful" is null and must be true or '
                 'false'),
                ('numa_node', '0', '"numa_node" is "0" and must be an '
                 'integer from 0 or null'),
                ('numa_node', -2, '"numa_node" is -2 and must be an integer '
                 'from 0 or null'),
                ('numa_node', -1.0, '"numa_node" is -1.0 and must be an '
                 'integer from 0 or null'),
                ('bus', 59, 'no text under "bus"')):
            error = self.assertRaises(exception.DeviceAttachInfoInvalid,
                                      self.handle, **{name: value})
            self.assertIn('is not usable: %s in {' % reason, error.message)
            self.assertIn('Correct the driver', error.message)
        # Of other types only the plan says what is of no use.
        self.handle('MDEV', managed='true')

    def test_a_node_that_sysfs_does_not_know(self):
        """DSC-7"""
        plain = self.handle().attach_info
        for kind in ('PCI', 'MDEV', 'TEST_PCI'):
            self.assertEqual(plain, self.handle(
                kind, numa_node=-1).attach_info)
        self.assertIn('"numa_node": 0', self.handle(numa_node=0).attach_info)

    def test_what_an_earlier_agent_sends_incomplete(self):
        """The conductor names it; NotImplementedError says nothing."""
        device = objects.DriverDevice(type='SSD', vendor='v', model='m')
        error = self.assertRaises(
            exception.DriverDeviceInvalid,
            inventory_values.discovered_devices, [device])
        self.assertEqual('DriverDevice (vendor v, model m) has no '
                         'controlpath_id', error.message)


class TestPersisted(base.TestCase):

    def test_orphans_are_left_out(self):
        """Rows whose parent went away while the tables were read."""
        inventory = objects.HostInventory(
            hostname='h',
            devices=objects.DeviceList(objects=[]),
            controlpaths=objects.ControlpathIDList(objects=[]),
            deployables=objects.DeployableList(objects=[
                objects.Deployable(
                    id=1, uuid='10000000-0000-4000-8000-000000000001',
                    device_id=7, name='n', num_accelerators=1, rp_uuid=None,
                    driver_name=None, arq_uuids=[])]),
            attributes=objects.AttributeList(objects=[]),
            attach_handles=objects.AttachHandleList(objects=[]))
        self.assertEqual(values.PersistedHost('h'),
                         inventory_values.persisted_host(inventory))

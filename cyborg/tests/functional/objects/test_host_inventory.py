# SPDX-License-Identifier: Apache-2.0
"""A host's inventory as one object, here and from afar (IND-2)."""

from cyborg import objects
from cyborg.db import host_inventory
from cyborg.objects import base as objects_base
from cyborg.objects import inventory_values
from cyborg.tests.fixtures import rows
from cyborg.tests.functional.objects import base


class TestHostInventory(base.ObjectTestCase):

    def setUp(self):
        super().setUp()
        self.card = rows.device(handles=2, rp_uuid=rows.device(
            hostname='compute-2', bus=9).device.uuid)
        self.arq = rows.arq(rows.profile(), self.card.handles[1])

    def _get(self, hostname='compute-1'):
        return objects.HostInventory.get_by_host(self.context, hostname)

    def test_lists(self):
        inventory = self._get()
        self.assertEqual('compute-1', inventory.hostname)
        self.assertIsInstance(inventory.devices, objects.DeviceList)
        device, = inventory.devices
        self.assertEqual((self.card.device.id, '10de', 'enabled'),
                         (device.id, device.vendor, device.status))
        self.assertIsNotNone(device.created_at)
        path, = inventory.controlpaths
        self.assertEqual(rows.address(), path.cpid_info)
        part, = inventory.deployables
        self.assertEqual([self.arq.uuid], part.arq_uuids)
        note, = inventory.attributes
        self.assertEqual(('rc', 'CUSTOM_PCI'), (note.key, note.value))
        self.assertEqual([[], [self.arq.uuid]], [
            handle.arq_uuids for handle in inventory.attach_handles])
        self.assertEqual(set(), inventory.obj_what_changed())

    def test_values(self):
        """Agent and conductor plan with the same values."""
        with objects_base.local():
            expected = host_inventory.load(self.context, 'compute-1')
        self.assertEqual(expected,
                         inventory_values.persisted_host(self._get()))

    def test_an_unknown_host(self):
        inventory = self._get('nowhere')
        self.assertEqual(0, len(inventory.devices))
        self.assertEqual(0, len(inventory.attach_handles))

    def test_members_can_be_used(self):
        """They have the context they were asked with."""
        handle = self._get().attach_handles[0]
        handle.update_attach_info(rows.address(managed=False))
        self.assertEqual(rows.address(managed=False),
                         rows.read(self.card.handles[0]).attach_info)

    def test_four_statements(self):
        with self.db.count_statements() as sql:
            self._get()
        self.assertEqual(4, len(sql))


class TestHostInventoryRemotely(base.RemoteMixin, TestHostInventory):

    def test_one_call(self):
        """PERF-1: whatever the number of devices."""
        for bus in range(20, 25):
            rows.device(bus=bus, handles=3)
        self.assertEqual(6, len(self._get().devices))
        self.assertEqual([('HostInventory', 'get_by_host')],
                         self.conductor.calls)

    def test_an_agent_one_version_behind(self):
        """IND-4: members come in the versions of its manifest."""
        manifest = {
            'HostInventory': '1.0', 'DeviceList': '1.0', 'Device': '1.5',
            'ControlpathIDList': '1.0', 'ControlpathID': '1.1',
            'DeployableList': '1.0', 'Deployable': '1.1',
            'AttributeList': '1.0', 'Attribute': '1.0',
            'AttachHandleList': '1.0', 'AttachHandle': '1.0'}
        received = self.api.object_class_action_versions(
            self.context, 'HostInventory', 'get_by_host', manifest,
            ('compute-1',), {})
        handle = received.attach_handles[0]
        self.assertEqual('1.0', handle.VERSION)
        self.assertFalse(handle.obj_attr_is_set('arq_uuids'))
        self.assertEqual('1.1', received.deployables[0].VERSION)
        self.assertEqual('1.5', received.devices[0].VERSION)

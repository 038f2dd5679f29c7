# SPDX-License-Identifier: Apache-2.0
"""Devices, deployables, attributes and profiles as objects."""

from oslo_utils import uuidutils

from cyborg import objects
from cyborg.common import exception
from cyborg.tests.fixtures import rows
from cyborg.tests.functional.objects import base


class TestDevices(base.ObjectTestCase):

    def test_read(self):
        card = rows.device(std_board_info='{}')
        device = objects.Device.get(self.context, card.device.uuid)
        self.assertEqual((card.device.id, '{}', None),
                         (device.id, device.std_board_info,
                          device.vendor_board_info))
        self.assertEqual(device.id, objects.Device.get_by_id(
            self.context, device.id).id)
        self.assertEqual([device.id], [each.id for each in objects.Device.list(
            self.context, type='PCI', limit=5)])
        self.assertRaises(exception.ResourceNotFound, objects.Device.get,
                          self.context, 'none')

    def test_save_writes_what_changed(self):
        card = rows.device()
        device = objects.Device.get(self.context, card.device.uuid)
        rows.change(card.device, vendor='changed meanwhile')
        device.status = 'maintaining'
        device.save()
        stored = rows.read(card.device)
        self.assertEqual(('maintaining', 'changed meanwhile'),
                         (stored.status, stored.vendor))
        self.assertEqual(set(), device.obj_what_changed())
        with self.db.count_statements() as sql:
            device.save()
        self.assertEqual(0, len(sql))

    def test_control_path(self):
        card = rows.device()
        path = objects.ControlpathID.get_by_device_id(self.context,
                                                      card.device.id)
        self.assertEqual(card.controlpath.uuid, path.uuid)
        error = self.assertRaises(
            exception.ResourceNotFound,
            objects.ControlpathID.get_by_device_id, self.context, 99)
        self.assertEqual('ControlpathID not found with device_id=99',
                         error.message)


class TestDeployables(base.ObjectTestCase):

    def test_read_and_save(self):
        rp_uuid = uuidutils.generate_uuid()
        card = rows.device(rp_uuid=rp_uuid)
        part = objects.Deployable.get(self.context, card.deployable.uuid)
        self.assertEqual(part.id, objects.Deployable.get_by_rp_uuid(
            self.context, rp_uuid).id)
        self.assertEqual([part.id], [
            each.id for each in objects.Deployable.list(
                self.context, name=part.name)])
        part.bitstream_id = uuidutils.generate_uuid()
        part.save()
        self.assertEqual(part.bitstream_id,
                         rows.read(card.deployable).bitstream_id)

    def test_attributes_of_many(self):
        """API lists: one statement for deployables, one for attributes."""
        for bus in range(4):
            rows.device(bus=bus)
        with self.db.count_statements() as sql:
            parts = objects.Deployable.list(self.context)
            notes = objects.Attribute.list(
                self.context, deployable_ids=[part.id for part in parts])
            self.assertEqual(4, len(notes))
        self.assertEqual(2, len(sql))


class TestAttributes(base.ObjectTestCase):

    def _attribute(self, **values):
        return objects.Attribute(self.context, **values)

    def test_create_and_destroy(self):
        part = rows.device(attributes=()).deployable
        note = self._attribute(deployable_id=part.id, key='k', value='v')
        note.create()
        self.assertTrue(uuidutils.is_uuid_like(note.uuid))
        self.assertEqual('v', objects.Attribute.get(
            self.context, note.uuid).value)
        note.destroy()
        self.assertEqual(0, len(objects.Attribute.list(self.context)))
        self.assertRaises(exception.ResourceNotFound, note.destroy)

    def test_what_is_needed(self):
        error = self.assertRaises(exception.AttributeInvalid,
                                  self._attribute(key='k').create)
        self.assertEqual('The attribute is not valid: it needs '
                         'deployable_id, key and value.', error.message)

    def test_a_uuid_that_is_none(self):
        """Known fault 8."""
        part = rows.device().deployable
        note = self._attribute(deployable_id=part.id, key='k', value='v',
                               uuid='xyz')
        error = self.assertRaises(exception.InvalidUUID, note.create)
        self.assertEqual('xyz is not a UUID.', error.message)
        self.assertEqual(1, len(objects.Attribute.list(self.context)))


class TestProfiles(base.ObjectTestCase):

    def _profile(self, **values):
        return objects.DeviceProfile(self.context, **{
            'name': 'dp', 'groups': [{'resources:FPGA': '1'}], **values})

    def test_create_and_read(self):
        profile = self._profile(description='text')
        profile.create()
        for found in (
                objects.DeviceProfile.get_by_uuid(self.context, profile.uuid),
                objects.DeviceProfile.get_by_name(self.context, 'dp'),
                objects.DeviceProfile.get_by_id(self.context, profile.id),
                *objects.DeviceProfile.list(self.context, names=['dp'])):
            self.assertEqual(
                (profile.uuid, 'dp', 'text', [{'resources:FPGA': '1'}]),
                (found.uuid, found.name, found.description, found.groups))
        profile.destroy()
        self.assertEqual([], objects.DeviceProfile.list(self.context))

    def test_id_and_timestamps_are_ours(self):
        """Known fault 9."""
        profile = self._profile(id=77, created_at='2000-01-01T00:00:00Z')
        profile.create()
        self.assertNotEqual(77, profile.id)
        self.assertNotEqual(2000, profile.created_at.year)

    def test_what_is_needed(self):
        self.assertRaises(exception.DeviceProfileNameNeeded,
                          self._profile(name='').create)
        self.assertRaises(
            exception.DeviceProfileGroupsExpected,
            objects.DeviceProfile(self.context, name='dp').create)
        self.assertRaises(exception.InvalidUUID,
                          self._profile(uuid='xyz').create)

    def test_a_name_that_is_too_long(self):
        """Known fault 10: MariaDB failed at it, SQLite took it."""
        self._profile(name='n' * 255).create()
        error = self.assertRaises(exception.InvalidParameterValue,
                                  self._profile(name='n' * 256).create)
        self.assertEqual(
            'the name of a device profile has at most 255 characters, this '
            'one has 256.', error.message)

    def test_odd_uuids_from_2026_2(self):
        """Known fault 8: listed, shown and deleted all the same."""
        rows.profile(uuid='not-a-uuid')
        profile = objects.DeviceProfile.get_by_name(self.context, 'dp1')
        self.assertEqual('not-a-uuid', profile.uuid)
        profile.destroy()
        self.assertEqual([], objects.DeviceProfile.list(self.context))

    def test_damaged_groups(self):
        for number, text in enumerate(('', '[]', '{"groups": {}}',
                                       '{"groups": ["x"]}')):
            rows.profile(name='bad-%d' % number, profile_json=text)
        rows.profile(name='good')
        found = objects.DeviceProfile.list(self.context)
        self.assertEqual(5, len(found))
        self.assertEqual([[]] * 4, [each.groups for each in found[:4]])
        self.assertLogged('WARNING', 'Device profile %s has damaged groups'
                          % found[0].uuid)

# SPDX-License-Identifier: Apache-2.0
"""Device profiles: typed errors that are the same on every database."""

from cyborg.common import exception
from cyborg.db import device_profiles
from cyborg.tests.fixtures import rows
from cyborg.tests.functional.db import base

GROUPS = [{'resources:CUSTOM_PCI': '1', 'trait:A': 'required'}, {'b': '2'}]


class TestCreate(base.DatabaseTestCase):

    def test_create(self):
        device_profiles.create(self.context, uuid='u', name='dp',
                               groups=GROUPS, description='text')
        row = device_profiles.get_by_uuid(self.context, 'u')
        self.assertEqual(('dp', 'text'), (row.name, row.description))
        self.assertEqual(
            '{"groups": [{"resources:CUSTOM_PCI": "1", "trait:A": '
            '"required"}, {"b": "2"}]}', row.profile_json)

    def test_the_name_is_taken(self):
        """B59: 409 on every database, no text of the database parsed."""
        rows.profile(name='dp')
        error = self.assertRaises(
            exception.DuplicateDeviceProfileName, device_profiles.create,
            self.context, uuid='u', name='dp', groups=[])
        self.assertEqual('A device profile named dp exists already.',
                         error.message)
        self.assertEqual(409, error.code)

    def test_the_uuid_is_taken(self):
        """A create_schema database has no unique UUIDs of profiles."""
        rows.profile(name='dp', uuid='u')
        error = self.assertRaises(
            exception.DeviceProfileAlreadyExists, device_profiles.create,
            self.context, uuid='u', name='other', groups=[])
        self.assertEqual('A device profile with uuid u exists already.',
                         error.message)

    def test_twins_from_2026_2(self):
        """Two profiles with one UUID: each is there under its name."""
        for name in ('dp', 'twin'):
            rows.profile(name=name, uuid='u')
        self.assertEqual('twin', device_profiles.get_by_name(
            self.context, 'twin').name)
        self.assertRaises(exception.ExpectedOneObject,
                          device_profiles.get_by_uuid, self.context, 'u')


class TestReadAndDelete(base.DatabaseTestCase):

    def test_list(self):
        ids = [rows.profile(name=name).id for name in ('c', 'a', 'b')]

        def found(names=None):
            return [row.id for row in device_profiles.list_(self.context,
                                                            names)]

        self.assertEqual(ids, found())
        self.assertEqual([ids[0], ids[2]], found(['b', 'c', 'nope']))
        self.assertEqual([], found([]))

    def test_not_found(self):
        error = self.assertRaises(
            exception.ResourceNotFound, device_profiles.get_by_uuid,
            self.context, 'none')
        self.assertEqual('Device Profile not found with uuid=none',
                         error.message)
        self.assertRaises(exception.ResourceNotFound, device_profiles.delete,
                          self.context, 'none')

    def test_delete(self):
        row = rows.profile()
        device_profiles.delete(self.context, row.uuid)
        self.assertIsNone(rows.read(row))

    def test_delete_in_use(self):
        """Known fault 16."""
        row = rows.profile(name='used')
        rows.arq(row)
        rows.arq(row)
        error = self.assertRaises(
            exception.DeviceProfileInUse, device_profiles.delete,
            self.context, row.uuid)
        self.assertEqual(
            'Device profile used is used by 2 accelerator request(s): '
            'delete those first.', error.message)
        self.assertEqual(409, error.code)
        self.assertIsNotNone(rows.read(row))

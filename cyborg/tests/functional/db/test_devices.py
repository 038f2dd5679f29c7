# SPDX-License-Identifier: Apache-2.0
"""Devices and deployables: filters in SQL, pages, missing states."""

from cyborg.common import exception
from cyborg.db import deployables
from cyborg.db import devices
from cyborg.tests.fixtures import rows
from cyborg.tests.functional.db import base


class TestList(base.DatabaseTestCase):

    def setUp(self):
        super().setUp()
        self.gpu = rows.device(bus=1, type='GPU').device
        self.ssd = rows.device(bus=2, type='SSD', vendor='1bd4').device
        self.far = rows.device(bus=3, type='GPU',
                               hostname='compute-2').device

    def _list(self, **filters):
        return [row.id for row in devices.list_(self.context, **filters)]

    def test_all_oldest_first(self):
        with self.db.count_statements() as sql:
            self.assertEqual([self.gpu.id, self.ssd.id, self.far.id],
                             self._list())
        self.assertEqual(1, len(sql))

    def test_filters_newest_first(self):
        self.assertEqual([self.far.id, self.gpu.id], self._list(type='GPU'))
        self.assertEqual([self.ssd.id], self._list(vendor='1bd4'))
        self.assertEqual([self.gpu.id], self._list(
            type='GPU', hostname='compute-1'))

    def test_a_type_that_does_not_exist(self):
        """PostgreSQL refuses to compare an enum with other text."""
        self.assertEqual([], self._list(type='foo'))

    def test_pages(self):
        self.assertEqual([self.far.id, self.ssd.id], self._list(limit=2))
        self.assertEqual([self.gpu.id],
                         self._list(limit=2, marker=self.ssd.uuid))
        self.assertEqual([self.gpu.id, self.ssd.id],
                         self._list(sort_key='id', sort_dir='asc', limit=2))

    def test_bad_pages(self):
        error = self.assertRaises(exception.InvalidParameterValue,
                                  self._list, sort_key='colour')
        self.assertEqual('sort_key is "colour", which is not a field.',
                         error.message)
        error = self.assertRaises(exception.InvalidParameterValue,
                                  self._list, sort_dir='up')
        self.assertEqual('sort_dir is "up"; it can be asc or desc.',
                         error.message)
        error = self.assertRaises(exception.ResourceNotFound,
                                  self._list, marker='nowhere')
        self.assertEqual('Device not found with uuid=nowhere', error.message)

    def test_update(self):
        devices.update(self.context, self.gpu.uuid, {'status': 'maintaining'})
        stored = rows.read(self.gpu)
        self.assertEqual('maintaining', stored.status)
        self.assertIsNotNone(stored.updated_at)
        self.assertEqual('enabled', rows.read(self.far).status)
        self.assertRaises(exception.ResourceNotFound, devices.update,
                          self.context, 'nowhere', {'status': 'enabled'})


class TestDefaults(base.DatabaseTestCase):

    def test_application_side_defaults(self):
        found = rows.device()
        self.assertEqual('enabled', found.device.status)
        self.assertIs(False, rows.read(found.handles[0]).in_use)
        self.assertIsNotNone(rows.read(found.device).created_at)
        self.assertIsNone(rows.read(found.device).updated_at)
        arq = rows.read(rows.arq(rows.profile()))
        self.assertEqual((0, 'Initial'),
                         (arq.device_profile_group_id, arq.substate))


class TestFillInState(base.DatabaseTestCase):

    def test_states(self):
        free = rows.device(bus=1, device_state=None)
        used = rows.device(bus=2, device_state=None, handles=2)
        rows.change(used.handles[1], in_use=True)
        referenced = rows.device(bus=3, device_state=None)
        rows.arq(rows.profile(), referenced.handles[0])
        cleaning = rows.device(bus=4, device_state='cleaning')
        self.assertEqual((3, 3), devices.fill_in_state(self.context))
        self.assertEqual(
            ['available', 'allocated', 'allocated', 'cleaning'],
            [rows.read(each.device).device_state
             for each in (free, used, referenced, cleaning)])
        self.assertEqual((0, 0), devices.fill_in_state(self.context))

    def test_in_batches(self):
        for bus in range(3):
            rows.device(bus=bus, device_state=None)
        self.assertEqual((2, 2), devices.fill_in_state(self.context, 2))
        self.assertEqual((1, 1), devices.fill_in_state(self.context, 2))


class TestDeployables(base.DatabaseTestCase):

    def test_list(self):
        one = rows.device(bus=1)
        other = rows.device(bus=2)

        def ids(**filters):
            return [row.id for row in deployables.list_(self.context,
                                                        **filters)]

        self.assertEqual([one.deployable.id, other.deployable.id], ids())
        self.assertEqual([other.deployable.id],
                         ids(name=other.deployable.name))
        self.assertEqual([one.deployable.id], ids(device_id=one.device.id))
        self.assertEqual([one.deployable.id],
                         ids(device_uuid=one.device.uuid))
        self.assertEqual([other.deployable.id], ids(limit=1))

    def test_by_provider(self):
        known = rows.device(bus=1, rp_uuid='rp1').deployable
        for bus in (2, 3):
            rows.device(bus=bus, rp_uuid='twice')
        self.assertEqual(
            known.id, deployables.get_by_rp_uuid(self.context, 'rp1').id)
        error = self.assertRaises(
            exception.ResourceNotFound, deployables.get_by_rp_uuid,
            self.context, 'none')
        self.assertEqual('Deployable not found with rp_uuid=none',
                         error.message)
        self.assertRaises(exception.ExpectedOneObject,
                          deployables.get_by_rp_uuid, self.context, 'twice')

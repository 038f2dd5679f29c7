# SPDX-License-Identifier: Apache-2.0
"""Accelerator requests as objects: derived fields, damage, scope."""

from oslo_utils import uuidutils

from cyborg import objects
from cyborg.common import context
from cyborg.common import exception
from cyborg.tests.fixtures import rows
from cyborg.tests.functional.objects import base

NOBODY = '00000000-0000-0000-0000-000000000000'


class TestRead(base.ObjectTestCase):

    def _get(self, row):
        return objects.ExtARQ.get(self.context, row.uuid)

    def test_initial(self):
        request = self._get(rows.arq(rows.profile()))
        arq = request.arq
        self.assertEqual(
            ('Initial', 'dp1', 0, '', None, {}),
            (arq.state, arq.device_profile_name, arq.device_profile_group_id,
             arq.attach_handle_type, arq.attach_handle_uuid,
             arq.attach_handle_info))
        self.assertEqual({'resources:CUSTOM_PCI': '1'},
                         request.device_profile_group)
        self.assertEqual((NOBODY, None, None), (
            request.deployable_uuid, request.deployable_id,
            request.attach_handle_id))
        self.assertEqual(set(), request.obj_what_changed())

    def test_bound(self):
        """API-1: the info with the JSON types that were stored."""
        card = rows.device()
        handle = card.handles[0]
        rows.change(handle, attach_info=rows.address(managed=False,
                                                     numa_node=0))
        request = self._get(rows.arq(
            rows.profile(), handle, hostname='compute-1', instance_uuid='i',
            device_rp_uuid='rp'))
        arq = request.arq
        self.assertEqual(
            ('Bound', 'PCI', handle.uuid, 'compute-1', 'i', 'rp'),
            (arq.state, arq.attach_handle_type, arq.attach_handle_uuid,
             arq.hostname, arq.instance_uuid, arq.device_rp_uuid))
        self.assertEqual(
            {'bus': '0c', 'device': '00', 'domain': '0000', 'function': '0',
             'managed': False, 'numa_node': 0}, arq.attach_handle_info)
        self.assertEqual(
            (card.deployable.uuid, card.deployable.id, handle.id),
            (request.deployable_uuid, request.deployable_id,
             request.attach_handle_id))

    def test_a_handle_shows_in_state_bound_only(self):
        handle = rows.device().handles[0]
        for state in ('BindStarted', 'BindFailed'):
            arq = self._get(rows.arq(rows.profile(name=state), handle,
                                     state=state)).arq
            self.assertEqual(('', None, {}), (
                arq.attach_handle_type, arq.attach_handle_uuid,
                arq.attach_handle_info))

    def test_lists_take_one_statement(self):
        """PERF-2, known fault 33."""
        profile, card = rows.profile(), rows.device(handles=5)
        for handle in card.handles:
            rows.arq(profile, handle)
        with self.db.count_statements() as sql:
            found = objects.ExtARQ.list(self.context)
            infos = [each.arq.attach_handle_info for each in found]
        self.assertEqual(1, len(sql))
        self.assertEqual(['0', '1', '2', '3', '4'],
                         [info['function'] for info in infos])

    def test_scope(self):
        """B57."""
        rows.arq(rows.profile(), project_id='p2')
        member = context.RequestContext(project_id='p1', roles=['member'])
        self.assertEqual([], objects.ExtARQ.list(member))
        self.assertEqual(1, len(objects.ExtARQ.list(self.context)))


class TestDamage(base.ObjectTestCase):
    """One bad row breaks neither the others nor its own removal."""

    def setUp(self):
        super().setUp()
        self.healthy = rows.arq(rows.profile(name='healthy'))

    def _listed(self):
        found = {each.arq.uuid: each
                 for each in objects.ExtARQ.list(self.context)}
        self.assertIn(self.healthy.uuid, found)
        return found

    def test_bound_without_its_handle(self):
        handle = rows.device().handles[0]
        lost = rows.arq(rows.profile(), handle)
        rows.remove(handle)
        arq = self._listed()[lost.uuid].arq
        self.assertEqual(('Bound', '', None, {}), (
            arq.state, arq.attach_handle_type, arq.attach_handle_uuid,
            arq.attach_handle_info))

    def test_profile_gone(self):
        """Known fault 16, in a database that it happened to."""
        profile = rows.profile()
        orphan = rows.arq(profile)
        rows.remove(profile)
        request = self._listed()[orphan.uuid]
        self.assertEqual(('', {}), (request.arq.device_profile_name,
                                    request.device_profile_group))

    def test_group_out_of_range(self):
        odd = rows.arq(rows.profile(), device_profile_group_id=7)
        self.assertEqual({}, self._listed()[odd.uuid].device_profile_group)

    def test_damaged_attach_info(self):
        """API-4: listed; its own info alone is an error."""
        handle = rows.device().handles[0]
        bad = rows.arq(rows.profile(), handle, hostname='compute-1')
        for text in ('not JSON', '[]', '{"a": {"b": 1}}'):
            rows.change(handle, attach_info=text)
            arq = self._listed()[bad.uuid].arq
            self.assertEqual('Bound', arq.state)
            error = self.assertRaises(exception.AttachInfoInvalid, getattr,
                                      arq, 'attach_handle_info')
            self.assertIn(handle.uuid, error.message)

    def test_texts_that_are_no_uuids(self):
        """Known fault 8: what 2026.2 stored unchecked."""
        odd = rows.arq(rows.profile(), device_rp_uuid='xyz',
                       instance_uuid='not-a-uuid', project_id='not-a-uuid')
        arq = self._listed()[odd.uuid].arq
        self.assertEqual(('xyz', 'not-a-uuid', 'not-a-uuid'), (
            arq.device_rp_uuid, arq.instance_uuid, arq.project_id))


class TestWrite(base.ObjectTestCase):

    def _request(self, **values):
        return objects.ExtARQ(self.context, arq=objects.ARQ(
            self.context, device_profile_name='dp1', project_id='p1',
            **values))

    def test_create(self):
        profile = rows.profile()
        for profile_id in (profile.id, None):
            request = self._request(device_profile_group_id=0)
            request.create(profile_id)
            self.assertTrue(uuidutils.is_uuid_like(request.arq.uuid))
            self.assertEqual(
                ('Initial', 'p1', 'dp1'),
                (request.arq.state, request.arq.project_id,
                 request.arq.device_profile_name))
            self.assertIsNotNone(request.arq.created_at)
            self.assertEqual(
                request.arq.id,
                objects.ExtARQ.get(self.context, request.arq.uuid).arq.id)

    def test_create_for_a_profile_that_is_gone(self):
        error = self.assertRaises(exception.ResourceNotFound,
                                  self._request().create)
        self.assertEqual('Device Profile not found with name=dp1',
                         error.message)

    def test_delete(self):
        request = self._request()
        request.create(rows.profile().id)
        request.delete()
        self.assertEqual([], objects.ExtARQ.list(self.context))
        self.assertRaises(exception.ResourceNotFound, request.delete)

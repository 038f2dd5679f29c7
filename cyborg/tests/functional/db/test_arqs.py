# SPDX-License-Identifier: Apache-2.0
"""Accelerator requests: one statement a list, whatever is in it."""

from oslo_utils import uuidutils

from cyborg.common import context
from cyborg.common import exception
from cyborg.db import arqs
from cyborg.tests.fixtures import rows
from cyborg.tests.functional.db import base


class TestList(base.DatabaseTestCase):

    def setUp(self):
        super().setUp()
        self.profile = rows.profile()
        self.card = rows.device(handles=3)

    def _uuids(self, caller=None, **filters):
        return [row.ExtARQ.uuid for row in arqs.list_(
            caller or self.context, **filters)]

    def test_one_statement(self):
        """PERF-2, known fault 33."""
        for handle in self.card.handles:
            rows.arq(self.profile, handle)
            rows.arq(self.profile)
        with self.db.count_statements() as sql:
            found = arqs.list_(self.context)
            values = [(row.profile_name, row.attach_info, row.handle_uuid,
                       row.deployable_uuid) for row in found]
        self.assertEqual(1, len(sql))
        handle = self.card.handles[0]
        self.assertEqual(
            [('dp1', handle.attach_info, handle.uuid,
              self.card.deployable.uuid), ('dp1', None, None, None)],
            values[:2])
        self.assertEqual(6, len(values))

    def test_filters(self):
        mine = rows.arq(self.profile, instance_uuid='i1')
        bound = rows.arq(self.profile, self.card.handles[0],
                         instance_uuid='i1', project_id='p2')
        other = rows.arq(self.profile, instance_uuid='i2')
        self.assertEqual([mine.uuid, bound.uuid],
                         self._uuids(instance_uuid='i1'))
        self.assertEqual([bound.uuid], self._uuids(project_id='p2'))
        self.assertEqual([bound.uuid], self._uuids(states=['Bound']))
        self.assertEqual([bound.uuid, other.uuid], self._uuids(
            uuids=[other.uuid, 'nope', bound.uuid]))
        self.assertEqual([mine.uuid, other.uuid],
                         self._uuids(states=['Initial', 'UnbindFailed']))

    def test_project_scope(self):
        """B57: the project filter is the database's work."""
        mine = rows.arq(self.profile, project_id='p1')
        rows.arq(self.profile, project_id='p2')
        rows.arq(self.profile, project_id=None)
        member = context.RequestContext(project_id='p1', roles=['member'])
        self.assertEqual([mine.uuid], self._uuids(member))
        self.assertEqual([], self._uuids(member, project_id='p2'))
        self.assertEqual(3, len(self._uuids()))

    def test_a_caller_without_project_sees_nothing(self):
        """Known fault 2: not all requests, and not the ownerless either."""
        rows.arq(self.profile, project_id='p1')
        rows.arq(self.profile, project_id=None)
        for project in (None, ''):
            caller = context.RequestContext(project_id=project,
                                            roles=['member'])
            self.assertEqual([], self._uuids(caller))

    def test_get(self):
        theirs = rows.arq(self.profile, project_id='p2')
        self.assertEqual(theirs.id, arqs.get(
            self.context, theirs.uuid).ExtARQ.id)
        member = context.RequestContext(project_id='p1', roles=['member'])
        error = self.assertRaises(exception.ResourceNotFound, arqs.get,
                                  member, theirs.uuid)
        self.assertEqual('ExtArq not found with uuid=' + theirs.uuid,
                         error.message)


class TestDelete(base.DatabaseTestCase):

    def test_delete(self):
        row = rows.arq(rows.profile())
        arqs.delete(self.context, row.uuid)
        self.assertIsNone(rows.read(row))
        self.assertRaises(exception.ResourceNotFound, arqs.delete,
                          self.context, row.uuid)

    def test_not_of_another_project(self):
        row = rows.arq(rows.profile(), project_id='p2')
        member = context.RequestContext(project_id='p1', roles=['member'])
        self.assertRaises(exception.ResourceNotFound, arqs.delete, member,
                          row.uuid)
        self.assertIsNotNone(rows.read(row))

    def test_not_while_it_holds_a_handle(self):
        handle = rows.device().handles[0]
        row = rows.arq(rows.profile(), handle)
        error = self.assertRaises(exception.ARQBadState, arqs.delete,
                                  self.context, row.uuid)
        self.assertEqual(
            'Accelerator request %s is in state Bound; this needs one of the '
            'states Initial, Unbound, BindFailed.' % row.uuid, error.message)
        self.assertIsNotNone(rows.read(row))


class TestDeleteWithoutInstance(base.DatabaseTestCase):

    def setUp(self):
        super().setUp()
        self.profile = rows.profile()
        self.member = context.RequestContext(project_id='p1',
                                             roles=['member'])
        self.free = [rows.arq(self.profile, project_id='p1')
                     for _ in range(2)]

    def refused(self, row):
        self.assertFalse(arqs.delete_without_instance(
            self.member, [self.free[0].uuid, row.uuid]))
        self.assertIsNotNone(rows.read(row))
        self.assertIsNotNone(rows.read(self.free[0]))

    def test_all(self):
        self.assertTrue(arqs.delete_without_instance(
            self.member, [row.uuid for row in self.free]))
        self.assertEqual([None, None], [rows.read(r) for r in self.free])

    def test_none_when_one_is_of_another_project(self):
        self.refused(rows.arq(self.profile, project_id='p2'))

    def test_none_when_one_has_an_instance(self):
        for state in ('BindStarted', 'Bound', 'BindFailed', 'Deleting'):
            self.refused(rows.arq(self.profile, project_id='p1', state=state,
                                  instance_uuid=uuidutils.generate_uuid()))

    def test_one_that_is_noted_for_an_instance_alone(self):
        """It was asked for and never bound: nobody has anything of it."""
        noted = rows.arq(self.profile, project_id='p1', state='Initial',
                         instance_uuid=uuidutils.generate_uuid())
        self.assertTrue(arqs.delete_without_instance(
            self.member, [noted.uuid]))
        self.assertIsNone(rows.read(noted))

    def test_none_when_one_has_a_handle(self):
        self.refused(rows.arq(self.profile, rows.device().handles[0],
                              project_id='p1', instance_uuid=None))


class TestCreate(base.DatabaseTestCase):

    def test_the_uuid_is_taken(self):
        profile = rows.profile()
        taken = rows.arq(profile)
        self.assertRaises(
            exception.ExtArqAlreadyExists, arqs.create, self.context,
            {'uuid': taken.uuid, 'state': 'Initial',
             'device_profile_id': profile.id})

    def test_the_profile_is_gone(self):
        error = self.assertRaises(
            exception.ResourceNotFound, arqs.create, self.context,
            {'uuid': 'a', 'state': 'Initial', 'device_profile_id': 77})
        self.assertEqual('Device Profile not found with id=77',
                         error.message)


class TestDamage(base.DatabaseTestCase):
    """Rows that point nowhere, as 2026.2 left them on SQLite."""

    scenarios = [('sqlite', {'database': 'sqlite'})]

    def test_a_missing_handle_or_profile_hides_nothing(self):
        healthy = rows.arq(rows.profile(name='a'))
        card = rows.device()
        lost = rows.arq(rows.profile(name='b'), card.handles[0])
        rows.remove(card.handles[0])
        gone = rows.profile(name='c')
        orphan = rows.arq(gone)
        rows.remove(gone)
        found = {row.ExtARQ.id: row for row in arqs.list_(self.context)}
        self.assertEqual({healthy.id, lost.id, orphan.id}, set(found))
        self.assertIsNone(found[lost.id].handle_uuid)
        self.assertIsNone(found[orphan.id].profile_name)


class TestWithoutProject(base.DatabaseTestCase):

    def test_fill_in(self):
        profile = rows.profile()
        lone = rows.arq(profile, project_id=None)
        bound = [rows.arq(profile, project_id=None, instance_uuid='i1')
                 for _each in range(2)]
        other = rows.arq(profile, project_id='p2', instance_uuid='i1')
        self.assertEqual({None: 1, 'i1': 2},
                         arqs.instances_without_project(self.context))
        self.assertEqual(2, arqs.fill_in_project(self.context, 'i1', 'p1'))
        self.assertEqual([None, 'p1', 'p1', 'p2'], [
            rows.read(each).project_id for each in (lone, *bound, other)])
        self.assertEqual({None: 1},
                         arqs.instances_without_project(self.context))

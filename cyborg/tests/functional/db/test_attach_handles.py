# SPDX-License-Identifier: Apache-2.0
"""The conditional UPDATE of attach info (REC-4, REC-6)."""

import threading

from oslo_db import exception as db_exc
import sqlalchemy as sa

from cyborg.common import context
from cyborg.common import exception
from cyborg.db import attach_handles
from cyborg.db.sqlalchemy import models
from cyborg.tests.fixtures import rows
from cyborg.tests.functional.db import base

WANTED = rows.address(managed=False)


def new_text(handle, wanted=WANTED, only_if_free=True, **seen):
    return attach_handles.NewText(**{
        'id': handle.id, 'uuid': handle.uuid,
        'deployable_id': handle.deployable_id, 'cpid_id': handle.cpid_id,
        'stored': handle.attach_info, 'wanted': wanted,
        'only_if_free': only_if_free, **seen})


class TestReplaceAttachInfo(base.DatabaseTestCase):

    def setUp(self):
        super().setUp()
        self.handle = rows.device().handles[0]

    def _replace(self, only_if_free=True, wanted=WANTED, **seen):
        attach_handles.replace_attach_infos(self.context, [
            new_text(self.handle, wanted, only_if_free, **seen)])

    def _refused(self, reason, **seen):
        error = self.assertRaises(exception.AttachHandleChanged,
                                  self._replace, **seen)
        uuid = seen.get('uuid', self.handle.uuid)
        self.assertEqual(
            'Attach handle %s of host compute-1 is not what was read before '
            '(%s); nothing was changed. Read it again.' % (uuid, reason),
            error.message)
        self.assertNotEqual(WANTED, rows.read(self.handle).attach_info)

    def test_in_place(self):
        self._replace()
        stored = rows.read(self.handle)
        self.assertEqual(WANTED, stored.attach_info)
        self.assertEqual(
            (self.handle.uuid, self.handle.deployable_id, False),
            (stored.uuid, stored.deployable_id, stored.in_use))
        self.assertIsNotNone(stored.updated_at)

    def test_one_statement(self):
        with self.db.count_statements() as sql:
            self._replace()
        self.assertEqual(1, len(sql))

    def test_other_topology(self):
        self._refused('its id belongs to handle %s now' % self.handle.uuid,
                      uuid='another')
        for name in ('deployable_id', 'cpid_id'):
            self._refused('it moved to deployable %s, control path %s' % (
                self.handle.deployable_id, self.handle.cpid_id),
                **{name: 99})

    def test_other_attach_info(self):
        self._refused('its attach info is ' + self.handle.attach_info,
                      stored=rows.address(numa_node=1))

    def test_case_and_spaces_count(self):
        """MariaDB takes "a" for "A" and passes over spaces at the end."""
        for other in (self.handle.attach_info.upper(),
                      self.handle.attach_info + ' '):
            self._refused('its attach info is ' + self.handle.attach_info,
                          stored=other)

    def test_in_use(self):
        rows.change(self.handle, in_use=True)
        self._refused('it is in use')

    def test_referenced(self):
        """An ARQ that points at it counts, whatever in_use says."""
        arq = rows.arq(rows.profile(), self.handle)
        self._refused('accelerator request %s has it' % arq.uuid)

    def test_in_use_null_is_free(self):
        rows.change(self.handle, in_use=None)
        self._replace()
        self.assertEqual(WANTED, rows.read(self.handle).attach_info)

    def test_gone(self):
        rows.remove(self.handle)
        error = self.assertRaises(exception.AttachHandleChanged,
                                  self._replace)
        self.assertIn('of host unknown', error.message)
        self.assertIn('(it is gone)', error.message)

    def test_metadata_of_an_allocated_handle(self):
        """REC-6."""
        rows.change(self.handle, in_use=True)
        rows.arq(rows.profile(), self.handle)
        self._replace(only_if_free=False, wanted=rows.address(numa_node=0))
        self.assertEqual(rows.address(numa_node=0),
                         rows.read(self.handle).attach_info)

    def test_one_of_many(self):
        """Concurrent updates from one state: exactly one takes effect."""
        outcomes = []

        def update(number):
            mine = context.get_admin_context()
            try:
                attach_handles.replace_attach_infos(mine, [new_text(
                    self.handle, rows.address(numa_node=number))])
                outcomes.append('done')
            except exception.AttachHandleChanged:
                outcomes.append('changed')

        threads = [threading.Thread(target=update, args=[number])
                   for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(['changed'] * 3 + ['done'], sorted(outcomes))

    def test_deadlock(self):
        """B46: the database rolled the transaction back; it is repeated."""
        failures = []

        def fail_once(_conn, _cursor, statement, *_args):
            if statement.startswith('UPDATE') and not failures:
                failures.append(True)
                raise db_exc.DBDeadlock()

        sa.event.listen(self.db.engine, 'before_cursor_execute', fail_once)
        self._replace()
        self.assertEqual([True], failures)
        self.assertEqual(WANTED, rows.read(self.handle).attach_info)


class TestAllOrNone(base.DatabaseTestCase):
    """REC-4: all changes of a host in one transaction."""

    def setUp(self):
        super().setUp()
        self.handles = rows.device(handles=250).handles

    def _texts(self, managed=False):
        return [new_text(handle, rows.address(number, managed=managed))
                for number, handle in enumerate(self.handles)]

    def _stored(self):
        return [rows.read(handle).attach_info for handle in self.handles]

    def test_all(self):
        with self.db.count_statements() as sql:
            attach_handles.replace_attach_infos(self.context, self._texts())
        self.assertEqual(3, len(sql))
        self.assertEqual([each.wanted for each in self._texts()],
                         self._stored())

    def test_none(self):
        """The last one is what decides, after two statements that matched."""
        before = self._stored()
        arq = rows.arq(rows.profile(), self.handles[-1])
        error = self.assertRaises(
            exception.AttachHandleChanged,
            attach_handles.replace_attach_infos, self.context, self._texts())
        self.assertIn(self.handles[-1].uuid, error.message)
        self.assertIn('accelerator request %s has it' % arq.uuid,
                      error.message)
        self.assertEqual(before, self._stored())

    def test_another_wrote_the_same(self):
        """What was read is what counts, also where the outcome is alike."""
        texts = self._texts()[:2]
        rows.change(self.handles[1], attach_info=texts[1].wanted)
        error = self.assertRaises(
            exception.AttachHandleChanged,
            attach_handles.replace_attach_infos, self.context, texts)
        self.assertEqual(self.handles[1].uuid, error.kwargs['uuid'])
        self.assertEqual(texts[0].stored,
                         rows.read(self.handles[0]).attach_info)


class TestFree(base.DatabaseTestCase):

    def test_conditions(self):
        card = rows.device(handles=4)
        rows.change(card.handles[1], in_use=True)
        rows.arq(rows.profile(), card.handles[2])
        rows.change(card.handles[3], in_use=None)
        with self.db.engine.connect() as connection:
            found = connection.scalars(
                sa.select(models.AttachHandle.id)
                .where(*attach_handles.is_free())
                .order_by(models.AttachHandle.id)).all()
        self.assertEqual([card.handles[0].id, card.handles[3].id], found)

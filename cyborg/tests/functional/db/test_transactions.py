# SPDX-License-Identifier: Apache-2.0
"""The facade: one transaction for a context, retries, SQLite's lock."""

import threading

from oslo_db import exception as db_exc
import sqlalchemy as sa
import testtools

from cyborg.common import context
from cyborg.common import exception
from cyborg.db import api
from cyborg.db.sqlalchemy import models
from cyborg.tests.fixtures import rows
from cyborg.tests.functional.db import base


class TestTransaction(base.DatabaseTestCase):

    def test_nested_blocks_share_one_transaction(self):
        with api.writer(self.context) as outer:
            self.assertTrue(api.in_transaction(self.context))
            with api.reader(self.context) as inner:
                self.assertIs(outer, inner)
            with api.writer(self.context) as inner:
                self.assertIs(outer, inner)
        self.assertFalse(api.in_transaction(self.context))

    def test_an_error_undoes_the_nested_blocks_too(self):
        profile = rows.profile(name='before')

        def fail():
            with api.writer(self.context):
                with api.writer(self.context) as session:
                    session.execute(
                        sa.update(models.DeviceProfile).values(name='after'))
                raise RuntimeError('stop')

        self.assertRaises(RuntimeError, fail)
        self.assertEqual('before', rows.read(profile).name)

    def test_foreign_keys_are_enforced(self):
        profile = rows.profile()
        rows.arq(profile)

        def delete():
            with api.writer(self.context) as session:
                session.execute(sa.delete(models.DeviceProfile))

        self.assertRaises(db_exc.DBReferenceError, delete)

    def test_writers_that_read_first_do_not_lose_updates(self):
        """B46: read, then write, from several threads at once."""
        profile = rows.profile(name='0')
        failures = []

        def count():
            mine = context.get_admin_context()
            try:
                for _each in range(5):
                    increase(mine)
            except Exception as error:
                failures.append(error)

        @api.retry_on_deadlock
        def increase(mine):
            with api.writer(mine) as session:
                select = sa.select(models.DeviceProfile.name)
                name = session.scalar(select.with_for_update())
                session.execute(sa.update(models.DeviceProfile)
                                .values(name=str(int(name) + 1)))

        threads = [threading.Thread(target=count) for _each in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([], failures)
        self.assertEqual('20', rows.read(profile).name)


class TestMariaDBEncoding(base.DatabaseTestCase):
    """Its tables cannot hold all of Unicode; 2026.2 answered 500."""

    scenarios = [('mariadb', {'database': 'mariadb'})]

    def test_what_cannot_be_stored_or_compared_is_refused(self):
        profile = rows.profile(name='p')
        name = models.DeviceProfile.name
        for statement in (
                sa.update(models.DeviceProfile).values(description='\U0001f600'),
                sa.select(name).where(name == '\U0001f600'),
                sa.select(name).where(name.in_(['p', '\U0001f600'])),
                sa.select(name).where(name.in_(['p', 'q', '\U0001f600']))):
            with testtools.ExpectedException(exception.TextNotStorable):
                with api.writer(self.context) as session:
                    session.execute(statement)
        self.assertEqual([], [r for r in self.logs.records if r.exc_info])
        self.assertIsNone(rows.read(profile).description)


class TestSqliteWriter(base.DatabaseTestCase):
    scenarios = [('sqlite', {'database': 'sqlite'})]

    def test_waits_at_its_start(self):
        """A reader that turns writer can't wait; one that says so can."""
        rows.profile(name='0')
        inside, failures = threading.Event(), []

        def other():
            try:
                with api.writer(context.get_admin_context()) as session:
                    inside.set()
                    self._increase(session)
            except Exception as error:
                failures.append(error)

        with api.writer(self.context) as session:
            name = self._read(session)
            thread = threading.Thread(target=other)
            thread.start()
            inside.wait(300)
            # Long enough for it to read, had it not to wait.
            thread.join(0.3)
            session.execute(sa.update(models.DeviceProfile)
                            .values(name=str(int(name) + 1)))
        thread.join(300)
        self.assertEqual([], failures)
        with api.reader(self.context) as session:
            self.assertEqual('2', self._read(session))

    @staticmethod
    def _read(session):
        return session.scalar(sa.select(models.DeviceProfile.name))

    def _increase(self, session):
        session.execute(sa.update(models.DeviceProfile).values(
            name=str(int(self._read(session)) + 1)))

    def test_readers_do_not_wait(self):
        rows.profile(name='before')
        with api.writer(self.context) as session:
            session.execute(
                sa.update(models.DeviceProfile).values(name='after'))
            with api.reader(context.get_admin_context()) as other:
                self.assertEqual('before', self._read(other))


class TestRetry(base.DatabaseTestCase):
    scenarios = [('sqlite', {'database': 'sqlite'})]

    def setUp(self):
        super().setUp()
        self.calls = 0

    @staticmethod
    @api.retry_on_deadlock
    def _fail_twice(context, test, error=None):
        test.calls += 1
        if test.calls < 3:
            raise error or db_exc.DBDeadlock()
        return 'done'

    def test_deadlocks_are_retried(self):
        self.assertEqual('done', self._fail_twice(self.context, self))
        self.assertEqual(3, self.calls)

    def test_a_locked_sqlite_file_is_retried(self):
        error = db_exc.DBError('database is locked')
        self.assertEqual('done', self._fail_twice(self.context, self, error))

    def test_other_errors_are_not_retried(self):
        self.assertRaises(db_exc.DBDuplicateEntry, self._fail_twice,
                          self.context, self, db_exc.DBDuplicateEntry())
        self.assertEqual(1, self.calls)

    def test_inside_a_transaction_only_its_owner_retries(self):
        """The database rolled back what the owner did before, too."""
        def work():
            with api.writer(self.context):
                self._fail_twice(self.context, self)

        self.assertRaises(db_exc.DBDeadlock, work)
        self.assertEqual(1, self.calls)

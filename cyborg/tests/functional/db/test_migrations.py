# SPDX-License-Identifier: Apache-2.0
"""The schema: as 2026.2 left it, from wherever a database stands (BASE-1)."""

from alembic import autogenerate
from alembic import migration as alembic_migration
from oslo_db import exception as db_exc
import sqlalchemy as sa

from cyborg.db.sqlalchemy import history
from cyborg.db.sqlalchemy import migration
from cyborg.db.sqlalchemy import models
from cyborg.tests.fixtures import database
from cyborg.tests.functional.db import base
from cyborg.tests.functional.db import schemas

REVISIONS = (
    'f50980397351', 'd6f033d8fa5b', 'ede4e3f1a232', '589ff20545b7',
    'c1b5abada09c', '57539722e5cf', '22fb1af2d51e', '7b696fd94949',
    '62bcf2610c5d', '7a4fd0fc3f8c', '60d8ac91fd20', '7e6f1f107f2b',
    '899cead40bc9', '4cc1d79978fc', '6c77bd6afea5', '9625668549b5',
    'a35b4295a0e5', 'b47c8f2d1e3a')
HEAD = REVISIONS[-1]


class TestSchemaAsRecorded(base.DatabaseTestCase):
    """Both ways to make a schema give what 2026.2 gave."""

    scenarios = [
        ('mariadb-upgrade', {'database': 'mariadb', 'way': 'upgrade'}),
        ('mariadb-create', {'database': 'mariadb', 'way': 'create_schema'}),
        ('sqlite-create', {'database': 'sqlite', 'way': 'create_schema'}),
    ]
    schema = False

    def test_schema(self):
        getattr(migration, self.way)()
        self.maxDiff = None
        self.assertEqual(schemas.recorded('%s_%s' % (self.database, self.way)),
                         schemas.describe(self.db.engine))
        self.assertEqual(HEAD, migration.version())


class TestSchemasAgree(base.DatabaseTestCase):
    """Where 2026.2 could make no schema, ours is the same as elsewhere."""

    scenarios = [
        ('sqlite', {'database': 'sqlite'}),
        ('postgresql', {'database': 'postgresql'}),
    ]
    schema = False

    @staticmethod
    def _essence(tables: dict) -> dict:
        """What has a meaning on every database."""
        return {name: {
            'columns': [(column['name'], column['nullable'],
                         column['server_default'])
                        for column in table['columns'] if column['name']],
            'foreign_keys': [
                (key['columns'], key['ref_table'],
                 {'CASCADE': 'CASCADE'}.get(key['options'].get('ondelete')))
                for key in table['foreign_keys']],
            'indexes': [
                (index['name'], index['columns'])
                for index in table['indexes'] if not index['unique']
                # MariaDB makes this one for the foreign key.
                and index['name'] != 'usage_id'],
            'unique': [unique['columns']
                       for unique in table['unique_constraints']],
        } for name, table in tables.items()}

    def _check(self, way: str):
        expected = self._essence(schemas.recorded('mariadb_' + way))
        found = self._essence(schemas.describe(self.db.engine))
        if self.database == 'postgresql':
            # The primary key's sequence is a default there.
            for table in found.values():
                table['columns'] = [
                    (name, nullable, default)
                    if not str(default).startswith('nextval(')
                    else (name, nullable, None)
                    for name, nullable, default in table['columns']]
        self.assertEqual(expected, found)

    def test_upgrade(self):
        """Known fault 18: on SQLite the upgrade works."""
        migration.upgrade()
        self._check('upgrade')

    def test_create_schema(self):
        migration.create_schema()
        self._check('create_schema')


class TestComparison(base.DatabaseTestCase):
    """A new revision is made of what was changed, and of nothing else."""

    scenarios = [(kind, {'database': kind})
                 for kind in ('sqlite', 'mariadb')]
    schema = False

    def test_nothing_differs(self):
        migration.upgrade()
        with self.db.engine.connect() as connection:
            context = alembic_migration.MigrationContext.configure(
                connection, opts={'include_object': history.is_compared})
            self.assertEqual([], autogenerate.compare_metadata(
                context, models.Base.metadata))


class TestEnums(base.DatabaseTestCase):
    scenarios = [('postgresql', {'database': 'postgresql'})]
    schema = False

    def test_enums(self):
        """The same values in the same order, whichever way was taken."""
        migration.upgrade()
        found = {
            (name, column['name']): column['enum']
            for name, table in schemas.describe(self.db.engine).items()
            for column in table['columns'] if 'enum' in column}
        self.assertEqual(
            {(name, column['name']): column['enum']
             for name, table in schemas.recorded('mariadb_upgrade').items()
             for column in table['columns'] if 'enum' in column}, found)


class TestWalk(base.DatabaseTestCase):
    schema = False

    def test_the_chain(self):
        for revision in REVISIONS:
            migration.upgrade(revision)
            self.assertEqual(revision, migration.version())
        self.assertEqual(HEAD, migration.head())

    def test_rows_survive(self):
        """From the first revision with today's tables to the newest."""
        migration.upgrade('ede4e3f1a232')
        with self.db.engine.begin() as connection:
            for statement in (
                    "INSERT INTO devices (id, uuid, type, vendor, model, "
                    "hostname) VALUES (7, 'd', 'FPGA', 'v', 'm', 'h')",
                    "INSERT INTO deployables (id, uuid, name, "
                    "num_accelerators, device_id) VALUES (3, 'y', 'n', 1, 7)",
                    "INSERT INTO controlpath_ids (id, uuid, device_id, "
                    "cpid_type, cpid_info) VALUES (2, 'c', 7, 'PCI', '{}')",
                    "INSERT INTO attach_handles (id, uuid, deployable_id, "
                    "cpid_id, attach_type, attach_info) "
                    "VALUES (5, 'h', 3, 2, 'PCI', '{}')",
                    "INSERT INTO device_profiles (id, uuid, name, "
                    "profile_json) VALUES (1, 'p', 'n', '{}')",
                    "INSERT INTO extended_accelerator_requests (id, uuid, "
                    "state, device_profile_id, attach_handle_id, substate) "
                    "VALUES (9, 'a', 'Bound', 1, 5, 'Initial')"):
                connection.execute(sa.text(statement))
        migration.upgrade()
        with self.db.engine.connect() as connection:
            device = connection.execute(
                sa.select(models.Device.__table__)).one()
            request = connection.execute(
                sa.select(models.ExtARQ.__table__)).one()
        self.assertEqual((7, 'FPGA', 'enabled', None),
                         (device.id, device.type, device.status,
                          device.device_state))
        self.assertEqual((9, 'Bound', 0, 5, None),
                         (request.id, request.state,
                          request.device_profile_group_id,
                          request.attach_handle_id, request.instance_uuid))

    def test_from_each_supported_revision(self):
        """The newest revision of each release since the Nova integration.

        test_the_chain went through those in between.
        """
        for revision in ('c1b5abada09c', '60d8ac91fd20', '6c77bd6afea5',
                         'a35b4295a0e5', 'b47c8f2d1e3a'):
            with database.DATABASES[self.database](schema=False):
                migration.upgrade(revision)
                migration.upgrade()
                self.assertEqual(HEAD, migration.version())


class TestExistingDatabase(base.DatabaseTestCase):
    schema = False

    def test_a_database_at_the_head_is_left_alone(self):
        """BASE-1: made by upgrade or by create_schema, no migration runs."""
        for make in (migration.upgrade, migration.create_schema):
            with database.DATABASES[self.database](schema=False) as db:
                make()
                before = schemas.describe(db.engine)
                with db.count_statements() as sql:
                    migration.upgrade()
                self.assertEqual([], [
                    statement for statement in sql.statements
                    if statement.lstrip().upper().startswith(
                        ('CREATE', 'ALTER', 'DROP', 'INSERT', 'UPDATE',
                         'DELETE'))])
                self.assertEqual(before, schemas.describe(db.engine))

    def test_create_schema_refuses_a_stamped_database(self):
        migration.stamp('c1b5abada09c')
        error = self.assertRaises(db_exc.DBMigrationError,
                                  migration.create_schema)
        self.assertEqual(
            'The database has revision c1b5abada09c already: use '
            '"cyborg-dbsync upgrade".', str(error))

    def test_an_unknown_revision(self):
        error = self.assertRaises(db_exc.DBMigrationError, migration.upgrade,
                                  'nonsense')
        self.assertIn('nonsense', str(error))

    def test_foreign_keys_are_on_again(self):
        migration.upgrade()
        table = models.ControlpathID.__table__
        with self.db.engine.connect() as connection:
            self.assertRaises(
                db_exc.DBReferenceError, connection.execute,
                table.insert().values(uuid='c', device_id=99,
                                      cpid_type='PCI', cpid_info='{}'))


class TestSqlite(base.DatabaseTestCase):
    scenarios = [('sqlite', {'database': 'sqlite'})]
    schema = False

    def test_continues_a_failed_upgrade(self):
        """Known fault 18: 2026.2 stopped at ede4e3f1a232 on SQLite."""
        migration.upgrade('ede4e3f1a232')
        migration.upgrade()
        self.assertEqual(HEAD, migration.version())


class TestStorageEngine(base.DatabaseTestCase):
    scenarios = [('mariadb', {'database': 'mariadb'})]
    schema = False

    def test_mysql_engine(self):
        self.conf.set(group='database', mysql_engine='Aria')
        migration.create_schema()
        with self.db.engine.connect() as connection:
            engines = set(connection.scalars(sa.text(
                'SELECT engine FROM information_schema.tables '
                'WHERE table_schema = database()')))
        self.assertEqual({'Aria'}, engines)

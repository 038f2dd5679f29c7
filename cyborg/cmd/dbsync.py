# SPDX-License-Identifier: Apache-2.0
"""cyborg-dbsync: create, upgrade and look at the database."""

import sys

from oslo_config import cfg
from oslo_db import exception as db_exc
from oslo_log import log
import sqlalchemy as sa

from cyborg.common import config
from cyborg.common import context
from cyborg.common import database_url
from cyborg.common import exception
from cyborg.common import nova_client
from cyborg.common import option_values
from cyborg.common import sdk
from cyborg.conf import CONF
from cyborg.db import arqs
from cyborg.db import devices
from cyborg.db.sqlalchemy import indexes
from cyborg.db.sqlalchemy import migration

NAME = 'cyborg-dbsync'
# Devices that one transaction of online_data_migrations looks at.
BATCH = 500


def _upgrade() -> int:
    migration.upgrade(CONF.command.revision)
    return 0


def _revision() -> int:
    migration.revision(CONF.command.message, CONF.command.autogenerate)
    return 0


def _stamp() -> int:
    migration.stamp(CONF.command.revision)
    return 0


def _version() -> int:
    print(migration.version())
    return 0


def _create_schema() -> int:
    migration.create_schema()
    return 0


def _indexes() -> int:
    """Indexes beside the schema, which a large fleet needs."""
    if CONF.command.drop:
        done, names = 'Removed', indexes.drop()
    else:
        done, names = 'Made', indexes.add()
    print('%s: %s' % (done, ', '.join(names) or 'nothing, all is so already'))
    return 0


def _online_data_migrations() -> int:
    """:returns: 0, or 2 when rows are left that could be filled in."""
    admin = context.get_admin_context()
    _fill_in_states(admin)
    return _fill_in_projects(admin)


def _fill_in_states(admin) -> None:
    found = changed = 0
    while True:
        seen, done = devices.fill_in_state(admin, BATCH)
        found += seen
        changed += done
        if seen < BATCH:
            break
    print('Filled in device_state of %d of %d devices that had none.'
          % (changed, found))


def _fill_in_projects(admin) -> int:
    """Nova knows whose the instances are that hold ARQs without project."""
    instances = arqs.instances_without_project(admin)
    adrift = instances.pop(None, 0)
    changed, failure = 0, None
    nova = None
    for instance in instances:
        try:
            if nova is None:
                nova = _nova()
            project = nova.project_of(instance)
        except exception.CyborgException as error:
            failure = exception.plain_text(error)
            break
        if project is None:
            adrift += instances[instance]
        else:
            changed += arqs.fill_in_project(admin, instance, project)
    print('Filled in project_id of %d of %d accelerator requests that had '
          'none.' % (changed, sum(instances.values())))
    if adrift:
        print('%d accelerator requests without a project belong to no '
              'instance that Nova knows. An admin can see and delete them.'
              % adrift)
    if failure:
        print('%s: %s' % (NAME, failure), file=sys.stderr)
        return 2
    return 0


def _nova() -> nova_client.NovaClient:
    if not sdk.has_credentials('nova'):
        raise exception.ConfigInvalid(
            error_msg='[nova] has no credentials, so nobody can tell whose '
                      'the instances of accelerator requests without a '
                      'project are. Configure [nova] as for a conductor')
    return nova_client.NovaClient()


def _add_commands(subparsers) -> None:
    def add(name, function, text):
        parser = subparsers.add_parser(name, help=text)
        parser.set_defaults(function=function)
        return parser

    parser = add('upgrade', _upgrade,
                 'Bring the database to the newest revision, or to another.')
    parser.add_argument('--revision', nargs='?', metavar='REVISION')
    parser = add('revision', _revision,
                 'Write a new revision file (for developers).')
    parser.add_argument('-m', '--message', metavar='MESSAGE')
    parser.add_argument('--autogenerate', action='store_true',
                        help='Fill it with what differs from the models.')
    parser = add('stamp', _stamp,
                 'Record a revision as that of the database; change nothing.')
    parser.add_argument('--revision', nargs='?', metavar='REVISION')
    add('version', _version, 'Print the revision of the database.')
    add('create_schema', _create_schema,
        'Create all tables in an empty database.')
    parser = add('indexes', _indexes,
                 'Make the indexes that hundreds of hosts need, beside the '
                 'schema; services may run meanwhile.')
    parser.add_argument('--drop', action='store_true',
                        help='Remove them. 2026.2 runs with and without.')
    add('online_data_migrations', _online_data_migrations,
        'Fill in what older releases did not store: device_state of '
        'devices, project_id of accelerator requests (asks Nova). Services '
        'may run meanwhile.')


_COMMAND = cfg.SubCommandOpt(
    'command', title='Commands', help='What to do with the database.',
    handler=_add_commands)


def _tell_the_default() -> None:
    """Who forgets the file would else wonder about an empty database."""
    where = CONF.get_location('connection', 'database')
    if where is None or where.location in (cfg.Locations.opt_default,
                                           cfg.Locations.set_default):
        print('%s: no [database] connection is configured; the database is '
              '%s' % (NAME, CONF.database.connection), file=sys.stderr)


def main(argv: list[str] | None = None) -> int:
    """Run one command.

    :returns: exit status: 0 when the command did what it is for, 2 when
        online_data_migrations left rows to fill in, 1 on any other error.
    """
    CONF.register_cli_opt(_COMMAND)
    log.register_options(CONF)
    # Standard output is for the answer; scripts read the revision there.
    CONF.set_default('use_stderr', True)
    try:
        config.prepare(sys.argv if argv is None else argv)
        option_values.check(CONF, 'database')
        database_url.check(CONF)
        _tell_the_default()
        return CONF.command.function()
    except (cfg.Error, db_exc.DBError, db_exc.DBMigrationError,
            db_exc.DBNonExistentDatabase, exception.CyborgException,
            sa.exc.SQLAlchemyError) as error:
        print('%s: %s' % (NAME, exception.plain_text(error)),
              file=sys.stderr)
        return 1


if __name__ == '__main__':
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""cyborg-dbsync: create, upgrade and look at the database."""

import sys

from oslo_config import cfg
from oslo_db import exception as db_exc
from oslo_log import log
import sqlalchemy as sa

from cyborg.common import config
from cyborg.common import context
from cyborg.common import exception
from cyborg.conf import CONF
from cyborg.db import devices
from cyborg.db.sqlalchemy import migration

NAME = 'cyborg-dbsync'
# Devices that one transaction of online_data_migrations looks at.
BATCH = 500


def _upgrade() -> None:
    migration.upgrade(CONF.command.revision)


def _revision() -> None:
    migration.revision(CONF.command.message, CONF.command.autogenerate)


def _stamp() -> None:
    migration.stamp(CONF.command.revision)


def _version() -> None:
    print(migration.version())


def _create_schema() -> None:
    migration.create_schema()


def _online_data_migrations() -> None:
    admin = context.get_admin_context()
    found = changed = 0
    while True:
        seen, done = devices.fill_in_state(admin, BATCH)
        found += seen
        changed += done
        if seen < BATCH:
            break
    print('Filled in device_state of %d of %d devices that had none.'
          % (changed, found))


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
    add('online_data_migrations', _online_data_migrations,
        'Fill in the device_state of rows from before the column existed. '
        'Services may run meanwhile.')


_COMMAND = cfg.SubCommandOpt(
    'command', title='Commands', help='What to do with the database.',
    handler=_add_commands)


def main(argv: list[str] | None = None) -> int:
    """Run one command.

    :returns: exit status, 0 when the command did what it is for.
    """
    CONF.register_cli_opt(_COMMAND)
    log.register_options(CONF)
    # Standard output is for the answer; scripts read the revision there.
    CONF.set_default('use_stderr', True)
    try:
        config.prepare(sys.argv if argv is None else argv)
        CONF.command.function()
    except (cfg.Error, db_exc.DBError, db_exc.DBMigrationError,
            db_exc.DBNonExistentDatabase, exception.CyborgException,
            sa.exc.SQLAlchemyError) as error:
        print('%s: %s' % (NAME, exception.plain_text(error)),
              file=sys.stderr)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""Looks at the database server before an engine is made.

The engine of oslo.db tries for minutes to connect first, and nothing can
interrupt it.
"""

from oslo_config import cfg
import sqlalchemy as sa

from cyborg.common import database_url
from cyborg.common import exception
from cyborg.common.i18n import _
from cyborg.conf import CONF

#: Seconds that a server has to take a connection, and who knows such a limit.
PATIENCE = 5
_WITH_LIMIT = ('mysqldb', 'psycopg', 'psycopg2', 'pymysql')


class DatabaseAway(exception.CyborgException):
    _msg_fmt = _('[database] connection = %(url)s of host %(host)s: '
                 '%(reason)s. %(remedy)s')


def away(error: Exception, conf: cfg.ConfigOpts = CONF) -> DatabaseAway:
    """A failure to reach the database, in an operator's words."""
    url = conf.database.connection
    inner = getattr(error, 'inner_exception', None) or error
    cause = getattr(inner, 'orig', None) or inner
    arguments = cause.args[-1:] or (cause,)
    if sa.make_url(url).get_backend_name() == 'sqlite':
        remedy = _('Let the user of this service write to the directory of '
                   'this file: make [DEFAULT] state_path = %s, or name '
                   'another database.') % conf.state_path
    else:
        remedy = _('Start the server, or correct user, password, host and '
                   'name of the database in the URL.')
    return DatabaseAway(
        url=database_url.shown(url), host=conf.host, remedy=remedy,
        reason=database_url.without_password(
            ' '.join(str(arguments[0]).split()), url))


def check(conf: cfg.ConfigOpts = CONF) -> None:
    """Connect once, when that takes a server.

    :raises DatabaseAway: it does not answer, or not this user.
    :raises sqlalchemy.exc.ArgumentError: the URL is none.
    :raises ImportError: its driver is not installed.
    """
    url = sa.make_url(conf.database.connection)
    if url.get_backend_name() == 'sqlite':
        return
    engine = sa.create_engine(
        url, poolclass=sa.pool.NullPool, connect_args={
            'connect_timeout': PATIENCE}
        if url.get_driver_name() in _WITH_LIMIT else {})
    try:
        engine.connect().close()
    except sa.exc.DBAPIError as error:
        raise away(error, conf) from error
    finally:
        engine.dispose()

# SPDX-License-Identifier: Apache-2.0
"""Our own option of ``[database]``; the rest belongs to oslo.db.

The default of ``[database] connection`` is set where a database is opened
(``cyborg.db``), since the agent has none and must not load oslo.db.
"""

from oslo_config import cfg

OPTS = [
    cfg.StrOpt(
        'mysql_engine',
        default='InnoDB',
        help="""
Storage engine of tables that are created on MySQL or MariaDB. It must know
transactions and foreign keys, which MyISAM does not.

Valid: ``InnoDB``.
"""),
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    conf.register_opts(OPTS, group='database')


def list_opts() -> dict:
    return {'database': OPTS}

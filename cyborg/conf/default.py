# SPDX-License-Identifier: Apache-2.0
"""Options of ``[DEFAULT]``."""

import pathlib
import socket

from oslo_config import cfg

PACKAGE_PARENT = str(pathlib.Path(__file__).resolve().parents[2])

error_opts = [
    cfg.BoolOpt(
        'fatal_exception_format_errors',
        default=False,
        help="""
For developers: raise when the text of an error cannot be put together,
instead of showing it without its values. Leave it off in production, where
the original error is what counts.

Valid: ``false``, ``true``. Invalid: ``maybe``.
"""),
]

path_opts = [
    cfg.StrOpt(
        'pybasedir',
        default=PACKAGE_PARENT,
        sample_default='<package directory>',
        help="""
Directory that holds the installed ``cyborg`` package. Other paths are derived
from it.

Valid: an absolute path such as ``/usr/lib/python3/dist-packages``.
"""),
    cfg.StrOpt(
        'bindir',
        default='$pybasedir/bin',
        help="""
Directory of the commands of this service.

Valid: ``$pybasedir/bin``, ``/usr/bin``.
"""),
    cfg.StrOpt(
        'state_path',
        default='$pybasedir',
        help="""
Directory for files the service writes, among them the database when
``[database] connection`` is left at its SQLite default.

Valid: ``/var/lib/cyborg``. Invalid: a directory that the service's user
cannot write to.
"""),
]

service_opts = [
    cfg.HostAddressOpt(
        'host',
        default=socket.gethostname(),
        sample_default='localhost',
        help="""
Name of this host in RPC. The conductor reaches the agent of a host under
this name, and the agent reports its devices under the name of the host's
resource provider, so keep both equal on a compute host. See also ``[agent]
resource_provider_name``.

Valid: ``compute-1``, ``compute-1.example.org``, ``192.0.2.7``.
Invalid: ``compute 1``.
"""),
    cfg.IntOpt(
        'periodic_interval',
        default=60,
        help="""
Seconds between two looks at the host's devices, each followed by a report.

Valid: ``60``, ``10``. Invalid: ``1m``.
"""),
    cfg.IntOpt(
        'thread_pool_size',
        default=10,
        help="""
Number of threads for work that goes on after an answer was given, such as
programming an FPGA.

Valid: ``10``. Invalid: ``many``.
"""),
    cfg.IntOpt(
        'bind_timeout',
        default=60,
        help="""
Seconds within which the accelerator requests of one bind must be resolved
when devices have to be programmed. After that the bind counts as failed, and
Nova is told.

Valid: ``60``. Invalid: ``1 minute``.
"""),
]

_QUOTA_HELP = """
Read by no part of this release; accepted so that a configuration written for
2026.2 stays valid.
"""

quota_opts = [
    cfg.StrOpt('quota_driver', default='cyborg.quota.DbQuotaDriver',
               help=_QUOTA_HELP),
    cfg.IntOpt('quota_fpgas', default=10, help=_QUOTA_HELP),
    cfg.IntOpt('quota_gpus', default=10, help=_QUOTA_HELP),
    cfg.IntOpt('reservation_expire', default=86400, help=_QUOTA_HELP),
    cfg.IntOpt('until_refresh', default=0, help=_QUOTA_HELP),
    cfg.IntOpt('max_age', default=0, help=_QUOTA_HELP),
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    for options in list_opts().values():
        conf.register_opts(options)


def list_opts() -> dict:
    return {'DEFAULT': error_opts + path_opts + service_opts + quota_opts}

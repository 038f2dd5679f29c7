# SPDX-License-Identifier: Apache-2.0
"""Reads the configuration of a process and starts its logging."""

from collections.abc import Iterator
import contextlib
import os
import traceback

from oslo_config import cfg
from oslo_log import log
from oslo_utils import importutils

from cyborg import version
from cyborg.common import rpc  # noqa: F401 (sets the control exchange)
from cyborg.conf import CONF

PROJECT = 'cyborg'


def parse_args(argv: list[str], default_config_files: list | None = None,
               conf=CONF) -> None:
    """Read command line and configuration files.

    :param argv: as ``sys.argv``, with the name of the command first
    :param default_config_files: instead of looking in the usual places
    :raises oslo_config.cfg.Error: an option or a file is wrong
    """
    if not getattr(conf, 'default_log_levels', None):
        log.register_options(conf)
    with file_named():
        conf(argv[1:], project=PROJECT, version=version.release_string(),
             default_config_files=default_config_files)
    check_directories(conf)


@contextlib.contextmanager
def file_named() -> Iterator[None]:
    """Name the file that oslo.config cannot read; it lets these errors pass.

    :raises cfg.ConfigFileParseError: in place of them.
    """
    try:
        yield
    except UnicodeDecodeError as error:
        raise cfg.ConfigFileParseError(
            _file_being_read(error), 'no UTF-8 text, byte %d is 0x%02x' % (
                error.start, error.object[error.start])) from None
    except OSError as error:
        raise cfg.ConfigFileParseError(
            error.filename, error.strerror) from None


def check_directories(conf=CONF) -> None:
    """Refuse to go on without files that may be there.

    oslo.config takes a directory that this user may not look into for an
    empty one.

    :raises cfg.ConfigFilesPermissionDeniedError: there is such a directory.
    """
    places = list(conf.config_dir or ())
    if not conf.config_file:
        places.append('/etc/%s' % PROJECT)
    closed = [path for path in places if os.path.isdir(path)
              and not os.access(path, os.R_OK | os.X_OK)]
    if closed:
        raise cfg.ConfigFilesPermissionDeniedError(closed)


def _file_being_read(error: Exception) -> str:
    for frame, _line in traceback.walk_tb(error.__traceback__):
        parser = frame.f_locals.get('self')
        if isinstance(parser, cfg.ConfigParser):
            return parser.filename
    return 'a configuration file'


def values_given(conf: cfg.ConfigOpts, group: str, name: str) -> list[str]:
    """Every value that the files give an option of this very name.

    oslo.config merges former names with the present one, and of a repeated
    option that is no list of values it keeps the last; only apart from the
    real options can be seen what the files say.
    """
    apart = cfg.ConfigOpts()
    apart.register_opt(cfg.MultiStrOpt(name, default=[]), group=group)
    arguments = ['--config-file=%s' % path for path in conf.config_file or ()]
    arguments += ['--config-dir=%s' % path for path in conf.config_dir or ()]
    apart(arguments, project=PROJECT, default_config_files=[],
          default_config_dirs=[])
    return list(apart[group][name])


def setup_logging(conf=CONF) -> None:
    log.setup(conf, PROJECT)


def prepare(argv: list[str], default_config_files: list | None = None,
            conf=CONF) -> None:
    """What every command does first: configuration, then logging."""
    parse_args(argv, default_config_files, conf)
    setup_logging(conf)


def set_api_defaults(conf=CONF) -> None:
    """Defaults of libraries that only the API loads.

    A token in ``X-Service-Token`` counts only when it has one of the service
    roles, see ``[keystone_authtoken] service_token_roles_required``.
    """
    # Importing it registers [keystone_authtoken]; other services do without.
    importutils.import_module('keystonemiddleware.auth_token')
    conf.set_default('service_token_roles_required', True,
                     group='keystone_authtoken')

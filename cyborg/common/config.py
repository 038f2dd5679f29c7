# SPDX-License-Identifier: Apache-2.0
"""Reads the configuration of a process and starts its logging."""

import argparse
from collections.abc import Iterator
import contextlib
import glob
import logging
import os

from oslo_config import cfg
from oslo_log import log
from oslo_utils import importutils

from cyborg import version
from cyborg.common import exception
from cyborg.common import outages
from cyborg.common import rpc  # noqa: F401 (sets the control exchange)
from cyborg.common.i18n import _
from cyborg.conf import CONF

PROJECT = 'cyborg'


def parse_args(argv: list[str], default_config_files: list | None = None,
               conf: cfg.ConfigOpts = CONF) -> None:
    """Read command line and configuration files.

    :param argv: as ``sys.argv``, with the name of the command first
    :param default_config_files: instead of looking in the usual places
    :raises oslo_config.cfg.Error: an option or a file is wrong
    """
    if not getattr(conf, 'default_log_levels', None):
        log.register_options(conf)
    with file_named(argv[1:], default_config_files):
        conf(argv[1:], project=PROJECT, version=version.release_string(),
             default_config_files=default_config_files)
    check_directories(conf)


@contextlib.contextmanager
def file_named(arguments: list[str],
               default_config_files: list | None = None) -> Iterator[None]:
    """Name the file that oslo.config cannot read; it lets these errors pass.

    :param arguments: the command line, which may name files
    :raises cfg.ConfigFileParseError: in place of them.
    """
    try:
        yield
    except UnicodeDecodeError as error:
        raise cfg.ConfigFileParseError(
            _holding(error.object, arguments, default_config_files),
            'no UTF-8 text, byte %d is 0x%02x' % (
                error.start, error.object[error.start])) from None
    except OSError as error:
        raise cfg.ConfigFileParseError(
            error.filename, error.strerror) from None


def _holding(content: bytes, arguments, default_config_files) -> str:
    """Which of the files begins with what could not be decoded."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    for name in ('--config-file', '--config-dir'):
        parser.add_argument(name, action='append', default=[])
    given, _rest = parser.parse_known_args(arguments)
    places = given.config_file or default_config_files or (
        cfg.find_config_files(project=PROJECT))
    for folder in given.config_dir or cfg.find_config_dirs(project=PROJECT):
        places = [*places, *sorted(glob.glob(os.path.join(folder, '*.conf')))]
    for path in places:
        with contextlib.suppress(OSError), open(path, 'rb') as stream:
            if stream.read(len(content)) == content:
                return path
    return _('a configuration file')


def check_directories(conf: cfg.ConfigOpts = CONF) -> None:
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


def setup_logging(conf: cfg.ConfigOpts = CONF) -> None:
    """Start logging as the options say.

    :raises exception.ConfigInvalid: a file or directory of them is of no use.
    """
    try:
        log.setup(conf, PROJECT)
    except log.LogConfigError as error:
        raise exception.ConfigInvalid(error_msg=_(
            '[DEFAULT] log_config_append = %(path)s of host %(host)s cannot '
            'be used: %(reason)s. Name a file in the form of Python\'s '
            'logging configuration, or leave the option out.') % {
                'path': conf.log_config_append, 'host': conf.host,
                'reason': ' '.join(str(error.err_msg).split())}) from error
    except OSError as error:
        named = ['%s = %s' % (name, conf[name])
                 for name in ('log_dir', 'log_file') if conf[name]]
        raise exception.ConfigInvalid(error_msg=_(
            '[DEFAULT] %(options)s of host %(host)s: %(path)s cannot be '
            'written to (%(reason)s). Make the directory, and let the user '
            'of this service write there.') % {
                'options': ', '.join(named) or 'use_syslog',
                'host': conf.host, 'path': error.filename,
                'reason': error.strerror}) from error
    shown = outages.Outages(conf)
    for handler in logging.getLogger().handlers:
        handler.addFilter(shown)


def prepare(argv: list[str], default_config_files: list | None = None,
            conf: cfg.ConfigOpts = CONF) -> None:
    """What every command does first: configuration, then logging."""
    parse_args(argv, default_config_files, conf)
    setup_logging(conf)


def set_api_defaults(conf: cfg.ConfigOpts = CONF) -> None:
    """Defaults of libraries that only the API loads.

    A token in ``X-Service-Token`` counts only when it has one of the service
    roles, see ``[keystone_authtoken] service_token_roles_required``.
    """
    # Importing it registers [keystone_authtoken]; other services do without.
    importutils.import_module('keystonemiddleware.auth_token')
    conf.set_default('service_token_roles_required', True,
                     group='keystone_authtoken')

# SPDX-License-Identifier: Apache-2.0
"""Reads the configuration of a process and starts its logging."""

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
    """
    if not getattr(conf, 'default_log_levels', None):
        log.register_options(conf)
    conf(argv[1:], project=PROJECT, version=version.release_string(),
         default_config_files=default_config_files)


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

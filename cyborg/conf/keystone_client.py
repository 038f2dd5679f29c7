# SPDX-License-Identifier: Apache-2.0
"""The keystoneauth options of a service that we are a client of."""

from keystoneauth1 import loading as ks_loading
from oslo_config import cfg

Deprecated = dict[str, list[cfg.DeprecatedOpt]]


def client_opts(service_type: str,
                deprecated: Deprecated | None = None) -> list[cfg.Opt]:
    """Session and adapter options, with our defaults.

    :param service_type: default of ``service_type``
    :param deprecated: former names by option name
    """
    adapter = ks_loading.get_adapter_conf_options(
        include_deprecated=False, deprecated_opts=deprecated)
    cfg.set_defaults(adapter, service_type=service_type,
                     valid_interfaces=['internal', 'public'])
    session = ks_loading.get_session_conf_options(deprecated_opts=deprecated)
    return session + adapter


def register(conf: cfg.ConfigOpts, group: cfg.OptGroup,
             options: list[cfg.Opt]) -> None:
    """Register a group's options and those that select an auth plugin."""
    conf.register_group(group)
    conf.register_opts(options, group=group)
    ks_loading.register_auth_conf_options(conf, group.name)


def listed(options: list[cfg.Opt]) -> list[cfg.Opt]:
    """The same for the sample, with the options of the usual plugins.

    A plugin registers its options only once it is selected, so they have to
    be named here to be seen in the sample.
    """
    by_dest: dict[str, cfg.Opt] = {}
    for option in (options + ks_loading.get_auth_common_conf_options() +
                   ks_loading.get_auth_plugin_conf_options('password')):
        by_dest.setdefault(option.dest, option)
    return list(by_dest.values())

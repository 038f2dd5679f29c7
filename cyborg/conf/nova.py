# SPDX-License-Identifier: Apache-2.0
"""Options of ``[nova]``: how this service reaches Nova."""

from oslo_config import cfg

from cyborg.conf import keystone_client

GROUP = cfg.OptGroup(
    'nova',
    title='Nova',
    help='Credentials and endpoint of Nova. Set auth_type = none together '
         'with endpoint_override for a Nova without Keystone.')

OPTS = keystone_client.client_opts('compute')


def register_opts(conf: cfg.ConfigOpts) -> None:
    keystone_client.register(conf, GROUP, OPTS)


def list_opts() -> dict:
    return {GROUP: keystone_client.listed(OPTS)}

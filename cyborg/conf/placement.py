# SPDX-License-Identifier: Apache-2.0
"""Options of ``[placement]``: how this service reaches Placement."""

from oslo_config import cfg

from cyborg.conf import keystone_client

GROUP = cfg.OptGroup(
    'placement',
    title='Placement',
    help='Credentials and endpoint of Placement. Set auth_type = none '
         'together with endpoint_override for a Placement without Keystone.')

OPTS = keystone_client.client_opts('placement')


def register_opts(conf: cfg.ConfigOpts) -> None:
    keystone_client.register(conf, GROUP, OPTS)


def list_opts() -> dict:
    return {GROUP: keystone_client.listed(OPTS)}

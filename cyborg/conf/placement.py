# SPDX-License-Identifier: Apache-2.0
"""Options of ``[placement]``: how this service reaches Placement."""

from oslo_config import cfg

from cyborg.conf import keystone_client

GROUP = cfg.OptGroup(
    'placement',
    title='Placement',
    help='Credentials and endpoint of Placement. Set auth_type = none '
         'together with endpoint_override for a Placement without Keystone.')

OPTS = [
    cfg.IntOpt(
        'max_concurrent_requests', default=8, min=1, max=10,
        help='How many requests a conductor has under way at once for the '
             'providers of one report: those of a host that reports for the '
             'first time, or after many changes. All reports of a conductor '
             'share the threads for it. The HTTP client keeps 10 connections '
             'open; 1 sends one request after another, as a Placement on '
             'SQLite needs it.'),
    *keystone_client.client_opts('placement'),
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    keystone_client.register(conf, GROUP, OPTS)


def list_opts() -> dict:
    return {GROUP: keystone_client.listed(OPTS)}

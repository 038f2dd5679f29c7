# SPDX-License-Identifier: Apache-2.0
"""Options of ``[glance]``: where bitstreams for FPGAs come from."""

from oslo_config import cfg

from cyborg.conf import keystone_client

GROUP = cfg.OptGroup(
    'glance',
    title='Glance',
    help='The image service that holds bitstreams. Only drivers that '
         'program FPGAs need it.')

FORMER_NAMES = {
    'insecure': [cfg.DeprecatedOpt('api_insecure', group='glance')],
    'cafile': [cfg.DeprecatedOpt('ca_file', group='ssl')],
    'certfile': [cfg.DeprecatedOpt('cert_file', group='ssl')],
    'keyfile': [cfg.DeprecatedOpt('key_file', group='ssl')],
}

OPTS = keystone_client.client_opts('image', FORMER_NAMES) + [
    cfg.IntOpt(
        'num_retries',
        default=0,
        help="""
How often a failed download of an image is tried again.

Valid: ``0``, ``3``. Invalid: ``always``.
"""),
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    keystone_client.register(conf, GROUP, OPTS)


def list_opts() -> dict:
    return {GROUP: keystone_client.listed(OPTS)}

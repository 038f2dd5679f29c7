# SPDX-License-Identifier: Apache-2.0
"""Options of ``[service_user]``: the service token on outgoing requests."""

from keystoneauth1 import loading as ks_loading
from oslo_config import cfg

from cyborg.conf import keystone_client

GROUP = cfg.OptGroup(
    'service_user',
    title='Service user',
    help='Credentials of the token that tells other services that this '
         'service acts for a user. It keeps long work alive when the '
         "user's own token expires.")

OPTS = [
    cfg.BoolOpt(
        'send_service_user_token',
        default=False,
        help="""
Send a service token beside the user's token. Needs credentials in this
section whose user has a role that the other service accepts, usually
``service``.

Valid: ``true``, ``false``.
"""),
]

SESSION_OPTS = ks_loading.get_session_conf_options()


def register_opts(conf: cfg.ConfigOpts) -> None:
    keystone_client.register(conf, GROUP, OPTS + SESSION_OPTS)


def list_opts() -> dict:
    return {GROUP: keystone_client.listed(OPTS + SESSION_OPTS)}

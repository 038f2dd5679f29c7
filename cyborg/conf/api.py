# SPDX-License-Identifier: Apache-2.0
"""Options of ``[api]``."""

from oslo_config import cfg

GROUP = cfg.OptGroup(
    'api',
    title='API',
    help='The REST API. Everything but api_paste_config and public_endpoint '
         'only concerns the cyborg-api command, not a WSGI server that loads '
         'cyborg.wsgi.api:application.')

OPTS = [
    cfg.HostAddressOpt(
        'host_ip',
        default='127.0.0.1',
        help="""
Address that ``cyborg-api`` listens on.

Valid: ``127.0.0.1``, ``0.0.0.0``, ``::1``. Invalid: ``http://127.0.0.1``.
"""),
    cfg.PortOpt(
        'port',
        default=6666,
        help="""
TCP port that ``cyborg-api`` listens on.

Valid: ``6666``. Invalid: ``70000``.
"""),
    cfg.IntOpt(
        'api_workers',
        help="""
Number of worker threads of ``cyborg-api``. Unset means one for each
processor.

Valid: ``4``. Invalid: ``all``.
"""),
    cfg.BoolOpt(
        'enable_ssl_api',
        default=False,
        help="""
Write ``https`` instead of ``http`` in links when a proxy in front of
``cyborg-api`` terminates TLS. Better leave it off and let the proxy send its
headers, see ``[oslo_middleware] enable_proxy_headers_parsing``.

Valid: ``true``, ``false``.
"""),
    cfg.StrOpt(
        'public_endpoint',
        help="""
URL that clients know the API under. Links in answers start with it. Unset
means the URL of the request.

Valid: ``https://cloud.example.org/accelerator``. Invalid: a path alone.
"""),
    cfg.StrOpt(
        'api_paste_config',
        default='api-paste.ini',
        help="""
File that describes the WSGI pipeline, absolute or looked up in the
configuration directories. The pipeline is called ``main``; leave
``authtoken`` out of it to run without Keystone.

Valid: ``api-paste.ini``, ``/etc/cyborg/api-paste.ini``.
"""),
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    conf.register_group(GROUP)
    conf.register_opts(OPTS, group=GROUP)


def list_opts() -> dict:
    return {GROUP: OPTS}

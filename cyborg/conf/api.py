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
        min=1,
        help="""
Number of processes that ``cyborg-api`` serves with; each serves several
requests at a time. Unset means one for each processor.

Valid: ``4``. Invalid: ``all``.
"""),
    cfg.BoolOpt(
        'enable_ssl_api',
        default=False,
        help="""
Let ``cyborg-api`` itself speak HTTPS, with the certificate and key of
``[ssl]``. Leave it off where a proxy in front terminates TLS, and tell
clients' URL by ``public_endpoint`` or ``[oslo_middleware]
enable_proxy_headers_parsing``.

Valid: ``true``, ``false``.
"""),
    cfg.StrOpt(
        'public_endpoint',
        help="""
URL that clients know the API under, with ``/accelerator`` or without it. Links
in answers start with it. Unset means the URL of the request.

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

SSL_GROUP = cfg.OptGroup(
    'ssl',
    title='TLS of cyborg-api',
    help='Certificates that cyborg-api uses when [api] enable_ssl_api is on.')

SSL_OPTS = [
    cfg.StrOpt(
        'cert_file',
        help="""
Certificate of this API in PEM form, followed by those of the authorities
between it and a root.

Valid: ``/etc/cyborg/ssl/api.crt``.
"""),
    cfg.StrOpt(
        'key_file',
        help="""
Private key of ``cert_file`` in PEM form, without a passphrase.

Valid: ``/etc/cyborg/ssl/api.key``.
"""),
    cfg.StrOpt(
        'ca_file',
        help="""
Certificates to send after ``cert_file``, when that file holds the API's own
alone.

Valid: ``/etc/cyborg/ssl/chain.crt``.
"""),
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    for group, opts in ((GROUP, OPTS), (SSL_GROUP, SSL_OPTS)):
        conf.register_group(group)
        conf.register_opts(opts, group=group)


def list_opts() -> dict:
    return {GROUP: OPTS, SSL_GROUP: SSL_OPTS}

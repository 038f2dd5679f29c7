# SPDX-License-Identifier: Apache-2.0
"""Options of ``[upgrade_levels]``: caps during a rolling upgrade."""

from oslo_config import cfg

GROUP = cfg.OptGroup(
    'upgrade_levels',
    title='Upgrade levels',
    help='Newest RPC version that this process may send while some services '
         'still run an older release.')

OPTS = [
    cfg.StrOpt(
        'conductor',
        help="""
Cap on what is sent to conductors. Unset means the newest version, right as
soon as all conductors are of this release. A rule with ``managed`` in ``[pci]
device_spec`` needs 1.1.

Valid: ``1.0``, ``1.1``, ``2026.2``, ``2027.1``. Invalid: ``auto``,
``newest``.
"""),
    cfg.StrOpt(
        'agent',
        help="""
Cap on what is sent to agents. Unset means the newest version.

Valid: ``1.0``, ``2026.2``, ``2027.1``. Invalid: ``auto``.
"""),
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    conf.register_group(GROUP)
    conf.register_opts(OPTS, group=GROUP)


def list_opts() -> dict:
    return {GROUP: OPTS}

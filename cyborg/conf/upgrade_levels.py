# SPDX-License-Identifier: Apache-2.0
"""Options of ``[upgrade_levels]``: caps while services are upgraded."""

from oslo_config import cfg

GROUP = cfg.OptGroup(
    'upgrade_levels',
    title='Upgrade levels',
    help='Newest RPC version that this process may send while some services '
         'are still of an older release. A cap keeps messages readable for '
         'them. It is no rolling upgrade, and mixed releases are not safe '
         'because of it: upgrade all services in one go.')

OPTS = [
    cfg.StrOpt(
        'conductor',
        help="""
Cap on what is sent to conductors. Unset means the newest version, right as
soon as all conductors are of this release; one of an older release refuses it.
Below 1.1 an agent reports as one of 2026.2, and an API asks for accelerator
requests as one of 2026.2. A rule with ``managed`` in ``[pci] device_spec``
needs 1.1.

Valid: ``1.0``, ``1.1``, ``1.2``, ``2026.2``, ``2027.1``. Invalid: ``auto``,
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

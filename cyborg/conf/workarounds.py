# SPDX-License-Identifier: Apache-2.0
"""Options of ``[workarounds]``: temporary ways around a safety check."""

from oslo_config import cfg

GROUP = cfg.OptGroup(
    'workarounds',
    title='Workarounds',
    help='Each option gives up a safety for a time and goes away again.')

OPTS = [
    cfg.BoolOpt(
        'allow_unsafe_devices',
        default=False,
        deprecated_for_removal=True,
        deprecated_since='2027.1',
        deprecated_reason="""
It lets users see what earlier users left on a device. It is removed once both
are true: the NVMe driver that cleans its devices is available, and at least
one release has passed since this option came, so in 2027.2 at the earliest.
""",
        help="""
Admit devices that no driver here can clean between users: NVMe controllers
selected for ``pci_driver``, and the driver ``inspur_nvme_ssd_driver``. What
one guest leaves on such a device, the next one can read, and a guest may
damage it for good. Only for hosts whose users all trust each other. Each
such device is warned about when the agent starts.

Valid: ``true``, ``false``.
"""),
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    conf.register_group(GROUP)
    conf.register_opts(OPTS, group=GROUP)


def list_opts() -> dict:
    return {GROUP: OPTS}

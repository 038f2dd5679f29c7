# SPDX-License-Identifier: Apache-2.0
"""Options of ``[nvme]``: how NVMe disks are cleaned."""

from oslo_config import cfg

GROUP = cfg.OptGroup(
    'nvme',
    title='NVMe disks',
    help='Limits of cleaning NVMe disks. Which disks cyborg-cleaner cleans '
         'stands in [cleaner].')

OPTS = [
    cfg.MultiStrOpt(
        'device_spec',
        default=[],
        help="""
Rules for NVMe disks of Cyborg's own, as JSON objects with ``vendor_id``,
``product_id``, ``address``, ``clear_action`` and ``clear_strategy``. No driver
reads it yet, as in 2026.2: for disks that Nova hands out, use
``[cleaner] device_spec``.

Valid: ``{"vendor_id": "144d", "clear_action": "sanitize"}``.
"""),
    cfg.IntOpt(
        'cleanup_timeout',
        default=900,
        min=60,
        help="""
Seconds after which the cleaning of a disk is reported as overdue. An erase is
never given up for it: the disk stays reserved, and the erase is followed on.

Valid: ``900``, ``86400``. Invalid: ``30`` (less than 60).
"""),
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    conf.register_group(GROUP)
    conf.register_opts(OPTS, group=GROUP)


def list_opts() -> dict:
    return {GROUP: OPTS}

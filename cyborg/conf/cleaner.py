# SPDX-License-Identifier: Apache-2.0
"""Options of ``[cleaner]``: NVMe disks that Nova hands out."""

from oslo_config import cfg

GROUP = cfg.OptGroup(
    'cleaner',
    title='Cleaning of NVMe disks between users',
    help='Read by cyborg-cleaner on compute hosts, by cyborg-cleaner-listener '
         'and by cyborg-nvme. cyborg-nvme check shows what follows.')

OPTS = [
    cfg.MultiStrOpt(
        'device_spec',
        default=[],
        help="""
A rule that selects NVMe disks which Nova hands out with its own PCI
passthrough, as a JSON object, or a JSON list of such objects; may be given
many times. No other disk is ever touched. The keys are those of ``[pci]
device_spec`` and:

``clear_action``: ``auto`` (the default: sanitize, or format where the disk
cannot sanitize), ``sanitize``, or ``zero`` (an overwrite).
``clear_strategy``: ``auto``, ``crypto`` or ``block``.

A disk that can do nothing of what its rule allows is an error; nothing weaker
is done. When several rules match a disk, the first one decides.

Valid:
``{"vendor_id": "144d", "product_id": "a808"}``,
``{"address": "0000:81:00.0", "clear_action": "sanitize"}``,
``{"vendor_id": "144d", "clear_strategy": "crypto"}``.
Invalid:
``{"vendor_id": "144d", "clear_action": "shred"}``,
``{"vendor_id": "144d", "clear_action": "zero", "clear_strategy": "crypto"}``,
``{"vendor": "144d"}`` (unknown key).
"""),
    cfg.IntOpt(
        'poll_interval',
        default=60,
        min=1,
        help="""
Seconds between two looks at Placement and the host. A hint of
cyborg-cleaner-listener makes the next look come at once.

Valid: ``60``, ``10``. Invalid: ``0``.
"""),
    cfg.IntOpt(
        'settle_seconds',
        default=10,
        min=0,
        help="""
Seconds for which a disk has to be free before it is erased.

Valid: ``10``, ``0``. Invalid: ``-1``.
"""),
    cfg.IntOpt(
        'concurrency',
        default=2,
        min=1,
        help="""
Disks that are erased at the same time. One whose erase is overdue no longer
counts.

Valid: ``2``. Invalid: ``0``.
"""),
    cfg.StrOpt(
        'journal_path',
        default='$state_path/cleaner',
        help="""
Directory of the journal, in which cyborg-cleaner writes down what it does to
each disk. It must survive a reboot and belongs to one host; only its owner
can read it.

Valid: ``/var/lib/cyborg/cleaner``.
"""),
    cfg.StrOpt(
        'unknown',
        default='hold',
        choices=[('hold', 'reserve it, erase nothing, and say so once'),
                 ('clean', 'reserve and clean it')],
        help="""
What is done with a free disk that the journal does not know, as at the first
start, or when the journal is lost. A disk that is in use is never erased,
whatever stands here.

Valid: ``hold``, ``clean``. Invalid: ``ignore``.
"""),
    cfg.IntOpt(
        'verify_samples',
        default=64,
        min=1,
        max=65536,
        help="""
Blocks that are written before an erase, and have to be gone after it, in each
namespace. Verification cannot be switched off.

Valid: ``64``. Invalid: ``0``.
"""),
    cfg.IntOpt(
        'max_percentage_used',
        default=100,
        min=0,
        max=255,
        help="""
A disk that says it has used more of its life than this, in percent, is not
offered again.

Valid: ``100``, ``80``. Invalid: ``256``.
"""),
    cfg.StrOpt(
        'namespaces',
        default='restore',
        choices=[('restore', 'put back what was recorded'),
                 ('fail', 'the disk is in error')],
        help="""
What is done when a guest has changed the namespaces of its disk.

Valid: ``restore``, ``fail``. Invalid: ``ignore``.
"""),
    cfg.StrOpt(
        'firmware',
        default='pin',
        choices=[('pin', 'the disk is in error'),
                 ('ignore', 'the disk is offered with it')],
        help="""
What is done when a guest has loaded another firmware.

Valid: ``pin``, ``ignore``. Invalid: ``restore``.
"""),
    cfg.StrOpt(
        'notification_exchange',
        default='nova',
        help="""
Exchange on which Nova publishes its notifications: ``control_exchange`` of
Nova's configuration.

Valid: ``nova``.
"""),
    cfg.ListOpt(
        'notification_topics',
        default=['versioned_notifications'],
        help="""
Topics of the notifications: ``versioned_notifications_topics`` in
``[notifications]`` of Nova's configuration.

Valid: ``versioned_notifications``; ``versioned_notifications,cleaner``.
"""),
    cfg.StrOpt(
        'notification_pool',
        default='cyborg-cleaner',
        help="""
Name that the listeners share. They share the work; listeners of other services
lose nothing to them.

Valid: ``cyborg-cleaner``.
"""),
    cfg.StrOpt(
        'metrics_file',
        help="""
File for the text file collector of Prometheus' node exporter. Unset: none is
written.

Valid: ``/var/lib/node_exporter/cyborg_cleaner.prom``.
"""),
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    conf.register_group(GROUP)
    conf.register_opts(OPTS, group=GROUP)


def list_opts() -> dict:
    return {GROUP: OPTS}

# SPDX-License-Identifier: Apache-2.0
"""Options of ``[pci]``: which PCI devices of a host may be handed out."""

from oslo_config import cfg

GROUP = cfg.OptGroup(
    'pci',
    title='PCI devices',
    help='Selection of PCI devices on a compute host. Read once, when the '
         'agent starts; cyborg-pci check shows the outcome beforehand.')

OPTS = [
    cfg.MultiStrOpt(
        'device_spec',
        default=[],
        deprecated_name='passthrough_whitelist',
        help="""
A rule that selects PCI devices, as a JSON object, or a JSON list of such
objects; may be given many times. A device that no rule matches is not
offered. Every rule is checked when the agent starts, and a wrong one stops
it.

``vendor_id`` and ``product_id``: four hexadecimal digits.
``address``: a text in which ``*`` stands for any part
(``domain:bus:slot.function``), or an object of regular expressions over
``domain``, ``bus``, ``slot`` and ``function``.
``devname``: name of a network interface, in place of ``address``.
``managed``: whether the hypervisor rebinds the device to its own driver for
the guest; ``true`` when left out. Set it to ``false`` for a device that has
to keep the driver the operator bound it to, such as a VFIO variant driver.

When several rules match a device, the first one decides about ``managed``.
A physical function is selected alone; select virtual functions by their ids
or addresses. A key that is given must restrict something, or be ``*``.

Valid:
``{"vendor_id": "10de", "product_id": "1eb8"}``,
``{"address": "0000:3b:00.*"}``,
``{"address": {"bus": "3[b-d]", "function": "0"}, "managed": false}``,
``[{"vendor_id": "8086"}, {"devname": "ens1f0"}]``.
Invalid:
``{"vendor": "10de"}`` (unknown key),
``{"vendor_id": "10de", "address": ""}`` (leave the key out),
``{"vendor_id": "10de", "managed": "maybe"}``,
``{"address": "0000:82.0.0"}``,
``{"devname": "ens1f0", "address": "0000:3b:00.0"}``.

The former name of the option is deprecated since 2027.1 and will be removed
in 2027.2.
"""),
    cfg.ListOpt(
        'exclude_list',
        default=[],
        help="""
Complete addresses of devices that are never offered, whatever
``device_spec`` says. It selects nothing by itself; excluding a physical
function leaves its virtual functions as they are. Unlike ``device_spec`` it is
given once: a later line replaces an earlier one.

Valid: ``0000:3b:00.0``; ``0000:3b:00.0,0000:5e:00.1``; ``10000:e1:00.0`` (a
device behind Intel VMD).
Invalid: ``3b:00.0`` (incomplete), ``0000:3b:00.*``, ``0000:3b:00.8``.
"""),
    cfg.StrOpt(
        'sysfs_path',
        default='/sys',
        help="""
Where the sysfs file system of the host is mounted. Needed where the agent
runs in a container that sees the host's under another path. It is only read.

Valid: ``/sys``, ``/host/sys``.
"""),
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    conf.register_group(GROUP)
    conf.register_opts(OPTS, group=GROUP)


def list_opts() -> dict:
    return {GROUP: OPTS}

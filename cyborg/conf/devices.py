# SPDX-License-Identifier: Apache-2.0
"""Options of the drivers for GPUs and network cards."""

from oslo_config import cfg

GPU_GROUP = cfg.OptGroup(
    'gpu_devices', title='GPUs',
    help='What nvidia_gpu_driver makes of the GPUs of a host.')

GPU_OPTS = [
    cfg.ListOpt(
        'enabled_vgpu_types',
        default=[],
        help="""
Types of virtual GPUs (mediated devices) that GPUs of this host offer, as
named in ``mdev_supported_types`` of a GPU. Each needs a group ``[vgpu_TYPE]``
with the GPUs that offer it. A GPU in none of these groups is handed out as a
whole. Checked when the agent starts, whether or not there is a GPU.

Valid: ``nvidia-222``; ``nvidia-222,nvidia-223``.
"""),
    cfg.BoolOpt(
        'filter_sriov_vfs',
        default=False,
        help="""
Leave out every virtual function of an NVIDIA GPU, also one that is listed in
a group ``[vgpu_TYPE]``.

Valid: ``true``, ``false``. Invalid: ``maybe``.
"""),
]

#: Of each group ``vgpu_TYPE``; which there are is known from the options.
VGPU_OPTS = [
    cfg.ListOpt(
        'device_addresses',
        default=[],
        help="""
Complete PCI addresses of the GPUs, or of virtual functions of GPUs, that
offer this type of virtual GPU. One address offers one type. An address that
the host does not have has no effect.

Valid: ``0000:3b:00.0``; ``0000:41:00.4,0000:41:00.5``.
"""),
]

#: Stands in the sample for all groups of that kind.
VGPU_SAMPLE = cfg.OptGroup(
    'vgpu_nvidia-222', title='Virtual GPUs of one type',
    help='One such group for each of [gpu_devices] enabled_vgpu_types, named '
         'after the type.')

NIC_GROUP = cfg.OptGroup(
    'nic_devices', title='Network cards',
    help='What intel_nic_driver makes of the network cards of a host.')

NIC_OPTS = [
    cfg.ListOpt(
        'enabled_nic_types',
        default=[],
        help="""
Groups of options that count. There is one, ``x710_static``, and without it
every card is offered, with no physical network.

Valid: ``x710_static``.
"""),
]

X710_GROUP = cfg.OptGroup(
    'x710_static', title='Intel X710 and XXV710',
    help='Used when [nic_devices] enabled_nic_types names this group.')

X710_OPTS = [
    cfg.ListOpt(
        'physical_device_mappings',
        default=[],
        help="""
Physical networks, each with the network interfaces (of physical functions)
that are on it. The network is told to Nova with each function of such an
interface, and makes a trait, ``CUSTOM_`` and its name in upper case.

Valid: ``physnet1:ens1f0``; ``physnet1:ens1f0|ens1f1,physnet2:ens2f0``.
"""),
    cfg.ListOpt(
        'function_device_mappings',
        default=[],
        help="""
Functions that cards have through their firmware packages, each with the
network interfaces of those cards. A function makes a trait, ``CUSTOM_`` and
its name in upper case.

Valid: ``GTPv1:ens1f0``; ``GTPv1:ens1f0|ens1f1,ecpri:ens2f0``.
"""),
    cfg.ListOpt(
        'device_addresses',
        default=[],
        help="""
Complete PCI addresses of what is offered. That of a physical function stands
for all its virtual functions, or for itself while it has none; that of a
virtual function for this one. When empty, everything is offered.

Valid: ``0000:05:00.0``; ``0000:05:02.1,0000:05:02.2``.
"""),
]

_GROUPS = ((GPU_GROUP, GPU_OPTS), (NIC_GROUP, NIC_OPTS),
           (X710_GROUP, X710_OPTS))


def register_opts(conf: cfg.ConfigOpts) -> None:
    for group, options in _GROUPS:
        conf.register_group(group)
        conf.register_opts(options, group=group)


def register_dynamic_opts(conf: cfg.ConfigOpts) -> None:
    """Make the groups known that the configured types ask for.

    Drivers written for 2026.2 call this before they read them.
    """
    for kind in conf.gpu_devices.enabled_vgpu_types:
        conf.register_opts(VGPU_OPTS, group='vgpu_' + kind)
    for name in conf.nic_devices.enabled_nic_types:
        conf.register_opts(X710_OPTS, group=name)


def list_opts() -> dict:
    return {**dict(_GROUPS), VGPU_SAMPLE: VGPU_OPTS}

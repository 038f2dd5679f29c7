# SPDX-License-Identifier: Apache-2.0
"""Options of ``[agent]``, read on compute hosts."""

import socket

from oslo_config import cfg

GROUP = cfg.OptGroup(
    'agent',
    title='Agent',
    help='What the agent of a compute host looks for and reports to.')

OPTS = [
    cfg.ListOpt(
        'enabled_drivers',
        default=['fake_driver'],
        help="""
Drivers that look for devices on this host, as named in the entry point group
``cyborg.accelerator.driver``. The report lists devices in the order of this
list. The agent refuses to start when a name is unknown.

Valid: ``pci_driver``; ``nvidia_gpu_driver,pci_driver``.
Invalid: ``huawei_ascend_driver`` (shipped by 2026.2, dropped in 2027.1), the
path of a class.
"""),
    cfg.StrOpt(
        'resource_provider_name',
        default=socket.getfqdn(),
        sample_default='compute.fully.qualified.name',
        help="""
Name of the resource provider that stands for this host in Placement. With
Nova it is the hypervisor host name, which libvirt derives from the fully
qualified domain name. When Placement has no provider of this name,
``[DEFAULT] host`` and its short form are tried. The provider must exist;
the agent never creates it.

Valid: ``compute-1.example.org``, ``compute-1``.
"""),
    cfg.IntOpt(
        'resource_provider_startup_retries',
        default=3,
        help="""
How often the agent looks again at start when Placement answers but has no
provider for this host, doubling the pause each time (1, 2, 4... seconds).
After that it exits. While Placement does not answer at all it keeps waiting
and says so.

Valid: ``3``, ``0`` (look only once). Invalid: ``forever``.
"""),
    cfg.IntOpt(
        'whole_report_interval',
        default=3600,
        min=0,
        help="""
Seconds after which a report is sent whole even though nothing has changed. In
between a report of which neither the host's devices nor what the agent knows
of its rows has changed is sent as a digest, and conductors say whether it
still agrees with database and Placement; where it does not the whole report
follows at once. ``0`` sends every report whole, as 2026.2 does.

Valid: ``3600``, ``0``. Invalid: ``-1``.
"""),
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    conf.register_group(GROUP)
    conf.register_opts(OPTS, group=GROUP)


def list_opts() -> dict:
    return {GROUP: OPTS}

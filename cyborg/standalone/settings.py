# SPDX-License-Identifier: Apache-2.0
"""Options of ``cyborg-standalone``, and the configuration it runs with.

Everything is a default of an ordinary option, so that a configuration file
given with ``--config-file`` has the last word.
"""

import json
import os
import pathlib

from oslo_config import cfg
from oslo_db import options as db_options

from cyborg.common import exception
from cyborg.common.i18n import _

#: What ``--simulate`` offers of its host: the GPU, and the VFs of the
#: accelerator, which stay with the variant driver they are bound to. Never
#: the NVMe drive, nor the NIC that carries the default route.
SIMULATED_RULES = (
    {'vendor_id': '1d0f', 'product_id': 'efa1', 'managed': False},
    {'vendor_id': '10de', 'product_id': '1eb8'},
)

CLI_OPTS = [
    cfg.StrOpt('state-dir', metavar='DIR',
               help='Where databases, the log and the simulated host are '
                    'kept. Default: cyborg-standalone in $XDG_STATE_HOME or '
                    '~/.local/state; with --demo a directory that is removed '
                    'at the end.'),
    cfg.StrOpt('sysfs', metavar='DIR',
               help='Look for PCI devices in this tree instead of /sys.'),
    cfg.BoolOpt('simulate', default=False,
                help='Look at a small made-up host: an accelerator with four '
                     'VFs, a GPU, a NIC and an NVMe drive on two NUMA nodes.'),
    cfg.BoolOpt('demo', default=False,
                help='Take one device through discovery, profile, request, '
                     'bind, show and unbind, then exit.'),
    cfg.BoolOpt('demo-cleaning', default=False,
                help='With --simulate: let two guests have one NVMe disk, and '
                     'show how it is erased between them, then exit.'),
    cfg.PortOpt('port', min=0, metavar='PORT',
                help='Port of the API on 127.0.0.1. Default: 6666; with '
                     '--demo a free one.'),
    cfg.PortOpt('placement-port', min=0, default=0, metavar='PORT',
                help='Port of Placement on 127.0.0.1. Default: a free one.'),
    cfg.MultiStrOpt('device-spec', default=[], metavar='JSON',
                    help='A rule in the form of [pci] device_spec: which PCI '
                         'devices to offer. May be given several times; the '
                         'first rule that matches a device counts.'),
]


class UsageError(exception.CyborgException):
    _msg_fmt = _('%(reason)s')


def default_state_directory() -> pathlib.Path:
    base = os.environ.get('XDG_STATE_HOME') or '~/.local/state'
    return pathlib.Path(base).expanduser() / 'cyborg-standalone'


def check(conf: cfg.ConfigOpts) -> None:
    """:raises UsageError: options that contradict each other."""
    if conf.demo_cleaning and not conf.simulate:
        raise UsageError(reason=_('--demo-cleaning needs --simulate: it never '
                                  'touches a real disk.'))
    if conf.simulate and conf.sysfs:
        raise UsageError(reason=_('--simulate and --sysfs exclude each '
                                  'other.'))
    if conf.sysfs and not os.path.isdir(conf.sysfs):
        raise UsageError(reason=_('--sysfs: there is no directory %s.')
                         % conf.sysfs)


def apply(conf: cfg.ConfigOpts, state: pathlib.Path,
          placement_url: str) -> None:
    """Set the defaults that make one process of all services."""
    db_options.set_defaults(
        conf, connection='sqlite:///%s' % (state / 'cyborg.sqlite'))
    conf.set_default('resource_provider_name', conf.host, group='agent')
    conf.set_default('auth_type', 'none', group='placement')
    conf.set_default('endpoint_override', placement_url, group='placement')
    # Its Placement keeps all in one SQLite file, which one writes at a time.
    conf.set_default('max_concurrent_requests', 1, group='placement')
    conf.set_default('enabled_drivers', drivers(conf), group='agent')
    conf.set_default('sysfs_path', sysfs_path(conf, state), group='pci')
    conf.set_default('device_spec', rules(conf), group='pci')


def drivers(conf: cfg.ConfigOpts) -> list[str]:
    """The fake driver where nothing real is offered.

    A device of the machine itself is never handed out unasked: it may carry
    the disk or the network this runs on.
    """
    offered = conf.simulate or conf.device_spec or conf.pci.device_spec
    return ['pci_driver'] if offered else ['fake_driver']


def rules(conf: cfg.ConfigOpts) -> list[str]:
    if conf.device_spec:
        return list(conf.device_spec)
    if conf.simulate:
        return [json.dumps(rule) for rule in SIMULATED_RULES]
    return []


def sysfs_path(conf: cfg.ConfigOpts, state: pathlib.Path) -> str:
    if conf.simulate:
        return str(state / 'host' / 'sys')
    return os.path.abspath(conf.sysfs) if conf.sysfs else '/sys'

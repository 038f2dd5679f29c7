# SPDX-License-Identifier: Apache-2.0
"""What the generic PCI driver makes of a host under a configuration.

The driver and ``cyborg-pci`` both come through here: what the preview shows
is what the agent does.
"""

from collections.abc import Sequence
import dataclasses

from oslo_config import cfg

from cyborg.accelerator import exceptions
from cyborg.common import config as files
from cyborg.common import exception
from cyborg.pci import address as pci_address
from cyborg.pci import classes
from cyborg.pci import device_spec
from cyborg.pci import exclusions
from cyborg.pci import families
from cyborg.pci import held as pci_held
from cyborg.pci import links
from cyborg.pci import selection
from cyborg.pci import sysfs
from cyborg.pci import usage
from cyborg.rpcapi import conductor as conductor_rpcapi

#: The driver's entry point; operators know it by this name.
DRIVER = 'pci_driver'
#: What to do about a host of which no device is in an IOMMU group.
NO_IOMMU = ('no PCI device of the host is in an IOMMU group, so no guest can '
            'start with any of them: switch the IOMMU on in the firmware '
            '(VT-d, AMD-Vi, SMMU) and in the kernel (such as intel_iommu=on)')
_MANAGED_MODE_NEEDS = '1.1'


@dataclasses.dataclass(frozen=True)
class Configuration:
    """The options that decide, read and checked once (CFG-7)."""

    host: str
    sysfs_path: str
    spec: device_spec.DeviceSpec
    exclude: frozenset[pci_address.PciAddress]
    allow_unsafe: bool


@dataclasses.dataclass(frozen=True)
class Survey:
    """A verdict for each device, in the order of addresses."""

    verdicts: tuple[selection.Verdict, ...]
    faults: tuple[sysfs.Fault, ...]
    unused_exclusions: tuple[pci_address.PciAddress, ...]
    unused_rules: tuple[device_spec.Rule, ...] = ()

    @property
    def no_iommu(self) -> bool:
        return selection.has_no_iommu(self.verdicts)

    @property
    def offered(self) -> list[selection.Verdict]:
        return [verdict for verdict in self.verdicts if verdict.offered]

    def having(self, outcome: selection.Outcome) -> list[selection.Verdict]:
        return [verdict for verdict in self.verdicts
                if verdict.outcome is outcome]


def configuration(conf: cfg.ConfigOpts) -> Configuration:
    """Read and check the options of a host.

    :raises exception.PciConfigInvalidDeviceSpec: names every fault of every
        entry.
    :raises exception.PciConfigInvalidExcludeList: likewise.
    """
    return Configuration(
        conf.host, conf.pci.sysfs_path, _device_spec(conf), _exclude(conf),
        conf.workarounds.allow_unsafe_devices)


def problems(conf: cfg.ConfigOpts) -> list[exception.CyborgException]:
    """Every reason why the options of ``[pci]`` would stop an agent.

    Unlike the driver, which stops at the first option that is wrong.
    """
    found: list[exception.CyborgException] = []
    for check in (_device_spec, _exclude):
        try:
            value = check(conf)
            if check is _device_spec:
                check_rpc_cap(conf, value)
        except exception.CyborgException as error:
            found.append(error)
    return found


def _device_spec(conf) -> device_spec.DeviceSpec:
    try:
        return device_spec.load(conf.pci.device_spec)
    except device_spec.InvalidDeviceSpec as error:
        raise exception.PciConfigInvalidDeviceSpec(
            host=conf.host, reason=str(error)) from None


def _exclude(conf) -> frozenset[pci_address.PciAddress]:
    try:
        return exclusions.load(conf.pci.exclude_list)
    except exclusions.InvalidExcludeList as error:
        errors = [exception.PciConfigInvalidExcludeList(
            host=conf.host, position=fault.position, entry=fault.entry,
            reason=fault.reason) for fault in error.faults]
        if len(errors) == 1:
            raise errors[0] from None
        raise exception.PciConfigInvalidExcludeList(
            '\n'.join(each.message for each in errors)) from None


def check_rpc_cap(conf: cfg.ConfigOpts,
                  spec: device_spec.DeviceSpec) -> None:
    """Managed mode is reconciled over conductor RPC 1.1 (RPC-1).

    Looks at the configured cap alone and sends nothing.

    :raises exception.ManagedModeUnsupported: an entry sets ``managed``,
        either way, and the cap is below 1.1.
    :raises exception.UpgradeLevelInvalid: the cap is not usable.
    """
    conductor = conductor_rpcapi.ConductorAPI
    if spec.sets_managed and not conductor().supports_object_indirection():
        raise exception.ManagedModeUnsupported(
            host=conf.host, needed=_MANAGED_MODE_NEEDS,
            cap=conf.upgrade_levels.conductor)


def overridden_exclusions(conf: cfg.ConfigOpts) -> list[str]:
    """Addresses that a file excludes, and another line takes back.

    ``exclude_list`` counts once: where it is repeated, in a file or in a
    later one, the last line replaces the others, unlike ``device_spec``.
    """
    given = [entry.strip()
             for line in files.values_given(conf, 'pci', 'exclude_list')
             for entry in line.split(',')]
    used = {entry.strip() for entry in conf.pci.exclude_list}
    return sorted({entry for entry in given if entry} - used)


def survey(config: Configuration,
           held: pci_held.Holdings | None = None) -> Survey:
    """Look at the host now.

    :param held: what is allocated, where the caller knows it.
    :raises exceptions.HostDevicesUnreadable: its devices can't be listed.
    """
    try:
        host = sysfs.scan(config.sysfs_path)
    except sysfs.SysfsUnreadable as error:
        raise exceptions.HostDevicesUnreadable(
            host=config.host, path=error.path,
            reason=error.reason) from None
    uses = below = None
    rules = config.spec.rules
    if rules:
        uses = usage.host_uses(config.sysfs_path)
        below = links.below(config.sysfs_path)
    verdicts = selection.select(host.devices, rules, config.exclude,
                                config.allow_unsafe, uses, held, below)
    return Survey(
        verdicts, host.faults,
        tuple(selection.unused_exclusions(host.devices, config.exclude)),
        tuple(selection.unused_rules(verdicts, rules)))


def unmatched(rule: device_spec.Rule) -> str:
    """What to say of a rule that matches no device of the host."""
    text = 'matches no device of the host: %s' % rule.text
    if rule.devname is not None:
        text += ' (or a guest has the device, and the interface with it)'
    return text


def withheld(host: str, found: Survey) -> dict[tuple, str]:
    """What is selected and not offered for the sake of its PF or VFs.

    :returns: a text each by what it is about; one for all VFs of a PF.
    """
    texts, siblings = {}, {}
    for verdict in found.verdicts:
        if verdict.withheld is None:
            continue
        why, relatives = verdict.withheld
        if why is families.Why.PF_ALLOCATED:
            siblings.setdefault(relatives[0], []).append(
                verdict.device.address)
            continue
        address = verdict.device.address
        texts[why, address] = (
            'PCI device %s of host %s is selected and not offered: %s, and a '
            'guest with it would take them away. If that is meant, put %s '
            'into [pci] exclude_list to say so.' % (
                address, host, families.reason(verdict.withheld), address))
    for parent, addresses in siblings.items():
        texts[families.Why.PF_ALLOCATED, parent] = (
            'PCI device %s of host %s is allocated: its virtual functions '
            '%s are selected and not offered until it is released.' % (
                parent, host, families.few(addresses)))
    return texts


def check_classes(host: str, found: Survey) -> None:
    """Refuse the host's report while a device of an excluded class is in it.

    :raises exception.UnsafeDeviceRefused: names each such device (DSC-4).
    """
    refused = found.having(selection.Outcome.CLASS_REFUSED)
    if len(refused) == 1:
        device = refused[0].device
        culprit = refused[0].unclean or device
        kind = (exceptions.UnsafeDeviceBelowRefused if refused[0].unclean
                else exception.UnsafeDeviceRefused)
        raise kind(
            address=str(device.address), host=host, driver=DRIVER,
            pci_class=_class(culprit), class_name=culprit.class_name,
            below=str(culprit.address))
    if refused:
        raise exceptions.UnsafeDevicesRefused(
            count=len(refused), host=host, driver=DRIVER,
            devices=_list(refused), addresses=','.join(
                str(verdict.device.address) for verdict in refused))


def _list(verdicts: Sequence[selection.Verdict]) -> str:
    return ', '.join('%s (%sclass %s, %s)' % (
        v.device.address, '%s below it, ' % v.unclean.address if v.unclean
        else '', _class(v.unclean or v.device),
        (v.unclean or v.device).class_name) for v in verdicts)


def _class(device: sysfs.PciDevice) -> str:
    return '%04x' % classes.subclass(device.class_code)

# SPDX-License-Identifier: Apache-2.0
"""Which disks the cleaner may touch, and how each is to be erased."""

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import json

from oslo_config import cfg

from cyborg.cleaner import exceptions
from cyborg.common import exception
from cyborg.nvme import methods
from cyborg.pci import device_spec
from cyborg.pci import exclusions
from cyborg.pci import schema
from cyborg.pci import sysfs

_KEYS = {
    'clear_action': {
        'enum': list(methods.ACTIONS), 'default': 'auto',
        schema.REASON: 'must be one of %s' % ', '.join(methods.ACTIONS)},
    'clear_strategy': {
        'enum': list(methods.STRATEGIES), 'default': 'auto',
        schema.REASON: 'must be one of %s' % ', '.join(methods.STRATEGIES)},
}
_VALIDATOR = schema.extended(_KEYS)


@dataclasses.dataclass(frozen=True)
class Selected:
    """A disk that a rule selects.

    :ivar label: of the rule, for messages.
    """

    address: str
    label: str
    action: str
    strategy: str


@dataclasses.dataclass(frozen=True)
class Rules:
    """The options that select, read and checked once."""

    host: str
    sysfs_path: str
    ours: device_spec.DeviceSpec
    cyborgs: device_spec.DeviceSpec
    exclude: frozenset

    def look(self) -> tuple[Mapping[str, Selected], Mapping[str, str]]:
        """What of this host's devices is selected now.

        :returns: what we may touch, and of these what a rule of Cyborg's own
            selects too, each by address.
        """
        devices = sysfs.scan(self.sysfs_path).devices
        ours, both = {}, {}
        for device in devices:
            rule = _first(self.ours, device)
            if rule is None:
                continue
            address = str(device.address)
            values = json.loads(rule.text)
            ours[address] = Selected(
                address, rule.label, values.get('clear_action', 'auto'),
                values.get('clear_strategy', 'auto'))
            theirs = _first(self.cyborgs, device)
            if theirs is not None and device.address not in self.exclude:
                both[address] = '[pci] %s selects it too' % theirs.label
        return ours, both

    def check_owners(self) -> None:
        """:raises DiskOfTwoServices: Cyborg's own rules select one too."""
        ours, both = self.look()
        for address, label in both.items():
            raise exceptions.DiskOfTwoServices(
                address=address, host=self.host, ours=ours[address].label,
                theirs=label.removeprefix('[pci] ').removesuffix(
                    ' selects it too'))


def _first(spec, device):
    return next((rule for rule in spec.rules if rule.matches(device)),
                None)


def load(conf: cfg.ConfigOpts) -> Rules:
    """:raises CleanerConfigInvalid: names every fault of every entry.

    :raises CleanerWithoutRules: there is no entry.
    :raises PciConfigInvalidDeviceSpec: Cyborg's own rules are wrong.
    :raises PciConfigInvalidExcludeList: likewise.
    """
    return Rules(conf.host, conf.pci.sysfs_path,
                 rules(conf.host, conf.cleaner.device_spec),
                 _cyborgs(conf), _exclude(conf))


def _cyborgs(conf) -> device_spec.DeviceSpec:
    try:
        return device_spec.load(conf.pci.device_spec)
    except device_spec.InvalidDeviceSpec as error:
        raise exception.PciConfigInvalidDeviceSpec(
            host=conf.host, reason=str(error)) from None


def _exclude(conf) -> frozenset:
    try:
        return frozenset(exclusions.load(conf.pci.exclude_list))
    except exclusions.InvalidExcludeList as error:
        fault = error.faults[0]
        raise exception.PciConfigInvalidExcludeList(
            host=conf.host, position=fault.position, entry=fault.entry,
            reason=fault.reason) from None


def rules(host: str, entries: Sequence[str]) -> device_spec.DeviceSpec:
    """The rules of ``[cleaner] device_spec``; raises as :func:`load`."""
    try:
        found = device_spec.load(entries, _VALIDATOR)
    except device_spec.InvalidDeviceSpec as error:
        raise exceptions.CleanerConfigInvalid(
            host=host, reason=str(error)) from None
    faults = []
    for rule in found.rules:
        values = json.loads(rule.text)
        try:
            methods.asked_for(values.get('clear_action', 'auto'),
                              values.get('clear_strategy', 'auto'))
        except methods.InvalidClearing as error:
            faults.append(str(device_spec.Fault(
                rule.entry, rule.text, '$' if rule.item is None
                else '$[%d]' % rule.item, str(error))))
    if faults:
        raise exceptions.CleanerConfigInvalid(host=host,
                                              reason='\n'.join(faults))
    if not found.rules:
        raise exceptions.CleanerWithoutRules(host=host)
    return found

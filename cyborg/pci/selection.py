# SPDX-License-Identifier: Apache-2.0
"""Which devices of a host are offered, and why the others are not.

A pure decision over what was read and what was configured. The agent's
driver and the operator's preview both ask it, so they can't disagree.
Order (specification, "Configuration and discovery"): inclusion, exact
exclusion, class check. Then one of a PF and its VFs goes before the other.
"""

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import enum
from typing import NamedTuple

from cyborg.pci import address as pci_address
from cyborg.pci import classes
from cyborg.pci import device_spec
from cyborg.pci import families
from cyborg.pci import held as pci_held
from cyborg.pci import sysfs

PciAddress = pci_address.PciAddress


class Outcome(enum.StrEnum):
    """What becomes of a device."""

    OFFERED = 'offered'
    NOT_SELECTED = 'not-selected'
    EXCLUDED = 'excluded'
    BRIDGE = 'bridge'
    CLASS_REFUSED = 'class-refused'
    NOT_ADDRESSABLE = 'not-addressable'
    VFS_OFFERED = 'vfs-offered'
    VFS_ALLOCATED = 'vfs-allocated'
    PF_ALLOCATED = 'pf-allocated'
    UNREADABLE = 'unreadable'


class Advice(str):
    """What an operator should know of a device: a sentence without subject.

    :ivar about: what it is about. The words may differ from one look to the
        next, as when a further device joins an IOMMU group.
    """

    about: str

    def __new__(cls, about: str, text: str):
        self = super().__new__(cls, text)
        self.about = about
        return self


class Verdict(NamedTuple):
    """What becomes of one device (a tuple for the reason ``PciDevice`` is).

    :ivar rule: the first rule that matches, None when none does.
    :ivar managed: what that rule sets, None when it doesn't say.
    :ivar stateful: the device keeps what a guest wrote.
    :ivar unsafe: it is offered only since the workaround is on.
    :ivar advice: what an operator should know about the device.
    :ivar withheld: the PF or VFs for whose sake it is not offered.
    :ivar unclean: what has the class that decided, if not the device itself:
        the first of those that hang below it.
    """

    device: sysfs.PciDevice
    outcome: Outcome
    rule: device_spec.Rule | None = None
    managed: bool | None = None
    stateful: bool = False
    unsafe: bool = False
    advice: tuple[Advice, ...] = ()
    withheld: families.Withheld | None = None
    unclean: sysfs.PciDevice | None = None

    @property
    def offered(self) -> bool:
        return self.outcome is Outcome.OFFERED

    @property
    def effective_managed(self) -> bool:
        """Absent means true (CFG-3)."""
        return self.managed is not False

    @property
    def decided_by(self) -> str | None:
        """The rule, or the check, that decided."""
        if self.outcome is Outcome.NOT_SELECTED:
            return None
        if self.outcome is Outcome.EXCLUDED:
            return 'exclude_list: %s' % self.device.address
        if self.outcome is Outcome.CLASS_REFUSED:
            culprit = self.unclean or self.device
            return 'class %04x: %s%s' % (
                classes.subclass(culprit.class_code), culprit.class_name,
                ', %s below it' % culprit.address if self.unclean else '')
        if self.outcome is Outcome.NOT_ADDRESSABLE:
            return 'PCI domain above ffff'
        if self.outcome is Outcome.BRIDGE:
            return 'PCI bridge: %s' % self.device.class_name
        if self.withheld is not None:
            return families.reason(self.withheld)
        # What is left was selected by one.
        assert self.rule is not None
        return '%s: %s' % (self.rule.label, self.rule.text)


def select(devices: Sequence[sysfs.PciDevice],
           rules: Sequence[device_spec.Rule],
           exclude: Collection[PciAddress], allow_unsafe: bool,
           uses: Mapping[PciAddress, Sequence[str]] | None = None,
           held: pci_held.Holdings | None = None,
           below: Mapping[PciAddress, Sequence[PciAddress]] | None = None
           ) -> tuple[Verdict, ...]:
    """One verdict a device, in the order given.

    :param uses: what the host itself does with a device, for the advice.
    :param held: what is allocated of this host, present or not.
    :param below: what hangs below a device and goes to a guest with it.
    """
    held = held or {}
    devices = [pci_held.restored(device, held.get(device.address))
               for device in devices]
    interfaces = frozenset(name for device in devices
                           for name in device.net_names)
    hanging = _hanging(devices, below or {})
    verdicts = [_judge(device, rules, interfaces, exclude, allow_unsafe,
                       held.get(device.address),
                       hanging.get(device.address, ()))
                for device in devices]
    verdicts = _one_of_a_family(verdicts, held)
    return tuple(_advise(verdicts, rules, uses or {}, hanging))


def unused_exclusions(devices: Sequence[sysfs.PciDevice],
                      exclude: Collection[PciAddress]) -> list[PciAddress]:
    """Exclusions that name no device of the host."""
    return sorted(set(exclude) - {device.address for device in devices})


def unused_rules(verdicts: Sequence[Verdict],
                 rules: Sequence[device_spec.Rule]
                 ) -> list[device_spec.Rule]:
    """Rules that match no device of the host."""
    deciding = {id(verdict.rule) for verdict in verdicts}
    return [rule for rule in rules if id(rule) not in deciding and not any(
        rule.matches(verdict.device) for verdict in verdicts)]


def has_no_iommu(verdicts: Sequence[Verdict]) -> bool:
    """Whether devices are offered, and none of the host is in a group.

    VFIO takes a device by its IOMMU group alone.
    """
    return (any(verdict.offered for verdict in verdicts)
            and not any(verdict.device.iommu_group for verdict in verdicts))


def _hanging(devices, below) -> dict[PciAddress, list[sysfs.PciDevice]]:
    """What hangs below devices and is no bridge to more of it."""
    known = {device.address: device for device in devices}
    found = {address: [known[each] for each in addresses if each in known
                       and not classes.bridge(known[each].class_code)]
             for address, addresses in below.items()}
    return {address: each for address, each in found.items() if each}


def _judge(device, rules, interfaces, exclude, allow_unsafe, held,
           hanging) -> Verdict:
    rule = _deciding(device, rules, interfaces, held)
    managed = rule.managed if rule is not None else None
    if rule is not None and device.address in exclude:
        return Verdict(device, Outcome.EXCLUDED, rule, managed)
    if not device.address.addressable:
        return Verdict(device, Outcome.NOT_ADDRESSABLE, rule, managed)
    if rule is None:
        return Verdict(device, Outcome.NOT_SELECTED)
    if classes.bridge(device.class_code):
        return Verdict(device, Outcome.BRIDGE, rule, managed)
    # What hangs below it goes to the guest, too.
    pieces = [device, *hanging]
    refused = [each for each in pieces if classes.excluded(each.class_code)]
    stateful = any(classes.stateful(each.class_code) for each in pieces)
    if refused and not allow_unsafe:
        return Verdict(
            device, Outcome.CLASS_REFUSED, rule, managed, stateful,
            unclean=None if refused[0] is device else refused[0])
    return Verdict(device, Outcome.OFFERED, rule, managed, stateful,
                   unsafe=bool(refused))


def _deciding(device, rules, interfaces, held) -> device_spec.Rule | None:
    """The first rule that matches, or that matched before a guest had it.

    A guest takes the network interfaces of a device with it. So a rule about
    an interface may be the one that selected an allocated device which has
    none; if several may be, it was one with the mode the device has.
    """
    lost = (held is not None and not device.net_names
            and held.is_of(device))
    possible = []
    for rule in rules:
        if rule.matches(device):
            possible.append(rule)
            break
        if lost and rule.devname is not None and (
                rule.devname not in interfaces and rule.matches_ids(device)):
            possible.append(rule)
    for rule in possible:
        if not lost or (rule.managed is not False) == held.managed:
            return rule
    # The operator changed the mode, which the planner refuses (REC-3).
    return possible[-1] if possible else None


def _one_of_a_family(verdicts: Sequence[Verdict], held: pci_held.Holdings
                     ) -> list[Verdict]:
    """Withhold PFs for the sake of their VFs, and the other way round."""
    parents = {address: each.parent for address, each in held.items()
               if each.parent is not None}
    parents |= {v.device.address: v.device.physfn for v in verdicts
                if v.device.physfn not in (None, v.device.address)}
    found = families.withheld(
        [v.device.address for v in verdicts if v.offered], parents, held)
    return [_withhold(v, found.get(v.device.address)) for v in verdicts]


def _withhold(verdict, withheld):
    if withheld is None:
        return verdict
    return verdict._replace(outcome=Outcome(withheld.why.value),
                            withheld=withheld)


def _advise(verdicts, rules, uses, hanging):
    """The verdicts, those of offered devices with their advice."""
    neighbours = _all_neighbours(verdicts)
    # Where no device has a group, the host is at fault, and told of once.
    grouped = any(verdict.device.iommu_group for verdict in verdicts)
    for verdict in verdicts:
        if not verdict.offered:
            yield verdict
            continue
        device = verdict.device
        advice = [*_managed_elsewhere(verdict, rules),
                  *_not_vfio(verdict),
                  *(_NO_GROUP if grouped and not device.iommu_group else ()),
                  *neighbours.get(device.iommu_group, ()),
                  *_functions(device),
                  *_pieces(hanging.get(device.address, ())),
                  *[Advice(use, 'it %s' % use)
                    for use in uses.get(device.address, ())]]
        yield verdict._replace(advice=tuple(advice)) if advice else verdict


def _all_neighbours(verdicts) -> dict[str, list[Advice]]:
    """Advice for the members of the IOMMU groups that need some."""
    left_out: dict[str, list[str]] = {}
    for verdict in verdicts:
        device = verdict.device
        if (not verdict.offered and device.iommu_group is not None
                and classes.subclass(device.class_code)
                != classes.PCI_BRIDGE):
            left_out.setdefault(device.iommu_group, []).append(
                str(device.address))
    # Once a group, not once a member: without isolation a group is large.
    return {group: [Advice(
        'iommu group', 'its IOMMU group %s also holds %s, not offered: a '
        'guest starts only when no host driver uses any device of the group'
        % (group, families.few(names)))] for group, names in left_out.items()}


def _managed_elsewhere(verdict, rules):
    """Later rules that set another ``managed`` than the one that decided."""
    return [
        Advice(rule.label, 'managed=%s of %s decides, although %s also '
               'matches and sets managed=%s' % (
                   _word(verdict.effective_managed), verdict.rule.label,
                   rule.label, _word(rule.managed)))
        for rule in rules[rules.index(verdict.rule) + 1:]
        if rule.managed is not None
        and rule.managed != verdict.effective_managed
        and rule.matches(verdict.device)]


def _not_vfio(verdict):
    if verdict.effective_managed or verdict.device.vfio:
        return ()
    if verdict.device.driver is None:
        state = 'it is bound to no driver'
    else:
        state = 'its driver %s does not provide VFIO' % verdict.device.driver
    return [Advice('vfio', 'managed=false leaves its binding as it is, but '
                   '%s: a guest cannot start with it' % state)]


_NO_GROUP = (Advice('no iommu group', 'it is in no IOMMU group, unlike other '
                    'devices of the host: no guest can start with it'),)


def _functions(device):
    if not device.virtfns:
        return ()
    return [Advice('functions', 'it is a physical function with %d virtual '
                   'functions enabled: they vanish while a guest has it'
                   % len(device.virtfns))]


def _pieces(hanging):
    if not hanging:
        return ()
    return [Advice('below', '%s below it would go to the guest with it'
                   % families.few([each.address for each in hanging]))]


def _word(value: bool) -> str:
    return 'true' if value else 'false'

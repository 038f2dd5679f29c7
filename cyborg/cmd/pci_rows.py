# SPDX-License-Identifier: Apache-2.0
"""How ``cyborg-pci`` shows a device: the keys of its JSON, and short forms."""

from typing import Any

from cyborg.accelerator.drivers.pci.pci import survey
from cyborg.pci import selection
from cyborg.pci import sysfs

#: Keys of a device in machine readable output. They are an interface.
KEYS = ('address', 'vendor_id', 'product_id', 'class', 'class_name',
        'driver', 'kind', 'parent', 'numa_node', 'iommu_group', 'verdict',
        'rule', 'managed', 'stateful')
#: Headings of the table for people.
HEADINGS = ('Address', 'Ids', 'Class', 'Driver', 'Kind', 'NUMA', 'Group',
            'Verdict', 'Rule')


def devices(found: survey.Survey) -> list[dict[str, Any]]:
    """All devices of a host, also the unreadable ones, by address."""
    rows = [verdict_row(verdict) for verdict in found.verdicts]
    rows += [fault_row(fault) for fault in found.faults]
    return sorted(rows, key=_by_address)


def _by_address(row) -> tuple[int, str]:
    return len(row['address']), row['address'].lower()


def verdict_row(verdict: selection.Verdict) -> dict[str, Any]:
    """One device; ``managed`` is null where no rule matches."""
    device = verdict.device
    group = device.iommu_group
    return {
        'address': str(device.address),
        'vendor_id': device.vendor_id,
        'product_id': device.product_id,
        'class': '0x%06x' % device.class_code,
        'class_name': device.class_name,
        'driver': device.driver,
        'kind': device.kind,
        'parent': str(device.physfn) if device.physfn else None,
        'numa_node': device.numa_node,
        'iommu_group': int(group) if group and group.isdecimal() else group,
        'verdict': str(verdict.outcome),
        'rule': verdict.decided_by,
        'managed': verdict.effective_managed if verdict.rule else None,
        'stateful': verdict.stateful,
    }


def fault_row(fault: sysfs.Fault) -> dict[str, Any]:
    """A device of which only the name is known, and what is wrong."""
    address = fault.address
    return dict.fromkeys(KEYS) | {
        'address': fault.name if address is None else str(address),
        'verdict': str(selection.Outcome.UNREADABLE), 'rule': fault.reason}


def for_people(row: dict[str, Any]) -> tuple[str, ...]:
    """The cells of one line of the table."""
    ids = '%(vendor_id)s:%(product_id)s' % row if row['vendor_id'] else '-'
    kind = 'VF of %s' % row['parent'] if row['parent'] else row['kind']
    # The rule's text would make the line too long for a terminal.
    rule = (row['rule'] or '').partition(': {')[0] or None
    if row['managed'] is False and row['verdict'] == 'offered':
        rule += ', managed=false'
    return tuple('-' if cell is None else str(cell) for cell in (
        row['address'], ids, row['class_name'], row['driver'], kind,
        row['numa_node'], row['iommu_group'], row['verdict'], rule))

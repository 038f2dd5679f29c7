# SPDX-License-Identifier: Apache-2.0
"""``cyborg-pci tree``: where the devices hang, and what becomes of each."""

from collections.abc import Iterator

from cyborg.accelerator.drivers.pci.pci import survey
from cyborg.pci import classes
from cyborg.pci import links
from cyborg.pci import selection

_RESET = '\033[0m'
#: Outcome -> mark and colour (SGR, ECMA-48).
MARKS = {
    selection.Outcome.OFFERED: ('+', '\033[32m'),
    selection.Outcome.NOT_SELECTED: ('-', '\033[2m'),
    selection.Outcome.EXCLUDED: ('x', '\033[33m'),
    selection.Outcome.CLASS_REFUSED: ('!', '\033[1;31m'),
    selection.Outcome.BRIDGE: ('=', '\033[2m'),
    selection.Outcome.NOT_ADDRESSABLE: ('~', '\033[2m'),
    selection.Outcome.VFS_OFFERED: ('<', '\033[33m'),
    selection.Outcome.VFS_ALLOCATED: ('<', '\033[33m'),
    selection.Outcome.PF_ALLOCATED: ('<', '\033[33m'),
    selection.Outcome.UNREADABLE: ('?', '\033[31m'),
}


def lines(found: survey.Survey, sysfs_path: str,
          colour: bool = False) -> Iterator[str]:
    """NUMA node, root port, PF, VF: one line each, deeper ones indented."""
    by_node: dict[int, list[selection.Verdict]] = {}
    for verdict in found.verdicts:
        node = verdict.device.numa_node
        by_node.setdefault(-1 if node is None else node, []).append(verdict)
    for node in sorted(by_node, key=lambda n: (n < 0, n)):
        yield 'NUMA node %d' % node if node >= 0 else 'NUMA node unknown'
        yield from _node(by_node[node], sysfs_path, colour)
    if found.faults:
        yield 'Unreadable'
        for fault in found.faults:
            yield _mark(selection.Outcome.UNREADABLE, 1, '%s  %s' % (
                fault.name, fault.reason), colour)
    yield ''
    yield _legend(found, colour)


def _node(verdicts, sysfs_path, colour) -> Iterator[str]:
    """Devices of one node below their root ports."""
    by_port: dict = {}
    for verdict in verdicts:
        bridges = links.upstream(sysfs_path, verdict.device.address)
        port = bridges[0] if bridges else None
        by_port.setdefault(port, []).append(verdict)
    for depth, verdict in _nested(by_port.pop(None, ())):
        # A device of the root bus: a root port, or an integrated function.
        yield _line(verdict, 1 + depth, colour)
        yield from _below(by_port.pop(verdict.device.address, ()), colour)
    for port, rest in sorted(by_port.items()):
        # The port itself belongs to another node, as some firmware has it.
        yield '  (root port %s)' % port
        yield from _below(rest, colour)


def _below(verdicts, colour) -> Iterator[str]:
    for depth, verdict in _nested(verdicts):
        yield _line(verdict, 2 + depth, colour)


def _nested(verdicts) -> Iterator[tuple[int, selection.Verdict]]:
    """Each PF, and everything that is no VF, at depth 0; VFs at 1."""
    # A VF is never a PF; a tree that says so must not hide either.
    parents = {verdict.device.address for verdict in verdicts
               if verdict.device.physfn is None}
    children: dict = {}
    for verdict in verdicts:
        children.setdefault(verdict.device.physfn, []).append(verdict)
    for verdict in verdicts:
        physfn = verdict.device.physfn
        if physfn in parents:
            continue  # shown below its PF
        yield 0, verdict
        if physfn is None:
            for child in children.get(verdict.device.address, ()):
                yield 1, child


def _line(verdict: selection.Verdict, depth: int, colour: bool) -> str:
    device = verdict.device
    words = [str(device.address),
             '%s:%s' % (device.vendor_id, device.product_id),
             device.class_name]
    if classes.subclass(device.class_code) == classes.PCI_BRIDGE:
        words.append('(root port)' if depth == 1 else '(bridge)')
    elif device.kind != 'PCI':
        words.append(device.kind)
    if device.driver:
        words.append('[%s]' % device.driver)
    words.append(str(verdict.outcome))
    if verdict.offered and not verdict.effective_managed:
        words.append('managed=false')
    return _mark(verdict.outcome, depth, '  '.join(words), colour)


def _mark(outcome, depth: int, text: str, colour: bool) -> str:
    mark, sequence = MARKS[outcome]
    line = '%s %s' % (mark, text)
    if colour:
        line = sequence + line + _RESET
    return '  ' * depth + line


def _legend(found: survey.Survey, colour: bool) -> str:
    counts = {outcome: len(found.having(outcome)) for outcome in MARKS}
    counts[selection.Outcome.UNREADABLE] = len(found.faults)
    return '  '.join(_mark(outcome, 0, '%d %s' % (count, outcome), colour)
                     for outcome, count in counts.items() if count)

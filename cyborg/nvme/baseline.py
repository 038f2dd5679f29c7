# SPDX-License-Identifier: Apache-2.0
"""Whether a disk is as it was recorded, and how it gets so again.

A guest owns the controller that it has: it can delete, add, detach, reformat
and protect namespaces and load firmware. Clean means erased and as before.
The layout is put back before the erase, so that what stood in a namespace
that the guest deleted is erased with the rest.
"""

from collections.abc import Callable
import dataclasses

from cyborg.nvme import controller as nvme_controller
from cyborg.nvme import errors
from cyborg.nvme import methods
from cyborg.nvme import records

Namespace = records.Namespace


@dataclasses.dataclass(frozen=True)
class Step:
    """One change of the layout.

    :ivar kind: ``unprotect``, ``protect``, ``delete``, ``create``,
        ``attach``, ``detach``, ``format``.
    :ivar namespace: as it is, for ``create`` and ``format`` as it is wanted.
    """

    kind: str
    namespace: Namespace

    def __str__(self) -> str:
        return '%s namespace %d' % (self.kind, self.namespace.nsid)


def record(inventory: nvme_controller.Inventory) -> records.Baseline:
    return records.Baseline(inventory.identity, inventory.namespaces,
                            inventory.firmware, inventory.health)


def check_same_disk(disk: str, expected: records.Identity,
                    found: records.Identity) -> None:
    """:raises WrongDisk: another disk than the recorded one."""
    for field in ('serial', 'model', 'vid', 'ssvid', 'subnqn'):
        before, now = getattr(expected, field), getattr(found, field)
        if before != now:
            raise errors.WrongDisk(disk, field, str(before), str(now))


def check_health(disk: str, health: records.Health,
                 max_percentage_used: int) -> None:
    """:raises Unhealthy: a critical warning, or worn out."""
    if health.critical_warning:
        raise errors.Unhealthy(disk, 'it warns: %s' %
                               ', '.join(health.warnings))
    if health.percentage_used > max_percentage_used:
        raise errors.Unhealthy(
            disk, '%d %% of its life are used, and max_percentage_used is %d'
            % (health.percentage_used, max_percentage_used))


def firmware_differences(expected: records.Baseline,
                         found: records.Baseline) -> tuple[str, ...]:
    """What can't be put back: the firmware that runs, or would run."""
    differences = []
    if expected.identity.firmware != found.identity.firmware:
        differences.append('firmware %s runs, and %s was recorded' % (
            found.identity.firmware, expected.identity.firmware))
    if expected.firmware != found.firmware:
        differences.append('firmware slots are %s, and %s were recorded' % (
            _slots(found.firmware), _slots(expected.firmware)))
    return tuple(differences)


def _slots(firmware):
    text = ', '.join(slot or 'empty' for slot in firmware.slots)
    return '(%s; active %d%s)' % (
        text, firmware.active,
        ', next %d' % firmware.next if firmware.next else '')


def layout_differences(expected: tuple[Namespace, ...],
                       found: tuple[Namespace, ...]) -> tuple[str, ...]:
    """What differs, in words; empty for none."""
    before = {each.nsid: each for each in expected}
    now = {each.nsid: each for each in found}
    texts = ['namespace %d is gone' % nsid for nsid in sorted(before)
             if nsid not in now]
    texts += ['namespace %d was added' % nsid for nsid in sorted(now)
              if nsid not in before]
    for nsid in sorted(before.keys() & now.keys()):
        texts += _namespace_differences(before[nsid], now[nsid])
    return tuple(texts)


def _namespace_differences(before, now):
    if (before.blocks, before.block) != (now.blocks, now.block):
        yield ('namespace %d has %d blocks of %s, and %d of %s were recorded'
               % (now.nsid, now.blocks, _block(now.block), before.blocks,
                  _block(before.block)))
    if (before.dps, before.extended) != (now.dps, now.extended):
        yield 'namespace %d has other protection settings' % now.nsid
    if before.nmic != now.nmic:
        yield 'sharing of namespace %d is changed' % now.nsid
    if before.attached != now.attached:
        yield 'namespace %d is %sattached' % (
            now.nsid, '' if now.attached else 'not ')
    if before.write_protected != now.write_protected:
        yield 'namespace %d is %swrite-protected' % (
            now.nsid, '' if now.write_protected else 'not ')


def _block(block):
    return ('%d+%d bytes' % (block.data_size, block.metadata_size)
            if block.metadata_size else '%d bytes' % block.data_size)


def before_erase(expected: tuple[Namespace, ...],
                 found: tuple[Namespace, ...]) -> tuple[Step, ...]:
    """Steps to the recorded layout with all attached and writable: pure."""
    before = {each.nsid: each for each in expected}
    steps = [Step('unprotect', each) for each in found
             if each.write_protected]
    kept = set()
    for each in found:
        wanted = before.get(each.nsid)
        if wanted is None or _must_be_made_anew(wanted, each):
            steps.append(Step('delete', each))
        else:
            kept.add(each.nsid)
            if not each.attached:
                steps.append(Step('attach', each))
            if _has_other_format(wanted, each):
                steps.append(Step('format', wanted))
    for nsid, wanted in sorted(before.items()):
        if nsid not in kept:
            steps += [Step('create', wanted), Step('attach', wanted)]
    return tuple(steps)


def _has_other_format(wanted, found):
    return ((wanted.block, wanted.dps, wanted.extended)
            != (found.block, found.dps, found.extended))


def _must_be_made_anew(wanted, found):
    # A format keeps the size in bytes, as far as that is possible.
    same_size = (wanted.blocks * (wanted.block.data_size)
                 == found.blocks * found.block.data_size)
    return wanted.nmic != found.nmic or not same_size


def after_erase(expected: tuple[Namespace, ...]) -> tuple[Step, ...]:
    """Steps that give back what was lifted for the erase: pure."""
    return tuple(
        Step(kind, each) for each in expected for kind, wanted in (
            ('protect', each.write_protected),
            ('detach', not each.attached)) if wanted)


def apply(controller: nvme_controller.Controller,
          identity: records.Identity, steps: tuple[Step, ...],
          guard: Callable[[], None]) -> None:
    """Take the steps, one command after the other.

    Every one can be taken again by a process that comes after this one.

    :raises Changed: the controller cannot do a step, or gave a namespace
        another id than the recorded one.
    """
    impossible = [str(step) for step in steps
                  if not _possible(step, identity)]
    if impossible:
        raise errors.Changed(controller.disk, tuple(
            'it cannot %s' % each for each in impossible))
    for step in steps:
        _take(controller, identity, step, guard)
        settle(controller)


def settle(controller: nvme_controller.Controller) -> None:
    """Let the host see the namespaces as they are now, and hold them all."""
    controller.port.rescan(controller.active())
    controller.port.hold()


def _possible(step, identity):
    return {'format': identity.formats,
            'protect': bool(identity.nwpc & 1),
            'unprotect': bool(identity.nwpc & 1)}.get(
                step.kind, identity.manages_namespaces)


def _take(controller, identity, step, guard):
    each = step.namespace
    if step.kind in ('protect', 'unprotect'):
        controller.protect(each.nsid, step.kind == 'protect', guard)
    elif step.kind == 'delete':
        controller.delete_namespace(each.nsid, guard)
    elif step.kind == 'create':
        nsid = controller.create_namespace(each, guard)
        if nsid != each.nsid:
            raise errors.Changed(controller.disk, (
                'the namespace made for %d got the id %d' % (each.nsid, nsid),
            ))
    elif step.kind == 'attach':
        controller.attach_namespace(each.nsid, identity.cntlid, guard)
    elif step.kind == 'detach':
        controller.detach_namespace(each.nsid, identity.cntlid, guard)
    else:
        method = (methods.Method.CRYPTO_FORMAT if identity.fna & 0x4
                  else methods.Method.BLOCK_FORMAT)
        controller.format(each, method, guard)

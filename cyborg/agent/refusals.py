# SPDX-License-Identifier: Apache-2.0
"""In what words an agent refuses to change managed modes (REC-3)."""

from collections.abc import Iterable
import json

from cyborg.common import exception
from cyborg.common.i18n import _
from cyborg.inventory import changes
from cyborg.inventory import mixed_modes


class ManagedModeConflicts(exception.ManagedModeConflict):
    """As the parent, for several devices of one host."""

    _msg_fmt = _('%(count)s allocated devices of host %(host)s would change '
                 'their managed mode, which is refused: %(devices)s. Put the '
                 'former values back into [pci] device_spec, or delete the '
                 'instances first.')


class ManagedModesMixed(exception.ManagedModeConflict):
    """As the parent, where no value for all devices would be accepted."""

    _msg_fmt = _('%(refusal)s\nDevices of this kind on host %(host)s are '
                 'allocated with managed=true and others with managed=false, '
                 'so the opposite value is refused as well. To keep what '
                 'there is, put these rules before all others in [pci], and '
                 'take each away when its device is free:\n%(rules)s')


def of_plan(plan: changes.Plan) -> exception.ManagedModeConflict | None:
    """The error for all changes that a plan refuses; None if it does not."""
    if not plan.refused:
        return None
    error = conflict(plan.refused)
    mixed = mixed_modes.mixed(plan)
    if not mixed:
        return error
    return ManagedModesMixed(refusal=error.message, host=plan.hostname,
                             rules='\n'.join(map(rule, mixed)))


def rule(kept: mixed_modes.Kept) -> str:
    """The line of ``[pci]`` that lets an allocated device keep its mode."""
    return 'device_spec = ' + json.dumps(
        {'address': kept.address, 'managed': kept.managed})


def conflict(refused: Iterable[changes.ManagedChange]
             ) -> exception.ManagedModeConflict:
    """One error for all refused changes of a host, each named."""
    records = [{
        'host': change.hostname, 'address': change.address,
        'old': word(change.old), 'new': word(change.new),
        'handle': change.handle.uuid,
        'arq': ', '.join(change.handle.arq_uuids) or 'none, in_use is set',
    } for change in refused]
    if len(records) == 1:
        return exception.ManagedModeConflict(**records[0])
    return ManagedModeConflicts(
        count=len(records), host=records[0]['host'], devices='; '.join(
            '%(address)s from managed=%(old)s to %(new)s (attach handle '
            '%(handle)s, accelerator request %(arq)s)' % record
            for record in records))


def word(value: bool) -> str:
    """A mode as configuration and JSON have it."""
    return 'true' if value else 'false'

# SPDX-License-Identifier: Apache-2.0
"""``cyborg-pci check``: would an agent accept this, and what would follow?

Configuration and devices are judged by the driver's own code, the stored
inventory by the planner that agent and conductor ask.
"""

from collections.abc import Callable
from collections.abc import Iterator
import dataclasses
import itertools
import queue
import threading
from typing import Any

import oslo_messaging as messaging

from cyborg.accelerator.drivers.pci.pci import survey
from cyborg.agent import discovery
from cyborg.agent import holdings
from cyborg.agent import loading
from cyborg.agent import names
from cyborg.agent import refusals
from cyborg.agent import resource_tracker
from cyborg.agent import root_provider
from cyborg.agent import service as agent_service
from cyborg.common import context
from cyborg.common import exception
from cyborg.common import rpc
from cyborg.conf import CONF
from cyborg.inventory import attach_info
from cyborg.inventory import changes
from cyborg.inventory import identity
from cyborg.inventory import mixed_modes
from cyborg.inventory import plan as planner
from cyborg.inventory import values
from cyborg.objects import base as objects_base
from cyborg.objects import host_inventory
from cyborg.objects import inventory_values
from cyborg.pci import classes
from cyborg.pci import selection
from cyborg.placement import client as placement_client
from cyborg.rpcapi import conductor as conductor_rpcapi

ACCEPTED, REJECTED, UNKNOWN = 0, 1, 2
#: Seconds in which an answer that came in time arrives here.
_GRACE = 1


@dataclasses.dataclass(frozen=True)
class Finding:
    """One thing to know.

    :ivar kind: ``reason`` (the agent would refuse), ``unknown`` (can't be
        told), ``warning``, or what happens to a device: ``new``,
        ``changed``, ``missing``, ``retained``, ``refused``.
    :ivar subject: an address or the name of an option or driver.
    """

    kind: str
    subject: str
    detail: str


def status(findings: list[Finding]) -> int:
    """Exit status: a reason outweighs what could not be told."""
    kinds = {finding.kind for finding in findings}
    if kinds & {'reason', 'refused'}:
        return REJECTED
    return UNKNOWN if 'unknown' in kinds else ACCEPTED


def local() -> list[Finding]:
    """What the configuration and the devices of this host alone tell."""
    findings = [*_options(), *_drivers()]
    selected = list(_selection())
    if survey.DRIVER not in CONF.agent.enabled_drivers:
        # Nobody would look at [pci]; it can stop no agent then.
        selected = [dataclasses.replace(finding, kind='warning')
                    for finding in selected]
    return list(dict.fromkeys(findings + selected))


def _options() -> Iterator[Finding]:
    """What stops an agent before it loads a driver."""
    for error in agent_service.option_errors():
        yield Finding('reason', 'configuration', exception.plain_text(error))
    try:
        conductor_rpcapi.ConductorAPI()
    except exception.CyborgException as error:
        yield from _reasons(_CAP, [error])
    ours = not rpc.initialized()
    try:
        rpc.init()  # connects to nothing
    except exception.CyborgException as error:
        yield from _reasons('[DEFAULT] transport_url', [error])
    if ours:
        rpc.cleanup()


def _selection() -> Iterator[Finding]:
    usable = True
    for error in survey.problems(CONF):
        subject = _OPTIONS.get(type(error))
        usable = usable and subject is None
        yield from _reasons(subject or _CAP, [error])
    if usable:
        yield from _devices()


#: Errors after which no device can be judged, and the option at fault.
_OPTIONS = {exception.PciConfigInvalidDeviceSpec: '[pci] device_spec',
            exception.PciConfigInvalidExcludeList: '[pci] exclude_list'}
_CAP = '[upgrade_levels] conductor'


def _reasons(subject: str, errors) -> list[Finding]:
    known = '%s of host %s is not valid:' % (subject, CONF.host)
    return [Finding('reason', subject, line.removeprefix(known).strip())
            for error in errors
            for line in exception.plain_text(error).split('\n')
            if line != known]


def _drivers() -> Iterator[Finding]:
    """Load each enabled driver and let it check the configuration."""
    for name in CONF.agent.enabled_drivers:
        try:
            drivers = loading.load([name])
            if name != survey.DRIVER:  # its problems are told one by one
                loading.init_host(drivers)
        except exception.CyborgException as error:
            yield from _reasons(name, [error])
    if survey.DRIVER not in CONF.agent.enabled_drivers:
        yield Finding(
            'warning', survey.DRIVER, 'not in [agent] enabled_drivers (%s): '
            'the agent would offer none of the devices that [pci] selects'
            % ', '.join(CONF.agent.enabled_drivers))


def _devices() -> Iterator[Finding]:
    config = survey.configuration(CONF)
    for entry in survey.overridden_exclusions(CONF):
        yield Finding('warning', entry, 'not excluded: [pci] exclude_list is '
                      'given more than once, and only the last one counts')
    for note in config.spec.notes:
        yield Finding('warning', '[pci] device_spec', note)
    if not config.spec.rules:
        yield Finding('warning', '[pci] device_spec',
                      'empty: %s offers no device' % survey.DRIVER)
    try:
        found = survey.survey(config)
    except exception.CyborgException as error:
        yield Finding('unknown', '[pci] sysfs_path',
                      exception.plain_text(error))
        return
    try:
        survey.check_classes(config.host, found)
    except exception.CyborgException as error:
        yield from _reasons(survey.DRIVER, [error])
    for fault in found.faults:
        yield Finding('warning', fault.name, 'cannot be read and counts as '
                      'missing: %s' % fault.reason)
    for address in found.unused_exclusions:
        yield Finding('warning', str(address),
                      'in [pci] exclude_list, and the host has no such device')
    for rule in found.unused_rules:
        yield Finding('warning', '[pci] device_spec', '%s %s' % (
            rule.label, survey.unmatched(rule)))
    if found.no_iommu:
        yield Finding('warning', 'host %s' % config.host, survey.NO_IOMMU)
    for verdict in found.having(selection.Outcome.BRIDGE):
        yield Finding('warning', str(verdict.device.address),
                      'selected by %s, and never offered: it is a bridge '
                      '(class %04x), which VFIO takes for no guest' % (
                          verdict.rule.label,
                          classes.subclass(verdict.device.class_code)))
    for (_why, address), text in survey.withheld(config.host, found).items():
        yield Finding('warning', str(address), text)
    for verdict in found.offered:
        subject = str(verdict.device.address)
        if verdict.unsafe:
            yield Finding('warning', subject, 'offered by [workarounds] '
                          'allow_unsafe_devices, and nothing cleans it '
                          'between users')
        for advice in verdict.advice:
            yield Finding('warning', subject, 'offered, but: %s' % advice)


def persisted(timeout: float) -> list[Finding]:
    """What would follow for the stored inventory of this host.

    :param timeout: seconds to wait for a conductor.
    """
    try:
        stored = _within(timeout, _stored)
    except Exception as error:  # noqa: BLE001 (libraries raise their own)
        return [Finding('unknown', 'conductor', 'the inventory of host %s '
                        'cannot be read: %s' % (
                            CONF.host, agent_service.why(error)))]
    damage = resource_tracker.first_damaged(stored)
    if damage is not None:
        return _reasons(damage.kwargs['uuid'], [damage])
    try:
        drivers = loading.load()
        loading.init_host(drivers)
        devices = discovery.discover(
            drivers, holdings.of(stored), stored).plain
    except exception.ConfigInvalid as error:
        return _reasons('[agent] enabled_drivers', [error])
    except exception.DriverAttachInfoInvalid as error:
        return _reasons(error.kwargs['driver'], [error])
    except exception.CyborgException as error:
        return [Finding('unknown', '[agent] enabled_drivers',
                        exception.plain_text(error))]
    try:
        _within(timeout, lambda limit: _check_names(
            limit, stored.hostname, devices))
    except exception.HostNameChanged as error:
        return _reasons('[DEFAULT] host', [error])
    except Exception as error:  # noqa: BLE001 (libraries raise their own)
        return [Finding('unknown', 'conductor', 'it cannot be told whether '
                        'host %s has devices under another name: %s' % (
                            CONF.host, agent_service.why(error)))]
    return list(describe(planner.plan(devices, stored)))


def _within(seconds: float, ask: Callable[[float], Any]) -> Any:
    """The answer, or what was raised instead of it.

    oslo.messaging tries to reach a broker until it succeeds, whatever limit
    the call itself has.
    """
    answers: queue.Queue = queue.Queue()

    def run():
        try:
            answers.put((ask(seconds), None))
        except Exception as error:  # noqa: BLE001 (raised below)
            answers.put((None, error))

    threading.Thread(target=run, daemon=True).start()
    try:
        answer, error = answers.get(timeout=seconds + _GRACE)
    except queue.Empty:
        raise messaging.MessagingTimeout() from None
    if error is not None:
        raise error
    return answer


def _stored(timeout: float) -> values.PersistedHost:
    """The inventory under the name that an agent would report as."""
    conductor = _reader(timeout)
    asker = context.get_admin_context()
    with objects_base.indirection(conductor_rpcapi.IndirectionAPI(conductor)):
        known = host_inventory.HostInventory.get_names(
            asker, names.of_machine())
        return inventory_values.persisted_host(
            host_inventory.HostInventory.get_by_host(
                asker, _hostname(asker, known)))


def _hostname(asker, known) -> str:
    """Placement decides, where more than one name of the host could do."""
    wanted = root_provider.candidate_names()
    if not {name for name in known if names.is_configured(name)} - {
            wanted[0]}:
        return wanted[0]
    return root_provider.find(placement_client.PlacementClient(), asker)


def _check_names(timeout: float, hostname: str, devices) -> None:
    """:raises exception.HostNameChanged: as the agent would."""
    conductor = _reader(timeout)
    with objects_base.indirection(conductor_rpcapi.IndirectionAPI(conductor)):
        names.check(context.get_admin_context(), hostname, devices)


def _reader(timeout: float) -> conductor_rpcapi.ConductorAPI:
    rpc.init()
    conductor = conductor_rpcapi.ConductorAPI(timeout=timeout)
    if not conductor.supports_object_indirection():
        raise _Capped(cap=conductor.version_cap)
    return conductor


class _Capped(exception.CyborgException):
    _msg_fmt = ('[upgrade_levels] conductor caps conductors at %(cap)s, '
                'reading an inventory needs 1.1')


def describe(plan: changes.Plan) -> Iterator[Finding]:
    """A plan in an operator's words."""
    for refused in plan.refused:
        yield Finding('refused', refused.address, exception.plain_text(
            refusals.conflict([refused])))
    for kept in mixed_modes.mixed(plan):
        yield Finding('warning', kept.address, 'devices of this kind are '
                      'allocated with both modes; to keep what there is, '
                      'before all other rules: %s' % refusals.rule(kept))
    for device in plan.new_devices:
        yield Finding('new', _path(device.cpid_type, device.cpid_info),
                      'not stored yet, would be offered')
    for record in plan.new_deployables:
        yield Finding('new', record.deployable.name,
                      'not stored yet, would be offered')
    for record in plan.new_handles:
        yield Finding('new', _address(record.handle),
                      'attach handle not stored yet, would be offered')
    yield from _changed(plan)
    yield from _gone(plan)
    for fault in plan.faults:
        yield Finding('warning', fault.label, fault.reason)


def _changed(plan: changes.Plan) -> Iterator[Finding]:
    for change in plan.managed_changes:
        yield Finding('changed', change.address,
                      'managed=%s becomes %s, attach handle %s' % (
                          _word(change.old), _word(change.new),
                          change.handle.uuid))
    for change in plan.device_changes:
        yield Finding('changed', _label(change.device), ', '.join(
            '%s becomes %s' % column for column in change.columns))
    for change in plan.deployable_changes:
        yield Finding('changed', change.deployable.name,
                      'num_accelerators becomes %d' % change.num_accelerators)
    for change in plan.attribute_changes:
        keys = sorted({key for key, _value in change.added}
                      | {old.key for old, _new in change.changed}
                      | {old.key for old in change.removed})
        yield Finding('changed', change.deployable.name,
                      'attributes %s' % ', '.join(keys))
    for update in plan.handle_updates:
        yield Finding('changed', _address(update.handle),
                      'attach info becomes %s' % update.attach_info)
    for update in plan.deferred:
        yield Finding('changed', _address(update.handle), 'attach info '
                      'becomes %s once it is free' % update.attach_info)


def _gone(plan: changes.Plan) -> Iterator[Finding]:
    for record in plan.retained:
        arqs = sorted(set(itertools.chain.from_iterable(
            handle.arq_uuids for handle in record.handles)))
        reason = 'gone or no longer offered'
        if record.replaced_by:
            reason = 'replaced by another device, %s' % record.replaced_by
        subject = ', '.join(_address(h) for h in record.handles)
        yield Finding('retained', subject or record.deployable.name,
                      '%s, but allocated (accelerator request %s): kept '
                      'until it is released' % (
                          reason, ', '.join(arqs) or 'unknown'))
    for device in plan.removed_devices:
        yield Finding('missing', _label(device), 'gone or no longer offered '
                      'and free: its rows and its provider are removed')
    for record in plan.removed_deployables:
        yield Finding('missing', record.deployable.name,
                      'gone and free: it is removed')
    for record in plan.removed_handles:
        yield Finding('missing', _address(record.handle),
                      'attach handle gone and free: it is removed')


def _address(handle: Any) -> str:
    return attach_info.describe(handle.attach_info)


def _label(device: Any) -> str:
    path = device.controlpath
    return device.uuid if path is None else _path(
        path.cpid_type, path.cpid_info)


def _path(cpid_type: str, text: str) -> str:
    try:
        return str(identity.controlpath_key(cpid_type, text)[1])
    except (identity.InvalidInfo, TypeError):
        return text


def _word(value: bool) -> str:
    return 'true' if value else 'false'

# SPDX-License-Identifier: Apache-2.0
"""From discovered devices to a report: discover, reconcile, report.

Sources: specification, "Persisted state and reconciliation" and "Startup and
periodic reporting". What follows from the facts is decided by
``cyborg.inventory.plan``; conductors execute every read and write.
"""

from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import copy
import threading
import time

from oslo_log import log as logging
import oslo_messaging as messaging
from oslo_utils import timeutils

from cyborg.agent import discovery
from cyborg.agent import former_release
from cyborg.agent import holdings
from cyborg.agent import last_report
from cyborg.agent import loading
from cyborg.agent import mdev
from cyborg.agent import names
from cyborg.agent import refusals
from cyborg.common import constants
from cyborg.common import context as cyborg_context
from cyborg.common import exception
from cyborg.common.i18n import _
from cyborg.conf import CONF
from cyborg.inventory import attach_info
from cyborg.inventory import changes
from cyborg.inventory import plan as planner
from cyborg.inventory import values
from cyborg.objects import attach_handle
from cyborg.objects import base as objects_base
from cyborg.objects import host_inventory
from cyborg.objects import inventory_values
from cyborg.rpcapi import conductor as conductor_rpcapi

LOG = logging.getLogger(__name__)


class ConductorFailed(exception.CyborgException):
    _msg_fmt = _('the conductor failed with %(kind)s: %(reason)s')


#: What an operator has to resolve: stops a start, rejects a later report.
CONFLICTS = (exception.ConfigInvalid, exception.ManagedModeConflict,
             exception.AttachInfoInvalid, exception.DriverAttachInfoInvalid)


class ResourceTracker:
    """Reports the devices of this host, one report at a time.

    :param conductor: a ``ConductorAPI``.
    """

    def __init__(self, drivers: Sequence[loading.LoadedDriver],
                 conductor: conductor_rpcapi.ConductorAPI):
        self.drivers = drivers
        self._conductor = conductor
        self._indirection = conductor_rpcapi.IndirectionAPI(conductor)
        self._lock = threading.Lock()
        self._said: set[str] = set()
        self._mdevs = mdev.Restorer()
        self._last_number = 0
        self._last = last_report.LastReport()

    def report(self, context: cyborg_context.RequestContext, hostname: str
               ) -> None:
        """Look for devices and report them.

        :param hostname: name of the host in Placement and in its rows.
        :raises exception.ConfigInvalid: a driver refuses the configuration.
        :raises exception.HostNameChanged: devices of this machine are stored
            under another name of it.
        :raises exception.ManagedModeConflict: an allocated handle would
            change its managed mode (REC-3). Nothing was changed.
        :raises exception.AttachInfoInvalid: a stored PCI handle is damaged.
        :raises exception.DriverAttachInfoInvalid: a reported one is.
        :raises discovery.DiscoveryFailed: a driver failed; nothing was sent.
        :raises ConductorFailed: with an error that has no class of ours.
        :raises exception.AttachHandleChanged: a handle changed twice while
            it was updated (REC-5).
        """
        with self._lock:
            try:
                self._report_once(context, hostname)
            except exception.ReportOutdated as error:
                # Our clock was set back, or an agent that ended meanwhile
                # was the last one: ours is the newest all the same. Whoever
                # waits for no answer is not told, and does not try again.
                self._last_number = max(self._last_number,
                                        error.kwargs.get('newest', 0))
                self._again(context, hostname)

    def _again(self, context, hostname: str) -> None:
        try:
            self._report_once(context, hostname)
        except exception.ReportOutdated as error:
            # Somebody else reports this host right now.
            LOG.warning('%s', error.message)

    def _numbered(self, context, hostname: str):
        """A context for the next report, which says which one it is.

        The number is the time on this host in microseconds, and more than
        that of the report before; it is compared with no other host's.
        """
        self._last_number = max(self._last_number + 1,
                                time.time_ns() // 1000)
        numbered = copy.copy(context)
        numbered.report = cyborg_context.Report(hostname, self._last_number)
        return numbered

    def _report_once(self, context, hostname: str) -> None:
        with timeutils.StopWatch() as watch:
            # Older than what was seen of the host afterwards.
            context = self._numbered(context, hostname)
            if not self._is_known(context, hostname, watch):
                self._last.forget()
                self._report_whole(context, hostname, watch)

    def _report_whole(self, context, hostname: str,
                      watch: timeutils.StopWatch) -> None:
        found, inventory, stored = self._look(context, hostname)
        updated, devices = 0, list(found.devices)
        if inventory is not None:
            self._check_names(context, hostname, found.plain)
            updated = self._reconcile(context, hostname, found.plain,
                                      inventory)
        else:
            devices = former_release.devices(devices)
            self._tell_cap(hostname)
        with _conductor_at_work():
            self._conductor.report_data(context, hostname, devices)
        LOG.info('Host %(host)s reported %(count)d devices of %(drivers)s '
                 'in %(seconds).1f s, managed mode updated on %(updated)d '
                 'attach handles', {
                     'updated': updated,
                     **self._figures(hostname, found, watch)})
        if stored is not None:
            self._last.remember(stored, found.plain)

    def _figures(self, hostname: str, found: discovery.Discovered,
                 watch: timeutils.StopWatch) -> dict:
        return {'host': hostname, 'count': len(found.devices),
                'seconds': watch.elapsed(), 'drivers': ', '.join(
                    loaded.name for loaded in self.drivers) or 'no driver'}

    def _is_known(self, context, hostname: str,
                  watch: timeutils.StopWatch) -> bool:
        """Whether a conductor says that nothing has changed (PERF-5).

        False where it does not, and where it was not asked.
        """
        stored = self._last.stored(CONF.agent.whole_report_interval)
        if stored is None or not self._conductor.supports_digests():
            return False
        found = discovery.discover(self.drivers, holdings.of(stored), stored)
        digests = self._last.digests(found.plain)
        if digests is None:
            return False
        try:
            with _conductor_at_work():
                known = self._conductor.report_digest(
                    context, hostname, *digests)
        except messaging.MessagingException as error:
            if not conductor_rpcapi.is_unknown_call(error):
                raise
            # An older release came back. It is not asked again soon: each
            # question is an error in its log.
            self._last.refused()
            return False
        if known:
            # Not before: what is held may be older than a release.
            self._mdevs.look(stored)
            LOG.info('Host %(host)s has the same %(count)d devices of '
                     '%(drivers)s as before, seen in %(seconds).1f s',
                     self._figures(hostname, found, watch))
        return known

    def _tell_cap(self, hostname: str) -> None:
        if self._first_time('capped'):
            LOG.warning(
                '[upgrade_levels] conductor caps conductors at %s: host %s '
                'reports as one of 2026.2, without reconciling managed '
                'modes; a changed one has no effect on known devices. Nor '
                'can it be told whether its devices are stored under another '
                'name of this machine: do not change its name',
                getattr(self._conductor, 'version_cap', None), hostname)

    def probe(self, context: cyborg_context.RequestContext, hostname: str,
              timeout: float) -> None:
        """Raise unless a conductor answers a read within ``timeout`` s."""
        quick = conductor_rpcapi.ConductorAPI(timeout=timeout)
        with objects_base.indirection(
                conductor_rpcapi.IndirectionAPI(quick)), _conductor_at_work():
            host_inventory.HostInventory.get_by_host(context, hostname)

    def _look(self, context, hostname: str) -> tuple[
            discovery.Discovered, host_inventory.HostInventory | None,
            values.PersistedHost | None]:
        """Ask what is stored, and with that in mind the drivers (ID-4)."""
        if not self._conductor.supports_object_indirection():
            return discovery.discover(self.drivers), None, None
        try:
            inventory = self._read(context, hostname)
        except (exception.CyborgException, messaging.MessagingException):
            # What is wrong with this host is told all the same.
            discovery.discover(self.drivers)
            raise
        stored = inventory_values.persisted_host(inventory)
        self._mdevs.look(stored)
        return discovery.discover(
            self.drivers, holdings.of(stored), stored), inventory, stored

    def _read(self, context, hostname: str) -> host_inventory.HostInventory:
        with self._remotely():
            return host_inventory.HostInventory.get_by_host(
                context, hostname)

    def _check_names(self, context, hostname: str,
                     found: Sequence[values.DiscoveredDevice]) -> None:
        """Once: names do not change while an agent runs (CFG-7)."""
        if 'names' in self._said:
            return
        try:
            with self._remotely():
                names.check(context, hostname, found)
        except exception.RemoteMethodRefused:
            LOG.warning('The conductor cannot tell whether devices of host '
                        '%s are stored under another name of this machine: '
                        'upgrade it before the name of the host changes',
                        hostname)
        self._said.add('names')

    # Reconciliation

    def _reconcile(self, context, hostname, found: Sequence[
            values.DiscoveredDevice],
            inventory: host_inventory.HostInventory) -> int:
        """Bring free handles to the configured managed mode.

        :param inventory: as it was before the drivers were asked.
        :returns: number of handles updated.
        """
        changed_once: set[str] = set()
        while True:
            rows, plan = self._plan(hostname, found, inventory)
            try:
                self._update(context, rows, plan.managed_changes)
                return len(plan.managed_changes)
            except exception.AttachHandleChanged as error:
                # REC-5: another request was faster. What it did decides
                # about the second try.
                current = error.kwargs['uuid']
                if current in changed_once:
                    raise
                changed_once.add(current)
                LOG.info('Attach handle %s of host %s changed meanwhile, '
                         'reading again', current, hostname)
                inventory = self._read(context, hostname)

    def _plan(self, hostname, found: Sequence[values.DiscoveredDevice],
              inventory: host_inventory.HostInventory):
        persisted = inventory_values.persisted_host(inventory)
        damage = first_damaged(persisted)
        if damage is not None:
            raise damage
        plan = planner.plan(found, persisted)
        for fault in plan.faults:
            if self._first_time('%s %s' % (fault.label, fault.reason)):
                LOG.warning('Device %s of host %s cannot be offered: %s',
                            fault.label, hostname, fault.reason)
        refusal = refusals.of_plan(plan)
        if refusal is not None:
            raise refusal
        return inventory.attach_handles, plan

    def _update(self, context, rows: attach_handle.AttachHandleList,
                managed: Sequence[changes.ManagedChange]) -> None:
        """All or none, wherever this agent or a conductor is killed."""
        if not managed:
            return
        # Whatever else differs is the report's business.
        texts = {change.handle.uuid: change.handle.info.merged(
            attach_info.AttachInfo.read(change.attach_info),
            take_managed=True, take_others=False) for change in managed}
        some = attach_handle.AttachHandleList(context, objects=[
            row for row in rows if row.uuid in texts])
        with self._remotely():
            if objects_base.older(rows.VERSION, (1, 1)):
                # A conductor that knows one at a time only.
                for row in some:
                    row.update_attach_info(texts[row.uuid])
            else:
                some.update_attach_info(texts)
        for change in managed:
            LOG.info('Device %s of host %s: managed=%s is now managed=%s '
                     '(attach handle %s)', change.address, change.hostname,
                     refusals.word(change.old), refusals.word(change.new),
                     change.handle.uuid)

    @contextlib.contextmanager
    def _remotely(self) -> Iterator[None]:
        with objects_base.indirection(
                self._indirection), _conductor_at_work():
            yield

    def _first_time(self, what: str) -> bool:
        if what in self._said:
            return False
        self._said.add(what)
        return True


@contextlib.contextmanager
def _conductor_at_work() -> Iterator[None]:
    """Tell a fault of the conductor from one of ours.

    oslo.messaging raises builtin exceptions of a remote method as if they
    were local ones.

    :raises ConductorFailed: in place of an error that has no other meaning.
    """
    try:
        yield
    except (exception.CyborgException, messaging.MessagingException):
        raise
    except Exception as error:
        raise ConductorFailed(
            kind=type(error).__name__.removesuffix('_Remote'),
            reason=exception.plain_text(error)) from error


def first_damaged(persisted: values.PersistedHost
                  ) -> exception.AttachInfoInvalid | None:
    """The first PCI handle whose stored text has no clear meaning.

    Taking a default in its place could change how a guest's device is
    handled, so nothing is reported until it is repaired.
    """
    for device in persisted.devices:
        for deployable in device.deployables:
            for handle in deployable.handles:
                if handle.attach_type != constants.AH_TYPE_PCI:
                    continue
                try:
                    handle.key  # noqa: B018 - raises when it is damaged
                    attach_info.settings(handle.attach_info)
                except attach_info.identity.InvalidInfo as error:
                    return exception.AttachInfoInvalid(
                        uuid=handle.uuid, host=persisted.hostname,
                        key='attach_info', value=handle.attach_info,
                        reason=error.reason)
    return None

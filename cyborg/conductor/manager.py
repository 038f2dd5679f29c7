# SPDX-License-Identifier: Apache-2.0
"""What other processes may ask of a conductor, one line a method."""

from collections.abc import Sequence
import logging
from typing import Any

import oslo_messaging as messaging
from oslo_versionedobjects import exception as ovo_exception

from cyborg.common import context as cyborg_context
from cyborg.common import deadline
from cyborg.common import exception
from cyborg.common import nova_client
from cyborg.common import sdk
from cyborg.conductor import binding
from cyborg.conductor import object_dispatch
from cyborg.conductor import programming
from cyborg.conductor.providers import sync as provider_sync
from cyborg.conductor.report import patience as report_patience
from cyborg.conductor.report import reporter
from cyborg.db import arqs
from cyborg.db import unbinding
from cyborg.objects import base as objects_base
from cyborg.objects import device_profile
from cyborg.objects import ext_arq
from cyborg.objects import inventory_values
from cyborg.placement import client as placement_client
from cyborg.rpcapi import agent as agent_rpcapi

LOG = logging.getLogger(__name__)

# The caller gets them as what they are; they are no fault of the conductor,
# whose log needs no traceback of them.
_answers = messaging.expected_exceptions(
    exception.CyborgException, ovo_exception.VersionedObjectsException)


class _NoNova:
    """Where no Nova is configured nobody waits for events."""

    def notify_bind(self, context, instance_uuid, statuses):
        LOG.debug('No credentials in [nova], nobody is told of instance %s: '
                  '%s', instance_uuid, statuses)


class ConductorManager:
    """RPC endpoint; every public method is callable from the network.

    :param placement: a PlacementClient, made of ``[placement]`` if left out.
    :param agent: an AgentAPI.
    :param nova: a NovaClient, made of ``[nova]`` if left out.
    :param patience: seconds after which a report is answered that goes on.
    """

    target = messaging.Target(version='1.2')

    def __init__(self, *, placement=None, agent=None, nova=None,
                 patience: float | None = None):
        placement = placement or placement_client.PlacementClient()
        self._agent = agent or agent_rpcapi.AgentAPI()
        if nova is None:
            nova = (nova_client.NovaClient() if sdk.has_credentials('nova')
                    else _NoNova())
        self._providers = provider_sync.ProviderSync(placement)
        self._reporter = reporter.Reporter(self._providers)
        self._patience = report_patience.Patience(patience)
        self._binder = binding.Binder(
            self._agent, nova, programming.Programmer(self._agent, placement))

    def _stop(self) -> None:
        """Finish what goes on behind answered calls."""
        self._binder.stop()
        self._patience.stop()
        self._providers.stop()

    # Version 1.0

    @_answers
    def report_data(self, context: cyborg_context.RequestContext,
                    hostname: str, driver_device_list: list) -> None:
        """See :meth:`cyborg.conductor.report.reporter.Reporter.report`."""
        found = inventory_values.discovered_devices(driver_device_list)
        self._patience.wait(context, hostname, lambda: self._reporter.report(
            context, hostname, found))

    @_answers
    @deadline.in_time
    def device_profile_create(
            self, context: cyborg_context.RequestContext,
            obj_devprof: device_profile.DeviceProfile
            ) -> device_profile.DeviceProfile:
        """Store a profile; returns it in the version it came in."""
        versions = objects_base.versions_in(obj_devprof)
        obj_devprof._context = context
        obj_devprof.create()
        return objects_base.in_versions(obj_devprof, versions)

    @_answers
    @deadline.in_time
    def device_profile_delete(
            self, context: cyborg_context.RequestContext,
            obj_devprof: device_profile.DeviceProfile) -> None:
        obj_devprof._context = context
        obj_devprof.destroy()

    @_answers
    @deadline.in_time
    def arq_create(self, context: cyborg_context.RequestContext,
                   obj_extarq: ext_arq.ExtARQ,
                   devprof_id: int) -> ext_arq.ExtARQ:
        """Store an ARQ; returns it in the version it came in."""
        versions = objects_base.versions_in(obj_extarq)
        obj_extarq._context = context
        obj_extarq.create(devprof_id)
        return objects_base.in_versions(obj_extarq, versions)

    @_answers
    @deadline.in_time
    def arq_apply_patch(self, context: cyborg_context.RequestContext,
                        patch_list: dict, valid_fields: dict) -> None:
        """See :meth:`cyborg.conductor.binding.Binder.apply_patch`."""
        self._binder.apply_patch(context, patch_list, valid_fields)

    @_answers
    @deadline.in_time
    def arq_delete_by_uuid(self, context: cyborg_context.RequestContext,
                           arqs: str) -> None:
        """:param arqs: UUIDs with commas between"""
        unbinding.release(context, [u.strip() for u in arqs.split(',')],
                           self._agent.remove_vgpu_mdev, delete=True)

    @_answers
    @deadline.in_time
    def arq_delete_by_instance_uuid(
            self, context: cyborg_context.RequestContext,
            instance: str) -> None:
        """Delete an instance's ARQs; none is fine."""
        unbinding.release_held(
            context, unbinding.holdings(context, instance_uuid=instance),
            self._agent.remove_vgpu_mdev, delete=True)

    # Version 1.1

    @_answers
    def object_class_action_versions(
            self, context: cyborg_context.RequestContext, objname: str,
            objmethod: str, object_versions: dict, args: Sequence,
            kwargs: dict) -> Any:
        """See :func:`cyborg.conductor.object_dispatch.class_action`."""
        return object_dispatch.class_action(
            context, objname, objmethod, object_versions, args, kwargs)

    @_answers
    def object_action(self, context: cyborg_context.RequestContext,
                      objinst: Any, objmethod: str, args: Sequence,
                      kwargs: dict) -> tuple[dict[str, Any], Any]:
        """See :func:`cyborg.conductor.object_dispatch.action`."""
        return object_dispatch.action(
            context, objinst, objmethod, args, kwargs)

    @_answers
    def object_backport_versions(
            self, context: cyborg_context.RequestContext, objinst: Any,
            object_versions: dict) -> Any:
        """See :func:`cyborg.conductor.object_dispatch.backport`."""
        return object_dispatch.backport(objinst, object_versions)

    # Version 1.2

    @_answers
    def report_digest(self, context: cyborg_context.RequestContext,
                      hostname: str, found: str, stored: str) -> bool:
        """See :meth:`cyborg.conductor.unchanged.Known.is_known`."""
        return self._reporter.is_known(context, hostname, found, stored)

    @_answers
    @deadline.in_time
    def arq_create_many(self, context: cyborg_context.RequestContext,
                        requests: list[dict], devprof_id: int) -> None:
        """See :meth:`cyborg.rpcapi.conductor.ConductorAPI.arq_create_many`.
        """
        arqs.create_many(context, devprof_id, requests)

# SPDX-License-Identifier: Apache-2.0
"""What the API does with accelerator requests beyond reading them."""

from collections.abc import Sequence
import logging

from oslo_db import exception as db_exc
import oslo_messaging as messaging
from oslo_utils import uuidutils

from cyborg import objects
from cyborg.api import schemas
from cyborg.api.schemas import accelerator_requests as arq_schema
from cyborg.api.schemas import device_profiles as profile_schema
from cyborg.common import constants
from cyborg.common import context as cyborg_context
from cyborg.common import exception
from cyborg.common.i18n import _
from cyborg.objects import shown_arq
from cyborg.rpcapi import conductor as conductor_rpcapi

LOG = logging.getLogger(__name__)

_BINDABLE = constants.ARQ_STATES_TRANSFORM_MATRIX[constants.ARQ_BIND_STARTED]


def create(context: cyborg_context.RequestContext,
           conductor: conductor_rpcapi.ConductorAPI, profile_name: str
           ) -> list[shown_arq.ShownARQ]:
    """Create all requests that a device profile asks for.

    In one call and one transaction (PERF-6). Conductors of an older release
    get a call for each; when one of those cannot be created, the ones before
    it are deleted again.

    :returns: ``ShownARQ`` records as stored
    :raises exception.ResourceNotFound: no such profile.
    :raises exception.InvalidResourceAmount: the profile holds an amount
        that is no whole number.
    """
    # Rendered and compared as a UUID by clients of every release.
    if context.project_id and not schemas.is_uuid(context.project_id):
        raise exception.InvalidParameterValue(
            err=_('The id of the project, %s, is no UUID, so it can own no '
                  'accelerator request.') % context.project_id[:100])
    profile = objects.DeviceProfile.get_by_name(context, profile_name)
    # Chosen here: the answer that would tell it may be lost.
    wanted = [{'uuid': uuidutils.generate_uuid(),
               'device_profile_group_id': index,
               'project_id': context.project_id}
              for index in profile_schema.arq_groups(profile.groups)]
    uuids = [each['uuid'] for each in wanted]
    try:
        _create(context, conductor, wanted, profile)
        return shown_arq.created(context, uuids)
    except Exception:
        _take_back(context, uuids, profile.id)
        raise


def _create(context, conductor, wanted: list[dict], profile) -> None:
    if conductor.supports_creating_many():
        try:
            conductor.arq_create_many(context, wanted, profile.id)
            return
        except messaging.MessagingException as error:
            if not conductor_rpcapi.is_unknown_call(error):
                raise
            LOG.debug('A conductor of an older release answered')
    for each in wanted:
        arq = objects.ARQ(context, device_profile_name=profile.name,
                          state=constants.ARQ_INITIAL, **each)
        conductor.arq_create(
            context, objects.ExtARQ(context, arq=arq, substate='Initial'),
            profile.id)


def _take_back(context, uuids: list[str], profile_id: int) -> None:
    """Delete requests of a set that was not created whole.

    In the database, since it may be the conductors that do not answer.
    """
    for uuid in uuids:
        try:
            objects.ExtARQ.withdraw(context, uuid, profile_id)
        except (exception.CyborgException, db_exc.DBError) as error:
            # What kept the next one from being created counts, not this.
            LOG.warning('Accelerator request %(uuid)s may be left of a set '
                        'that was not created whole: %(reason)s',
                        {'uuid': uuid,
                         'reason': exception.plain_text(error)})


def delete(context: cyborg_context.RequestContext,
           conductor: conductor_rpcapi.ConductorAPI, uuids: Sequence[str],
           by_service: bool) -> None:
    """Delete all of the requests, or none.

    :param by_service: the caller may take what belongs to an instance.
    :raises exception.ResourceNotFound: one is not there, or not visible.
    :raises exception.ARQBoundToInstance: one belongs to an instance, and the
        caller is no service.
    :raises exception.ARQBadState: one holds a handle that no instance has.
    """
    _check_deletable(context, uuids, by_service)
    if by_service:
        conductor.arq_delete_by_uuid(context, ','.join(uuids))
    elif not objects.ExtARQ.delete_without_instance(context, uuids):
        # One was bound or deleted since, or is damaged. A conductor would
        # unbind it: a device that a guest uses would be given to another.
        states = {arq.state for arq in _check_deletable(
            context, uuids, by_service)}
        raise exception.ARQBadState(
            uuid=', '.join(uuids), state=', '.join(sorted(states)),
            expected='Initial, Unbound, BindFailed')


def _check_deletable(context, uuids, by_service: bool) -> list:
    """Look at all of the requests before the first is deleted."""
    found = {request.arq.uuid: request.arq
             for request in objects.ExtARQ.list(context, uuids=uuids)}
    for uuid in uuids:
        _check_found(found, uuid)
        # One that is only noted for an instance is nobody's yet.
        if found[uuid].instance_uuid and not by_service and not _is_bindable(
                found[uuid]):
            raise exception.ARQBoundToInstance(
                arq=uuid, instance=found[uuid].instance_uuid)
    return list(found.values())


def _check_found(found, uuid: str) -> None:
    if uuid not in found:
        raise exception.ResourceNotFound(
            resource='ExtArq', msg='with uuid=%s' % uuid[:100])


def apply(context: cyborg_context.RequestContext,
          conductor: conductor_rpcapi.ConductorAPI,
          patches: tuple[arq_schema.ArqPatch, ...]) -> None:
    """Bind or unbind, after a look at every request of the patch.

    :raises exception.ResourceNotFound: a request is not there, or not
        visible.
    :raises exception.ARQBadState: a request cannot be bound in its state.
    :raises exception.PatchError: the instance has other requests already.
    """
    instance = next((p.instance_uuid for p in patches if p.bind), None)
    found = {request.arq.uuid: request.arq for request in objects.ExtARQ.list(
        context, uuids=[patch.uuid for patch in patches],
        beside_instance=instance)}
    for patch in patches:
        _check_found(found, patch.uuid)
    # A bind that was asked for before, whose answer was lost, is for the
    # conductor to answer again.
    binding = [patch for patch in patches
               if patch.bind and not _is_asked(patch, found[patch.uuid])]
    for patch in binding:
        _check_bindable(found[patch.uuid])
    if binding:
        _note(context, [patch.uuid for patch in binding], instance, found)
    conductor.arq_apply_patch(
        context.changed(noted=instance is not None),
        {patch.uuid: list(patch.operations) for patch in patches},
        {patch.uuid: _fields(patch, found[patch.uuid]) for patch in patches})


def _is_asked(patch: arq_schema.ArqPatch, arq) -> bool:
    """Whether the request is, or is being, bound as the patch asks for."""
    wanted = patch.fields()
    return arq.state in (constants.ARQ_BOUND,
                         constants.ARQ_BIND_STARTED) and all(
        str(getattr(arq, name) or '').lower() == str(value).lower()
        for name, value in wanted.items())


def _is_bindable(arq) -> bool:
    return arq.state in _BINDABLE


def _check_bindable(arq) -> None:
    if not _is_bindable(arq):
        raise exception.ARQBadState(uuid=arq.uuid, state=arq.state,
                                    expected=', '.join(_BINDABLE))


def _note(context, uuids: list[str], instance_uuid: str, found) -> None:
    """Note that requests are about to be bound, where the instance has none.

    Others that were to be bound to it and never were do not count: whoever
    asked for them has given up.
    """
    others = [arq for arq in found.values() if arq.uuid not in uuids
              and arq.instance_uuid == instance_uuid]
    if any(not _is_bindable(arq) for arq in others):
        raise exception.PatchError(
            reason=_('instance %s has accelerator requests already, and no '
                     'more can be bound to it.') % instance_uuid)
    objects.ExtARQ.note(context, uuids, instance_uuid,
                        [arq.uuid for arq in others])


def _fields(patch: arq_schema.ArqPatch, arq) -> dict:
    """Values to set; the owner stays who it is unless an admin names one."""
    values = patch.fields()
    if patch.bind and not patch.names_owner:
        values['project_id'] = arq.project_id
    return values

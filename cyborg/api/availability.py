# SPDX-License-Identifier: Apache-2.0
"""Takes a device out of scheduling, and back into it.

A disabled device has the status ``maintaining``, and all units that Placement
has of it are reserved: allocations stay, new ones find nothing.
"""

from collections.abc import Callable
import logging

from cyborg import objects
from cyborg.common import constants
from cyborg.common import context as cyborg_context
from cyborg.common import exception
from cyborg.common.i18n import _
from cyborg.placement import client as placement
from cyborg.placement import updates

LOG = logging.getLogger(__name__)


def disable(context: cyborg_context.RequestContext,
            client: placement.PlacementClient, uuid: str) -> None:
    """Reserve all units of a device, then note that it is disabled.

    In this order, a failure in between leaves nothing that could be
    scheduled although the device is shown as disabled.

    :raises exception.ResourceNotFound: no such device.
    :raises exception.DeviceNotDisabled: Placement did not do it; the status
        is unchanged.
    """
    device = objects.Device.get(context, uuid)
    if device.status == constants.DEVICE_MAINTAINING:
        _change(context, client, device, updates.claim,
                exception.DeviceNotDisabled)
    _change(context, client, device, updates.disable,
            exception.DeviceNotDisabled)
    _set_status(device, constants.DEVICE_MAINTAINING)


def enable(context: cyborg_context.RequestContext,
           client: placement.PlacementClient, uuid: str) -> None:
    """Note that a device is enabled, then free what a disable reserved.

    In this order, a report that comes in between does not reserve it again.
    What others have reserved (a tool that wipes the device, say) stays.

    :raises exception.ResourceNotFound: no such device.
    :raises exception.DeviceNotOffered: Placement did not do it; asking again
        will.
    """
    device = objects.Device.get(context, uuid)
    if device.status == constants.DEVICE_MAINTAINING:
        _change(context, client, device, updates.claim,
                exception.DeviceNotOffered)
    _set_status(device, constants.DEVICE_ENABLED)
    _change(context, client, device, updates.enable,
            exception.DeviceNotOffered)


def _change(context, client, device, change: Callable, failure) -> None:
    """:raises failure: Placement did not do it for one of the providers"""
    for deployable in objects.Deployable.list(context, device_id=device.id):
        if not deployable.rp_uuid:
            continue
        try:
            change(client, context, deployable.rp_uuid)
        except exception.PlacementResourceProviderNotFound:
            # The next report creates it anew, by the device's status.
            LOG.warning('Placement has no resource provider %(provider)s of '
                        'device %(uuid)s on host %(host)s.',
                        {'provider': deployable.rp_uuid, 'uuid': device.uuid,
                         'host': device.hostname})
        except placement.ERRORS as error:
            LOG.warning('The units of device %(uuid)s of host %(host)s could '
                        'not be %(done)s: %(reason)s',
                        {'uuid': device.uuid, 'host': device.hostname,
                         'done': 'freed' if failure is
                         exception.DeviceNotOffered else 'reserved',
                         'reason': exception.plain_text(error)})
            conflict = isinstance(error, exception.Conflict)
            raise failure(
                device=device.uuid, host=device.hostname,
                status=device.status, reason=_in_short(error),
                code=exception.Conflict.code if conflict
                else failure.code) from error


def _in_short(error: exception.CyborgException) -> str:
    """Why Placement did not do it, without addresses within the cloud."""
    if isinstance(error, exception.PlacementUnauthorized):
        return _('Placement does not accept the credentials of this service')
    if isinstance(error, exception.PlacementAPIConnectFailure):
        return _('Placement does not answer')
    if isinstance(error, exception.PlacementServerError):
        return _('Placement failed with status %s') % error.kwargs['status']
    if isinstance(error, exception.PlacementRequestRefused):
        return _('Placement refused the request with status %s'
                 ) % error.kwargs['status']
    return _('others kept changing its resource provider at the same time')


def _set_status(device, status: str) -> None:
    device.status = status
    device.save()
    LOG.info('Device %(uuid)s of host %(host)s is %(status)s.',
             {'uuid': device.uuid, 'host': device.hostname, 'status': status})

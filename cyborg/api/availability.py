# SPDX-License-Identifier: Apache-2.0
"""Takes a device out of scheduling, and back into it.

A disabled device has the status ``maintaining``, and all units that Placement
has of it are reserved: allocations stay, new ones find nothing.
"""

import dataclasses
import logging

from cyborg.common import constants
from cyborg.common import exception
from cyborg.placement import client as placement
from cyborg import objects

LOG = logging.getLogger(__name__)


def disable(context, client: placement.PlacementClient, uuid: str) -> None:
    """Reserve all units of a device, then note that it is disabled.

    In this order, a failure in between leaves nothing that could be
    scheduled although the device is shown as disabled.

    :raises exception.ResourceNotFound: no such device.
    :raises exception.PlacementServerError: Placement did not do it (or
        another error of ``PlacementClient``); the status is unchanged.
    """
    device = objects.Device.get(context, uuid)
    for provider in _providers(context, device):
        _reserve(client, context, provider, device)
    _set_status(device, constants.DEVICE_MAINTAINING)


def enable(context, client: placement.PlacementClient, uuid: str) -> None:
    """Note that a device is enabled, then free its units.

    In this order, a report that comes in between does not reserve them again.

    :raises exception.ResourceNotFound: no such device.
    :raises exception.PlacementServerError: Placement did not do it (or
        another error of ``PlacementClient``); asking again will.
    """
    device = objects.Device.get(context, uuid)
    _set_status(device, constants.DEVICE_ENABLED)
    for provider in _providers(context, device):
        _free(client, context, provider, device)


def _providers(context, device) -> list[str]:
    deployables = objects.Deployable.list(context, device_id=device.id)
    return [deployable.rp_uuid for deployable in deployables
            if deployable.rp_uuid]


def _set_status(device, status: str) -> None:
    device.status = status
    device.save()
    LOG.info('Device %(uuid)s of host %(host)s is %(status)s.',
             {'uuid': device.uuid, 'host': device.hostname, 'status': status})


@placement.retry_conflicts
def _reserve(client, context, provider: str, device) -> None:
    present = _inventories(client, context, provider, device)
    _put(client, context, provider, present, {
        name: dataclasses.replace(record, reserved=record.total)
        for name, record in present.by_class.items()})


@placement.retry_conflicts
def _free(client, context, provider: str, device) -> None:
    present = _inventories(client, context, provider, device)
    if not present.by_class:
        return
    if constants.MISSING_TRAIT in client.get_traits(context, provider).names:
        # Some of its units are allocated and not to be found: how many, only
        # the host's next report knows, and it leaves just those reserved.
        LOG.info('Device %(uuid)s of host %(host)s is missing: resource '
                 'provider %(provider)s stays reserved until the next report.',
                 {'uuid': device.uuid, 'host': device.hostname,
                  'provider': provider})
        return
    _put(client, context, provider, present, {
        name: dataclasses.replace(record, reserved=0)
        for name, record in present.by_class.items()})


def _inventories(client, context, provider, device) -> placement.Inventories:
    try:
        return client.get_inventories(context, provider)
    except exception.PlacementResourceProviderNotFound:
        # The next report creates it anew, by the device's status.
        LOG.warning('Placement has no resource provider %(provider)s of '
                    'device %(uuid)s on host %(host)s.',
                    {'provider': provider, 'uuid': device.uuid,
                     'host': device.hostname})
        return placement.Inventories(0, {})


def _put(client, context, provider, present, wanted) -> None:
    if wanted != dict(present.by_class):
        client.put_inventories(context, provider, present.generation, wanted)

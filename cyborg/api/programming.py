# SPDX-License-Identifier: Apache-2.0
"""Programs an FPGA through the agent of its host."""

import json
from typing import Any

from cyborg import objects
from cyborg.common import context as cyborg_context
from cyborg.common import exception
from cyborg.common.i18n import _
from cyborg.rpcapi import agent as agent_rpcapi


def program(context: cyborg_context.RequestContext,
            agent: agent_rpcapi.AgentAPI, deployable: Any, image_uuid: str
            ) -> None:
    """Write an image into the device of a deployable.

    :raises exception.FPGAProgramError: the driver did not do it.
    """
    device = objects.Device.get_by_id(context, deployable.device_id)
    path = objects.ControlpathID.get_by_device_id(context, device.id)
    answer = agent.fpga_program(
        context, device.hostname, path_for_agent(path), image_uuid,
        deployable.driver_name)
    if not answer:
        raise exception.FPGAProgramError(ret=answer)


def path_for_agent(path: Any) -> dict:
    """A control path as the agent takes it: a row, its info decoded.

    :raises exception.CyborgException: the stored info is no JSON.
    """
    values = path.as_dict()
    for name in ('created_at', 'updated_at'):
        if values.get(name) is not None:
            values[name] = values[name].isoformat()
    try:
        values['cpid_info'] = json.loads(path.cpid_info)
    except ValueError:
        raise exception.CyborgException(
            _('The control path %(uuid)s holds no JSON: %(info)s')
            % {'uuid': path.uuid, 'info': path.cpid_info}) from None
    return values

# SPDX-License-Identifier: Apache-2.0
"""Programs the FPGA of an ARQ whose device profile asks for it.

A profile's group names a bitstream by its image (``accel:bitstream_id``) or
by what it does (``accel:function_id``); for the latter the newest image with
an image property of that name and value is taken, and the provider gets a
trait that tells what the device does from now on.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import json
import re
import time
from urllib import parse

from keystoneauth1 import exceptions as ks_exc

from cyborg.common import constants
from cyborg.common import context as cyborg_context
from cyborg.common import exception
from cyborg.common import sdk
from cyborg.conf import CONF
from cyborg.db import api
from cyborg.db import binding
from cyborg.db import controlpaths
from cyborg.db import deployables
from cyborg.db import query
from cyborg.db.sqlalchemy import models
from cyborg.placement import client as placement
from cyborg.placement import updates

_NOT_IN_TRAIT = re.compile(r'[^A-Z0-9_]')


@dataclasses.dataclass(frozen=True)
class Job:
    """What to program; exactly one of the two is there."""

    bitstream_id: str | None
    function_id: str | None


def job_of(arq_uuid: str, profile: str, number: int,
           group: Mapping[str, str]) -> Job | None:
    """The job that a device profile's group asks for, or None.

    :raises exception.BitstreamAmbiguous: the group names both.
    """
    resources = [key for key in group
                 if key.startswith(constants.RESOURCES_PREFIX)]
    if not resources or resources[0] != (
            constants.RESOURCES_PREFIX + constants.FPGA):
        return None
    bitstream = group.get(constants.ACCEL_BITSTREAM_ID)
    function = group.get(constants.ACCEL_FUNCTION_ID)
    if bitstream and function:
        raise exception.BitstreamAmbiguous(
            uuid=arq_uuid, profile=profile, group=number)
    if not bitstream and not function:
        return None
    return Job(bitstream, function)


def jobs(rows: Iterable) -> dict[str, Job]:
    """Jobs by ARQ UUID.

    :param rows: as ``cyborg.db.arqs`` gives them.
    :raises exception.BitstreamAmbiguous: see :func:`job_of`.
    """
    found = {}
    for row in rows:
        arq = row.ExtARQ
        try:
            groups = json.loads(row.profile_json)['groups']
            group = groups[arq.device_profile_group_id]
        except (TypeError, ValueError, KeyError, IndexError):
            continue
        job = job_of(arq.uuid, row.profile_name,
                     arq.device_profile_group_id, group)
        if job:
            found[arq.uuid] = job
    return found


class Programmer:
    """Has the agents of the hosts write bitstreams.

    :param agent: a ``cyborg.rpcapi.agent.AgentAPI``.
    :param find_image: image id for (context, function id); looks in Glance
        when left out.
    """

    def __init__(self, agent, client: placement.PlacementClient,
                 find_image: Callable | None = None):
        self._agent = agent
        self._client = client
        self._find_image = find_image or find_image_by_function

    def run(self, context: cyborg_context.RequestContext,
            holding: binding.Holding, job: Job, deadline: float) -> None:
        """Program one device and note what it holds then.

        :param holding: the ARQ with its handle, see ``cyborg.db.binding``.
        :param deadline: ``time.monotonic()`` by which it must be done.
        :raises exception.FPGAProgramError: the driver reports a failure.
        :raises exception.ImageUnacceptable: no image for the function.
        :raises oslo_messaging.MessagingTimeout: the agent did not answer.
        """
        image = (self._find_image(context, job.function_id)
                 if job.function_id else job.bitstream_id)
        with api.reader(context) as session:
            deployable = query.one(session, models.Deployable, 'Deployable',
                                   id=holding.deployable_id)
            path = controlpaths.get_by_device_id(
                context, deployable.device_id)
        result = self._agent.fpga_program(
            context, holding.handle_hostname, _as_dict(path), image,
            deployable.driver_name,
            timeout=max(1, deadline - time.monotonic()))
        if not result:
            raise exception.FPGAProgramError(ret=result)
        deployables.update(context, deployable.uuid,
                           {'bitstream_id': image})
        if job.function_id and deployable.rp_uuid:
            updates.replace_traits(
                self._client, context, deployable.rp_uuid,
                constants.FPGA_FUNCTION_ID, [function_trait(
                    deployable.driver_name or '', job.function_id)])


def function_trait(vendor: str, function_id: str) -> str:
    """CUSTOM_FPGA_FUNCTION_ID_<vendor>_<function>, in legal characters."""
    return _NOT_IN_TRAIT.sub('_', '%s_%s_%s' % (
        constants.FPGA_FUNCTION_ID, vendor.upper(), function_id.upper()))


def find_image_by_function(context: cyborg_context.RequestContext,
                           function_id: str) -> str:
    """The newest active image whose property names the function.

    :raises exception.ImageUnacceptable: there is none.
    :raises exception.GlanceConnectionFailed: Glance did not answer.
    """
    question = parse.urlencode({constants.ACCEL_FUNCTION_ID: function_id,
                                'status': 'active', 'limit': 1})
    try:
        answer = sdk.adapter('glance', 'image').get('/images?' + question)
    except ks_exc.ClientException as error:
        # Only the log hears of this; see Binder.
        raise exception.GlanceConnectionFailed(
            host=CONF.host, reason='it does not answer, %s'
            % exception.plain_text(error)) from error
    images = answer.json().get('images') if answer.status_code == 200 else []
    if not images:
        raise exception.ImageUnacceptable(
            image_id='(by function)', reason='no image has the property '
            '%s=%s' % (constants.ACCEL_FUNCTION_ID, function_id))
    return images[0]['id']


def _as_dict(path: models.ControlpathID) -> dict:
    return {'id': path.id, 'uuid': path.uuid, 'device_id': path.device_id,
            'cpid_type': path.cpid_type,
            'cpid_info': json.loads(path.cpid_info)}

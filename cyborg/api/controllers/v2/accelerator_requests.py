# SPDX-License-Identifier: Apache-2.0
"""/v2/accelerator_requests"""

import logging
from typing import Any

import wsme.types

from cyborg import objects
from cyborg.api import expose
from cyborg.api import requests
from cyborg.api import services
from cyborg.api.controllers import base
from cyborg.api.schemas import accelerator_requests as schema
from cyborg.api.views import accelerator_requests as views
from cyborg.common import constants
from cyborg.common import exception
from cyborg.common.i18n import _
from cyborg.objects import shown_arq

LOG = logging.getLogger(__name__)


class AcceleratorRequests(base.ResourceController):

    @expose.expose(expose.JSON,
                   allow=services.owner_policy('cyborg:arq:create'),
                   body=expose.JSON, status=201)
    def post(self, req: dict[str, Any]) -> dict:
        created = requests.create(services.context(),
                                  services.get().conductor,
                                  schema.parse_create(req))
        return _listing(created)

    @expose.expose(expose.UUID,
                   allow=services.owner_policy('cyborg:arq:get_one'))
    def get_one(self, uuid: str) -> dict:
        request = objects.ExtARQ.get(services.context(), uuid)
        return views.single(request.arq, services.version(),
                            services.base_url())

    @expose.expose(wsme.types.text, expose.UUID,
                   allow=services.owner_policy('cyborg:arq:get_all'))
    def get_all(self, bind_state: str | None = None,
                instance: str | None = None) -> dict | expose.Reply:
        """:param bind_state: ``resolved`` leaves out requests whose bind is
            not over; together with ``instance`` one such request gives 423.
        """
        schema.check_bind_state(bind_state)
        if instance is None:
            return _listing(shown_arq.list_(
                services.context(),
                states=constants.ARQ_RESOLVED_STATES if bind_state else None),
                _tell_of_damage)
        # One statement for both questions, so that nothing can be bound
        # between two.
        found = shown_arq.list_(
            services.context(), instance_uuid=instance)
        if bind_state and not all(
                request.state in constants.ARQ_RESOLVED_STATES
                for request in found):
            return expose.Reply(None, 423)
        return _listing(found)

    @expose.expose(wsme.types.text, expose.UUID,
                   allow=services.owner_policy('cyborg:arq:delete'),
                   status=204)
    def delete(self, arqs: str | None = None, instance: str | None = None
               ) -> None:
        """:param arqs: UUIDs with commas between"""
        if bool(arqs) == bool(instance):
            raise exception.InvalidParameterValue(
                err=_('Give either arqs, a list of UUIDs, or instance, one '
                      'UUID.'))
        if instance:
            services.require_service_token()
            services.get().conductor.arq_delete_by_instance_uuid(
                services.context(), instance)
            return
        uuids = schema.parse_uuids(arqs)
        requests.delete(services.context(), services.get().conductor, uuids,
                        services.has_service_token())

    @expose.expose(expose.JSON,
                   allow=services.service_policy('cyborg:arq:update'),
                   body=expose.JSON, status=202)
    def patch(self, patch_list: dict[str, list]) -> None:
        patches = schema.parse_patch(patch_list, services.version())
        if (any(patch.names_owner for patch in patches)
                and not services.context().is_admin):
            raise exception.PolicyNotAuthorized(resource='cyborg:arq:update')
        requests.apply(services.context(), services.get().conductor, patches)


def _listing(found, on_damage=None) -> dict:
    return views.listing(found, services.version(), services.base_url(),
                         on_damage)


def _tell_of_damage(error: exception.AttachInfoInvalid) -> None:
    """Once for each handle: lists are asked for again and again."""
    told = services.get().damaged
    if error.message not in told:
        told.add(error.message)
        LOG.warning('%s', error.message)

# SPDX-License-Identifier: Apache-2.0
"""/v2/deployables"""

from typing import Any

import wsme.types

from cyborg import objects
from cyborg.api import expose
from cyborg.api import programming
from cyborg.api import services
from cyborg.api.controllers import base
from cyborg.api.schemas import deployables as schema
from cyborg.api.schemas import filters as filter_schema
from cyborg.api.views import deployables as views

_SORTABLE = ('bitstream_id', 'created_at', 'device_id', 'driver_name', 'id',
             'name', 'num_accelerators', 'parent_id', 'root_id', 'rp_uuid',
             'updated_at', 'uuid')


class Deployables(base.ResourceController):

    _custom_actions = {'program': ['PATCH']}

    @expose.expose(expose.UUID,
                   allow=services.policy('cyborg:deployable:get_one'))
    def get_one(self, uuid: str) -> dict:
        return _shown(objects.Deployable.get(services.context(), uuid))

    @expose.expose(wsme.types.ArrayType(filter_schema.Filter),
                   allow=services.policy('cyborg:deployable:get_all'))
    def get_all(self, filters: Any = None) -> dict:
        listing = filter_schema.parse(filters, _SORTABLE)
        context = services.context()
        deployables = objects.Deployable.list(
            context, name=listing.name, limit=listing.limit,
            sort_key=listing.sort_key,
            sort_dir=listing.sort_dir or ('desc' if listing.given else None))
        # Without a filter all attributes are wanted anyway.
        wanted = ([deployable.id for deployable in deployables]
                  if listing.given else None)
        attributes = objects.Attribute.list(context, deployable_ids=wanted)
        return views.listing(deployables, attributes, services.base_url())

    @expose.expose(expose.UUID, expose.JSON,
                   allow=services.policy('cyborg:deployable:program'),
                   body=expose.JSON)
    def program(self, uuid: str, program_info: Any) -> dict:
        image = schema.parse_program(program_info)
        deployable = objects.Deployable.get(services.context(), uuid)
        programming.program(services.context(), services.get().agent,
                            deployable, image)
        return _shown(deployable)


def _shown(deployable) -> dict:
    attributes = objects.Attribute.list(services.context(),
                                        deployable_id=deployable.id)
    return views.single(deployable, attributes, services.base_url())

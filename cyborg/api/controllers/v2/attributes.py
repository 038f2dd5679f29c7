# SPDX-License-Identifier: Apache-2.0
"""/v2/attributes"""

from typing import Any

import wsme.types

from cyborg import objects
from cyborg.api import expose
from cyborg.api import services
from cyborg.api.controllers import base
from cyborg.api.schemas import attributes as schema
from cyborg.api.views import attributes as views


class Attributes(base.ResourceController):

    @expose.expose(expose.UUID,
                   allow=services.policy('cyborg:attribute:get_one'))
    def get_one(self, uuid: str) -> dict:
        attribute = objects.Attribute.get(services.context(), uuid)
        return views.single(attribute, services.base_url())

    @expose.expose(expose.ROW_ID, wsme.types.text,
                   allow=services.policy('cyborg:attribute:get_all'))
    def get_all(self, deployable_id: int | None = None, key: str | None = None
                ) -> dict:
        """Zero and an empty text filter nothing, as they always have."""
        attributes = objects.Attribute.list(
            services.context(), deployable_id=deployable_id or None,
            key=key or None)
        return views.listing(attributes, services.base_url())

    @expose.expose(expose.JSON,
                   allow=services.policy('cyborg:attribute:create'),
                   body=expose.JSON, status=201)
    def post(self, req_attr: dict[str, Any]) -> dict:
        wanted = schema.parse_create(req_attr)
        attribute = objects.Attribute(
            services.context(), deployable_id=wanted.deployable_id,
            key=wanted.key, value=wanted.value)
        if wanted.uuid is not None:
            attribute.uuid = wanted.uuid
        attribute.create()
        return views.single(attribute, services.base_url())

    @expose.expose(expose.NAME,
                   allow=services.policy('cyborg:attribute:delete'),
                   status=204)
    def delete(self, uuid: str) -> None:
        objects.Attribute.get(services.context(), uuid).destroy()

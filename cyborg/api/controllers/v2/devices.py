# SPDX-License-Identifier: Apache-2.0
"""/v2/devices"""

from typing import Any

import wsme.types

from cyborg import objects
from cyborg.api import availability
from cyborg.api import expose
from cyborg.api import services
from cyborg.api.controllers import base
from cyborg.api.schemas import filters as filter_schema
from cyborg.api.views import devices as views

_SORTABLE = ('created_at', 'hostname', 'id', 'model', 'status', 'type',
             'updated_at', 'uuid', 'vendor')


class Devices(base.ResourceController):

    _custom_actions = {'enable': ['POST'], 'disable': ['POST']}

    @expose.expose(expose.NAME,
                   allow=services.policy('cyborg:device:get_one'))
    def get_one(self, uuid: str) -> dict:
        device = objects.Device.get(services.context(), uuid)
        return views.single(device, services.version(), services.base_url())

    @expose.expose(wsme.types.text, wsme.types.text, wsme.types.text,
                   wsme.types.ArrayType(filter_schema.Filter),
                   allow=services.policy('cyborg:device:get_all'))
    def get_all(self, type: str | None = None, vendor: str | None = None,
                hostname: str | None = None, filters: Any = None) -> dict:
        listing = filter_schema.parse(filters, _SORTABLE)
        devices = objects.Device.list(
            services.context(), type=type or None, vendor=vendor or None,
            hostname=hostname or None, limit=listing.limit,
            sort_key=listing.sort_key,
            sort_dir=listing.sort_dir or ('desc' if listing.given else None))
        return views.listing(devices, services.version(), services.base_url())

    @expose.expose(expose.NAME,
                   allow=services.policy('cyborg:device:disable'), status=204)
    def disable(self, uuid: str) -> None:
        """Keep new work away from the device; what runs on it stays."""
        availability.disable(services.context(), services.get().placement,
                             uuid)

    @expose.expose(expose.NAME,
                   allow=services.policy('cyborg:device:enable'), status=204)
    def enable(self, uuid: str) -> None:
        availability.enable(services.context(), services.get().placement,
                            uuid)

# SPDX-License-Identifier: Apache-2.0
"""/v2/device_profiles"""

import wsme.types

from cyborg import objects
from cyborg.api import expose
from cyborg.api import microversions
from cyborg.api import schemas
from cyborg.api import services
from cyborg.api.controllers import base
from cyborg.api.schemas import device_profiles as schema
from cyborg.api.views import device_profiles as views
from cyborg.common import exception
from cyborg.common.i18n import _


class DeviceProfiles(base.ResourceController):

    @expose.expose(expose.JSON,
                   allow=services.policy('cyborg:device_profile:create'),
                   body=expose.JSON, status=201)
    def post(self, req_devprof_list: list[dict]) -> dict:
        wanted = schema.parse_create(req_devprof_list)
        profile = objects.DeviceProfile(
            services.context(), name=wanted.name, groups=list(wanted.groups))
        if wanted.description is not None:
            profile.description = wanted.description
        if wanted.uuid is not None:
            profile.uuid = wanted.uuid
        stored = services.get().conductor.device_profile_create(
            services.context(), profile)
        return views.item(stored, services.base_url())

    @expose.expose(wsme.types.text,
                   allow=services.policy('cyborg:device_profile:get_all'))
    def get_all(self, name: str | None = None) -> dict:
        """:param name: names with commas between; an empty one matches none"""
        names = None if name is None else schemas.split_list(name)
        profiles = objects.DeviceProfile.list(services.context(), names=names)
        return views.listing(profiles, services.base_url())

    @expose.expose(wsme.types.text,
                   allow=services.policy('cyborg:device_profile:get_one'))
    def get_one(self, dp_uuid_or_name: str) -> dict:
        if (not schemas.is_uuid(dp_uuid_or_name)
                and services.version() < microversions.PROFILE_BY_NAME):
            raise exception.NotAcceptable(
                _('A device profile can be shown by its name from version '
                  '%s on.') % microversions.PROFILE_BY_NAME)
        return views.single(_find(dp_uuid_or_name), services.base_url())

    @expose.expose(wsme.types.text,
                   allow=services.policy('cyborg:device_profile:delete'),
                   status=204)
    def delete(self, value: str) -> None:
        """:param value: names or UUIDs with commas between"""
        for uuid_or_name in schemas.split_list(value):
            services.get().conductor.device_profile_delete(
                services.context(), _find(uuid_or_name))


def _find(uuid_or_name: str):
    """:raises exception.ResourceNotFound: no such profile."""
    context = services.context()
    uuid = schemas.canonical_uuid(uuid_or_name)
    if uuid is not None:
        return objects.DeviceProfile.get_by_uuid(context, uuid)
    return objects.DeviceProfile.get_by_name(context, uuid_or_name)

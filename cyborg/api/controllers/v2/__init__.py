# SPDX-License-Identifier: Apache-2.0
"""Version 2 of the API, with its microversions."""

import logging

import pecan
import webob.exc

from cyborg.api import expose
from cyborg.api import microversions
from cyborg.api import services
from cyborg.api.controllers import base
from cyborg.api.controllers.v2 import accelerator_requests
from cyborg.api.controllers.v2 import attributes
from cyborg.api.controllers.v2 import deployables
from cyborg.api.controllers.v2 import device_profiles
from cyborg.api.controllers.v2 import devices
from cyborg.api.views import versions

LOG = logging.getLogger(__name__)

# WebOb's own template speaks of the Accept header, which is not the matter.
_NOT_ACCEPTABLE = '${detail}'

# Clients name themselves as they like.
_MOST_WARNINGS = 100


def _warn(agent: str, header: str) -> None:
    """Tell once about a client that leaves the service type out (B56)."""
    warned = services.get().warned
    if agent not in warned and len(warned) < _MOST_WARNINGS:
        warned.add(agent)
        LOG.warning('The client %(agent)s sends the microversion %(header)s '
                    'without the service type: "%(service)s %(header)s" is '
                    'meant.', {'agent': agent, 'header': header,
                               'service': microversions.SERVICE_TYPE})


class Controller(base.Controller):

    children = ('accelerator_requests', 'attributes', 'deployables',
                'device_profiles', 'devices')
    accelerator_requests = accelerator_requests.AcceleratorRequests()
    attributes = attributes.Attributes()
    deployables = deployables.Deployables()
    device_profiles = device_profiles.DeviceProfiles()
    devices = devices.Devices()

    @expose.expose()
    def get(self) -> dict:
        return versions.v2(services.base_url())

    @pecan.expose()
    def _route(self, args, request=None):
        request = request or pecan.request
        header = request.headers.get(microversions.HEADER)
        try:
            version = microversions.negotiate(header)
        except microversions.Unsupported as error:
            raise webob.exc.HTTPNotAcceptable(
                str(error), headers=microversions.range_headers(),
                body_template=_NOT_ACCEPTABLE) from error
        except microversions.Unparsable as error:
            raise webob.exc.HTTPNotAcceptable(
                str(error), body_template=_NOT_ACCEPTABLE) from error
        if microversions.is_bare(header):
            _warn(str(request.user_agent)[:100], header)
        request.version = version
        # An error that ends the routing has a response of its own, without
        # these headers.
        pecan.response.headers.update(microversions.headers(version))
        return super()._route(args, request)

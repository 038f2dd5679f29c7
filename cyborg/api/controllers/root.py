# SPDX-License-Identifier: Apache-2.0
"""The root of the API: its version document, and the way to a version."""

import pecan

from cyborg.api import expose
from cyborg.api import services
from cyborg.api.controllers import base
from cyborg.api.controllers import v2
from cyborg.api.views import versions


class RootController(base.Controller):

    # Also served when a path names no version.
    _default = 'v2'

    children = ('v2',)
    v2 = v2.Controller()

    @expose.expose()
    def get(self) -> dict:
        """Which versions there are; the microversion header is ignored."""
        return versions.root(services.base_url())

    @pecan.expose()
    def _route(self, args, request=None):
        named = next(filter(None, args), None)
        if named is not None and named != self._default:
            args = [self._default, *args]
        return super()._route(args, request)

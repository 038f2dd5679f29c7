# SPDX-License-Identifier: Apache-2.0
"""How requests find their controllers.

Pecan's REST routing, made to follow the documented paths alone: it would
otherwise take any attribute of a controller for a path segment, and segments
in front of a collection for filters of its list.
"""

import itertools

import pecan
from pecan import rest


class Controller(rest.RestController):
    """A controller, and the names of those below it."""

    children: tuple[str, ...] = ()

    def _find_sub_controllers(self, remainder, request):
        # Slashes may come in numbers.
        remainder = list(itertools.dropwhile(lambda part: not part, remainder))
        if remainder and remainder[0] in self.children:
            return super()._find_sub_controllers(remainder, request)
        return None

    def _lookup_child(self, remainder):
        found = super()._lookup_child(remainder)
        if remainder in self.children or getattr(found, 'exposed', False):
            return found
        return None


class ResourceController(Controller):
    """Routes the requests of one collection."""

    def _handle_patch(self, method, remainder, request=None):
        # A collection that cannot be patched has always been "not found"
        # rather than "method not allowed"; one resource of it is the latter.
        if not any(remainder) and not self._find_controller('patch'):
            pecan.abort(404)
        return self._handle_post(method, remainder, request)

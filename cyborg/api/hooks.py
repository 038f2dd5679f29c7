# SPDX-License-Identifier: Apache-2.0
"""What happens to a request before a controller sees it."""

import json
from typing import Any

from pecan import hooks
import webob.exc

from cyborg.api import services
from cyborg.common import context as cyborg_context
from cyborg.common.i18n import _

_CATALOG = 'HTTP_X_SERVICE_CATALOG'


class ServicesHook(hooks.PecanHook):
    """Hands the application's services to the request."""

    def __init__(self, provided: services.Services):
        self._provided = provided

    def on_route(self, state: Any) -> None:
        state.request.services = self._provided


class ContextHook(hooks.PecanHook):
    """Builds the request context from the trusted headers.

    Behind ``authtoken`` keystonemiddleware has set them; in a pipeline
    without it, whoever stands in front of the API does.
    """

    def on_route(self, state: Any) -> None:
        environ = state.request.environ
        state.request.context = cyborg_context.RequestContext.from_environ(
            environ, service_catalog=_catalog(environ.get(_CATALOG)))


def _catalog(text: str | None) -> list[dict]:
    if not text:
        return []
    try:
        catalog = json.loads(text)
    except (ValueError, RecursionError):
        catalog = None
    if not isinstance(catalog, list) or not all(
            isinstance(entry, dict) for entry in catalog):
        raise webob.exc.HTTPBadRequest(
            _('The X-Service-Catalog header is no JSON list of services.'))
    return catalog

# SPDX-License-Identifier: Apache-2.0
"""Validates tokens with Keystone, but for the version documents."""

from collections.abc import Callable
import re
from typing import Any

from keystonemiddleware import auth_token
import webob

from cyborg.api import faults
from cyborg.api.middleware import mount
from cyborg.common import exception
from cyborg.common.i18n import _
from cyborg.conf import CONF

_JSON = 'application/json'

# Headers that say who the caller is; whoever is let through without a token
# must not bring any.
_IDENTITY = re.compile(
    'HTTP_(X_(SERVICE_)?(AUTH_TOKEN|CATALOG|DOMAIN|IDENTITY|PROJECT|ROLE|'
    'TENANT|TOKEN|USER|IS_ADMIN).*|X_SERVICE_.*|OPENSTACK_SYSTEM_SCOPE)')


class AuthTokenMiddleware(auth_token.AuthProtocol):
    """keystonemiddleware with routes that need no token.

    :param public_routes: regular expressions of whole paths; an extension
        such as ``.json`` and slashes at the end are allowed after each.
    :raises exception.ConfigInvalid: a route is no regular expression.
    """

    def __init__(self, app, conf: dict, public_routes: tuple[str, ...] = ()):
        self._unchecked = app
        try:
            self._public = [
                re.compile(r'%s(\.[a-z]+)?/*\Z' % route.rstrip('/'))
                for route in public_routes]
        except re.error as error:
            raise exception.ConfigInvalid(
                error_msg=_('acl_public_routes of the API\'s pipeline: %s')
                % error) from error
        super().__init__(app, conf)

    def __call__(self, environ, start_response):
        path = mount.below_prefix(environ).get('PATH_INFO') or '/'
        if any(route.match(path) for route in self._public):
            environ = {name: value for name, value in environ.items()
                       if not _IDENTITY.fullmatch(name)}
            environ['is_public_api'] = True
            return self._unchecked(environ, start_response)
        answer = webob.Request(environ).get_response(super().__call__)
        if answer.status_int == 503 and answer.content_type != _JSON:
            # keystonemiddleware has said why in the log.
            answer = webob.Response(
                status=503, content_type=_JSON, body=faults.envelope(_(
                    'The identity service does not answer, so that the token '
                    'cannot be checked. Try again later.')))
            answer.charset = None
        return answer(environ, start_response)

    @classmethod
    def factory(cls, global_config: dict, **local_conf: Any) -> Callable:
        """For PasteDeploy; ``acl_public_routes`` has commas between."""
        routes = tuple(route.strip() for route in local_conf.pop(
            'acl_public_routes', '').split(',') if route.strip())
        # The options are those of this process, wherever they come from.
        conf = {'oslo_config_config': CONF, **global_config, **local_conf}

        def filter_(app):
            return cls(app, conf, routes)
        return filter_

# SPDX-License-Identifier: Apache-2.0
"""Takes a caller who says nothing about himself for the administrator.

For ``cyborg-standalone`` and for trying things out: whoever reaches the API
may do everything. Never put it into a pipeline that others can reach.
"""

from collections.abc import Callable
from collections.abc import Iterable
from typing import Any

#: Project of the caller who says nothing.
PROJECT_ID = '00000000000040008000000000000001'

_IDENTITY = ('HTTP_X_USER_ID', 'HTTP_X_PROJECT_ID', 'HTTP_X_ROLES',
             'HTTP_X_SERVICE_ROLES', 'HTTP_OPENSTACK_SYSTEM_SCOPE',
             'HTTP_X_DOMAIN_ID')


class AdminWithoutHeaders:
    """WSGI middleware; a caller with identity headers is left alone.

    :param roles: roles of the caller
    :param service_roles: as if from a service token, so that a person can
        bind and unbind as Nova does
    """

    def __init__(self, app, roles: Iterable[str] = ('admin', 'member',
                                                    'reader'),
                 service_roles: Iterable[str] = ('service',)):
        self._app = app
        self._identity = {
            'HTTP_X_USER_ID': 'admin',
            'HTTP_X_PROJECT_ID': PROJECT_ID,
            'HTTP_X_ROLES': ','.join(roles),
            'HTTP_X_SERVICE_ROLES': ','.join(service_roles),
        }

    def __call__(self, environ, start_response):
        if not any(environ.get(name) for name in _IDENTITY):
            environ = {**environ, **self._identity}
        return self._app(environ, start_response)

    @classmethod
    def factory(cls, global_config: dict, **local_conf: Any) -> Callable:
        """For PasteDeploy."""
        return cls

# SPDX-License-Identifier: Apache-2.0
"""The real Placement service, inside this process.

It keeps its own configuration object and its own SQLite file, and is reached
over HTTP like any other Placement, so that nothing in Cyborg knows that it
is near.
"""

from collections.abc import Callable
import pathlib

from oslo_config import cfg
from oslo_policy import opts as policy_opts

from cyborg.common import exception
from cyborg.common.i18n import _


class PlacementNotInstalled(exception.CyborgException):
    _msg_fmt = _('cyborg-standalone needs Placement itself: install '
                 'openstack-cyborg[standalone] (%(reason)s).')


def application(path: pathlib.Path) -> Callable:
    """Placement's WSGI application on a SQLite file.

    One per process: Placement keeps its database connection in a global.

    :param path: created, or brought to the schema of the installed release.
    :raises PlacementNotInstalled: the extra is not installed.
    """
    try:
        from placement import conf as placement_conf
        from placement import db_api
        from placement import deploy
    except ImportError as error:
        raise PlacementNotInstalled(reason=error) from None
    conf = cfg.ConfigOpts()
    placement_conf.register_opts(conf)
    policy_opts.set_defaults(conf)
    for group, name, value in (
            # No auth: it listens on a loopback address only.
            ('api', 'auth_strategy', 'noauth2'),
            ('placement_database', 'connection', 'sqlite:///%s' % path),
            ('placement_database', 'sync_on_startup', True)):
        conf.set_override(name, value, group=group)
    conf([], project='placement', default_config_files=[],
         default_config_dirs=[])
    db_api.configure(conf)
    return _AsAdministrator(deploy.loadapp(conf))


class _AsAdministrator:
    """Without Keystone, Placement reads the role from the token's text.

    keystoneauth's ``auth_type = none`` sends a token without any power.
    """

    def __init__(self, application):
        self._application = application

    def __call__(self, environ, start_response):
        environ['HTTP_X_AUTH_TOKEN'] = 'admin'
        return self._application(environ, start_response)

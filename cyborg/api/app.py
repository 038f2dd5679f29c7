# SPDX-License-Identifier: Apache-2.0
"""Puts the WSGI application together."""

from collections.abc import Callable
import gc
import logging
import os
import sys
from typing import Any

from paste import deploy
import pecan

from cyborg import objects
from cyborg.api import hooks
from cyborg.api import services
from cyborg.api.middleware import errors
from cyborg.api.middleware import mount
from cyborg.common import config
from cyborg.common import constants
from cyborg.common import database_url
from cyborg.common import exception
from cyborg.common import option_values
from cyborg.common import rpc
from cyborg.common import service
from cyborg.common.i18n import _
from cyborg.conf import CONF

LOG = logging.getLogger(__name__)


def make_app(provided: services.Services | None = None) -> Callable:
    """The application without any middleware that knows callers.

    :param provided: what the controllers work with; made from the
        configuration when left out.
    """
    objects.register_all()
    return pecan.make_app(
        'cyborg.api.controllers.root.RootController',
        hooks=[hooks.ContextHook(),
               hooks.ServicesHook(provided or services.Services.from_conf())],
        debug=False,
        wrap_app=lambda app: mount.BelowPrefix(errors.ErrorBody(app)))


def app_factory(global_config: dict, **local_conf: Any) -> Callable:
    """For PasteDeploy: ``paste.app_factory = cyborg.api.app:app_factory``."""
    rpc.init()
    return make_app()


def paste_file() -> str:
    """Path of the file that describes the pipeline.

    Looked for in the configuration directories, then where pip puts the
    files that come with the package.

    :raises exception.ConfigInvalid: there is no such file.
    """
    name = CONF.api.api_paste_config
    installed = os.path.join(sys.prefix, 'etc', 'cyborg', name)
    for path in (CONF.find_file(name), installed):
        if path and os.path.isfile(path):
            return os.path.abspath(path)
    raise exception.ConfigInvalid(
        error_msg=_('[api] api_paste_config is %(name)s, which is neither in '
                    'a configuration directory nor %(installed)s.')
        % {'name': name, 'installed': installed})


def serve_from_here() -> None:
    """Prepare this process, now complete, for answering requests.

    What was loaded stays until the end; a garbage collection that looks at
    all of it again and again triples the time of the slowest lists.
    """
    gc.collect()
    gc.freeze()


def load_app() -> Callable:
    """The application with the pipeline of ``[api] api_paste_config``.

    :raises exception.ConfigInvalid: the file is missing, or an option has a
        value of a wrong type.
    """
    option_values.check(CONF, 'api', 'database', 'placement',
                        'upgrade_levels')
    database_url.check(CONF)
    config.set_api_defaults()
    path = paste_file()
    LOG.info('The API\'s pipeline is that of %s.', path)
    loaded = deploy.loadapp('config:' + path, name='main')
    if rpc.initialized():
        service.look_at_broker(constants.CONDUCTOR_TOPIC)
    return loaded

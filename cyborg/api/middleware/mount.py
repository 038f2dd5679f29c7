# SPDX-License-Identifier: Apache-2.0
"""Where links lead to, and that somebody answers there.

Links have always been below ``/accelerator``, wherever the application was
mounted. A server that mounts it at ``/`` is asked there as well.
"""

from collections.abc import Mapping

PREFIX = '/accelerator'


def below_prefix(environ: Mapping) -> Mapping:
    """The request as it would come to an application at ``PREFIX``.

    The same request when the application is mounted below some path already,
    or is asked for another one.
    """
    path = environ.get('PATH_INFO') or '/'
    if environ.get('SCRIPT_NAME', '').strip('/') or not (
            path == PREFIX or path.startswith(PREFIX + '/')):
        return environ
    return {**environ, 'SCRIPT_NAME': PREFIX,
            'PATH_INFO': path[len(PREFIX):] or '/'}


def base_url(host_url: str, script_name: str,
             public_endpoint: str | None) -> str:
    """What all links start with.

    :param host_url: ``scheme://host[:port]`` of the request
    :param script_name: where a server has mounted the application
    :param public_endpoint: the option, with the prefix or without it
    """
    if public_endpoint:
        return public_endpoint.rstrip('/').removesuffix(PREFIX) + PREFIX
    return host_url.rstrip('/') + (script_name.rstrip('/') or PREFIX)


class BelowPrefix:
    """WSGI middleware around the application."""

    def __init__(self, app):
        self._app = app

    def __call__(self, environ, start_response):
        return self._app(below_prefix(environ), start_response)

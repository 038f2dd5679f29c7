# SPDX-License-Identifier: Apache-2.0
"""Refuses requests that Pecan and WebOb fail to read.

They read path, arguments and body before a controller has a say, and log a
traceback for what is the client's mistake.
"""

import json

import webob
import webob.exc

from cyborg.common.i18n import _


def refusal(request: webob.Request) -> webob.exc.HTTPException | None:
    """The answer to a request that cannot be read, or None."""
    try:
        request.path_info  # noqa: B018 (decodes)
        names = list(request.params)
    except UnicodeDecodeError:
        return webob.exc.HTTPBadRequest(_('The URL is not UTF-8.'))
    except ValueError as error:
        # A multipart body that is none.
        return webob.exc.HTTPUnsupportedMediaType(str(error))
    if '_method' in names:
        # Pecan would take its value for the method, and even for the name of
        # a method of the controller.
        return webob.exc.HTTPMethodNotAllowed(
            _('The argument _method is not supported.'))
    return _bad_body(request)


def _bad_body(request) -> webob.exc.HTTPException | None:
    if 'json' not in request.content_type:
        return None
    try:
        json.loads(request.body.decode() or 'null')
    except UnicodeDecodeError:
        return webob.exc.HTTPBadRequest(_('The body is not UTF-8.'))
    except RecursionError:
        return webob.exc.HTTPBadRequest(_('The body is nested too deeply.'))
    except ValueError:
        # WSME tells about it, in the form of a controller's error.
        return None
    return None

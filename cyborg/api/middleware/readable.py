# SPDX-License-Identifier: Apache-2.0
"""Refuses requests that Pecan and WebOb fail to read.

They read path, arguments and body before a controller has a say, and log a
traceback for what is the client's mistake.
"""

import json
import logging

from oslo_middleware import sizelimit
import webob
import webob.exc

from cyborg.common.i18n import _

LOG = logging.getLogger(__name__)

#: Bytes of a body. A thousand accelerator requests to bind, the most that a
#: profile asks for, take half a megabyte.
MAX_BODY = 2 * 1024 * 1024


def refusal(request: webob.Request) -> webob.exc.HTTPException | None:
    """The answer to a request that cannot be read, or None."""
    return (_unread_body(request) or _unknown_encoding(request)
            or _bad_names(request) or _bad_body(request))


def _unread_body(request) -> webob.exc.HTTPException | None:
    """Fetch the body; servers check it only while it is read."""
    if (request.content_length or 0) > MAX_BODY:
        return _too_large()
    if request.content_length is None and request.is_body_readable:
        request.body_file = sizelimit.LimitingReader(
            request.body_file_raw, MAX_BODY)
        request.is_body_readable = True
    try:
        request.make_body_seekable()
    except webob.exc.HTTPRequestEntityTooLarge:
        return _too_large()
    # Cut off, or chunks that are none: each server has its own errors.
    except Exception as error:  # noqa: BLE001
        LOG.debug('A body cannot be read: %r', error)
        return webob.exc.HTTPBadRequest(_('The body cannot be read.'))
    return None


def _too_large():
    return webob.exc.HTTPRequestEntityTooLarge(
        _('The body is longer than %d bytes.') % MAX_BODY)


def _unknown_encoding(request) -> webob.exc.HTTPException | None:
    if not request.body:
        return None
    try:
        # An empty text would need no codec at all.
        b'text'.decode(request.charset)
    except (LookupError, ValueError):
        return webob.exc.HTTPUnsupportedMediaType(
            _('The charset of the Content-Type is unknown.'))
    return None


def _bad_names(request) -> webob.exc.HTTPException | None:
    try:
        request.path_info  # noqa: B018 (decodes)
        names = list(request.params)
    except UnicodeDecodeError:
        return webob.exc.HTTPBadRequest(_('The URL is not UTF-8.'))
    except DeprecationWarning:
        # WebOb's way to refuse a form in another encoding.
        return webob.exc.HTTPUnsupportedMediaType(_('A form has to be UTF-8.'))
    except ValueError as error:
        # A multipart body that is none.
        return webob.exc.HTTPUnsupportedMediaType(str(error))
    if '_method' in names:
        # Pecan would take its value for the method, and even for the name of
        # a method of the controller.
        return webob.exc.HTTPMethodNotAllowed(
            _('The argument _method is not supported.'))
    return None


def _bad_body(request) -> webob.exc.HTTPException | None:
    if 'json' not in request.content_type:
        return None
    try:
        # Pecan reads it in the encoding that the client names, WSME as UTF-8.
        request.body.decode(request.charset)
        json.loads(request.body.decode() or 'null')
    except UnicodeDecodeError:
        return webob.exc.HTTPBadRequest(_('The body is not UTF-8.'))
    except RecursionError:
        return webob.exc.HTTPBadRequest(_('The body is nested too deeply.'))
    except ValueError:
        # WSME tells about it, in the form of a controller's error.
        return None
    return None

# SPDX-License-Identifier: Apache-2.0
"""Refuses requests that Pecan and WebOb fail to read.

They read path, arguments and body before a controller has a say, and log a
traceback for what is the client's mistake.
"""

import logging

from oslo_middleware import sizelimit
import webob
import webob.exc

from cyborg.api import bodies
from cyborg.common.i18n import _

LOG = logging.getLogger(__name__)

#: Arguments in a URL. Lists of names and UUIDs are one argument each.
MAX_ARGUMENTS = 100


def refusal(request: webob.Request) -> webob.exc.HTTPException | None:
    """The answer to a request that cannot be read, or None."""
    return (_unread_body(request) or _unknown_encoding(request)
            or _bad_names(request))


def _unread_body(request) -> webob.exc.HTTPException | None:
    """Fetch the body; servers check it only while it is read."""
    most = bodies.MAX_FORM if bodies.is_form(request) else bodies.MAX_BODY
    if (request.content_length or 0) > most:
        return _too_large(most)
    if request.content_length is None and request.is_body_readable:
        request.body_file = sizelimit.LimitingReader(
            request.body_file_raw, most)
        request.is_body_readable = True
    try:
        request.make_body_seekable()
    except webob.exc.HTTPRequestEntityTooLarge:
        return _too_large(most)
    # Cut off, or chunks that are none: each server has its own errors.
    except Exception as error:  # noqa: BLE001
        LOG.debug('A body cannot be read: %r', error)
        return webob.exc.HTTPBadRequest(_('The body cannot be read.'))
    return None


def _too_large(most: int):
    return webob.exc.HTTPRequestEntityTooLarge(
        _('The body is longer than %d bytes.') % most)


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
    if request.query_string.count('&') >= MAX_ARGUMENTS:
        # What reads them compares each with each.
        return webob.exc.HTTPBadRequest(
            _('The URL has more than %d arguments.') % MAX_ARGUMENTS)
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
    if len(names) > MAX_ARGUMENTS:
        return webob.exc.HTTPBadRequest(
            _('The form has more than %d fields.') % MAX_ARGUMENTS)
    if '_method' in names:
        # Pecan would take its value for the method, and even for the name of
        # a method of the controller.
        return webob.exc.HTTPMethodNotAllowed(
            _('The argument _method is not supported.'))
    return None

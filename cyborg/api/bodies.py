# SPDX-License-Identifier: Apache-2.0
"""The body of a request: kept from the frameworks, and read within bounds.

Pecan and WSME would each read it, before anybody has asked who the caller is
and with no limit to what is in it. Here it waits until policy has had its
say, and costs no more than a request of the largest sensible size.
"""

import webob
import wsme.exc

from cyborg.common.i18n import _

#: Bytes of a body. A thousand accelerator requests to bind, the most that a
#: profile asks for, take 400,000.
MAX_BODY = 512 * 1024
#: Bytes of a form. No request of this API is one.
MAX_FORM = 4 * 1024
#: Lists and objects in a body; those thousand requests have 5,000.
MAX_CONTAINERS = 8_000
#: Members of them; those thousand requests have 13,000, and a text that a
#: column can hold has less than this many commas.
MAX_MEMBERS = 70_000

_FORMS = ('', 'application/x-www-form-urlencoded', 'multipart/form-data')
_KEPT = 'cyborg.body'


def is_form(request: webob.Request) -> bool:
    """Whether WebOb takes the body for a form."""
    return request.content_type in _FORMS


def hide(request: webob.Request) -> None:
    """Keep a body for :func:`kept`, out of the sight of all others."""
    request.environ[_KEPT] = request.body
    request.environ['CONTENT_LENGTH'] = '0'
    request.body = b''


def kept(request: webob.Request) -> bytes:
    """The body as it came."""
    return request.environ.get(_KEPT) or request.body


def check_json(raw: bytes, charset: str) -> None:
    """Refuse what would take long to read, and what is no text.

    Counts characters, also those inside of texts: nothing has been read yet.

    :raises wsme.exc.ClientSideError: more than any sensible request has;
        neither UTF-8 nor what the client says it is.
    """
    if (raw.count(b'[') + raw.count(b'{') > MAX_CONTAINERS
            or raw.count(b',') > MAX_MEMBERS):
        raise wsme.exc.ClientSideError(
            _('The body has more than %(containers)d lists and objects, or '
              'more than %(members)d members.')
            % {'containers': MAX_CONTAINERS, 'members': MAX_MEMBERS}, 413)
    try:
        raw.decode(charset)
        raw.decode()
    except UnicodeDecodeError:
        raise wsme.exc.ClientSideError(_('The body is not UTF-8.')) from None

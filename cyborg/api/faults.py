# SPDX-License-Identifier: Apache-2.0
"""What a client is told about an error.

An answer's text never holds SQL, a traceback or a file path: an error that
none of the rules below knows is logged with its traceback and answered with
the id of the request alone.
"""

import dataclasses
import json
import logging

from oslo_db import exception as db_exc
import oslo_messaging
import wsme.exc

from cyborg.common import exception
from cyborg.common.i18n import _
from cyborg.db import server

LOG = logging.getLogger(__name__)


#: Their text says all: what is unavailable, or which row has to be repaired.
_EXPLAINED = (exception.ServiceUnavailable, exception.AttachInfoInvalid)


@dataclasses.dataclass(frozen=True)
class Fault:
    """An error as it goes to the client.

    :ivar status: HTTP status.
    :ivar text: one or more lines for a person.
    :ivar unexpected: True when the error is a fault of this service, which
        the log has to tell with a traceback.
    """

    status: int
    text: str
    unexpected: bool = False

    @property
    def code(self) -> str:
        return 'Client' if self.status < 500 else 'Server'

    def document(self) -> dict:
        """The JSON document that goes into ``error_message``."""
        return {'faultcode': self.code, 'faultstring': self.text,
                'debuginfo': None}


def fault(error: BaseException, request_id: str | None = None) -> Fault:
    """What the client is told about ``error``."""
    if isinstance(error, wsme.exc.ClientSideError):
        return Fault(error.code, error.faultstring)
    if isinstance(error, exception.CyborgException):
        status = int(error.code)
        return Fault(status, exception.plain_text(error),
                     unexpected=status >= 500 and not isinstance(
                         error, _EXPLAINED))
    if _is_a(error, oslo_messaging.MessagingTimeout):
        return Fault(503, _('No conductor or agent answered in time. Try '
                            'again later.'))
    if _is_a(error, oslo_messaging.UnsupportedVersion):
        return Fault(503, _('A conductor of an older release answered. The '
                            'conductors have to be upgraded before the API '
                            'services; until they are, [upgrade_levels] '
                            'conductor of the API services has to name the '
                            'older release.'))
    if _is_a(error, oslo_messaging.MessageDeliveryFailure):
        return Fault(503, _('The message bus cannot be reached. Try again '
                            'later.'))
    if _is_a(error, db_exc.DBConnectionError):
        return Fault(503, _('The database cannot be reached. Try again '
                            'later.'))
    if _is_a(error, db_exc.DBDeadlock):
        return Fault(503, _('Too many requests change the same rows of the '
                            'database. Try again later.'))
    if _is_a(error, db_exc.DBDataError):
        return Fault(400, _('A value of the request cannot be stored: it is '
                            'too long, out of range, or has a character that '
                            'the database does not take.'))
    return Fault(500, _('An unexpected error prevented the service from '
                        'answering. The log has the details under the id of '
                        'the request, %s.') % (request_id or _('(none)')),
                 unexpected=True)


def _is_a(error: BaseException, kind: type[Exception]) -> bool:
    """Whether it is one of a kind, here or in the conductor that told it."""
    return isinstance(error, kind) or (
        isinstance(error, oslo_messaging.RemoteError)
        and error.exc_type == kind.__name__)


def report(error: BaseException, found: Fault) -> None:
    """Log an error. Clients' mistakes leave no traceback behind."""
    if found.unexpected:
        LOG.error('Request failed with status %(status)s: %(error)s',
                  {'status': found.status, 'error': type(error).__name__},
                  exc_info=error)
    elif found.status >= 500:
        LOG.warning('Request failed: status %(status)s, %(text)s (%(cls)s)',
                    {'status': found.status,
                     'text': _for_operators(error, found),
                     'cls': type(error).__name__})
    else:
        LOG.debug('Request refused with status %(status)s: %(text)s',
                  {'status': found.status, 'text': found.text})


def _for_operators(error: BaseException, found: Fault) -> str:
    """One line; with addresses within the cloud that no client is told."""
    if isinstance(error, db_exc.DBConnectionError):
        return server.away(error).message
    return ' '.join(found.text.split('\n'))


def envelope(text: str) -> bytes:
    """The body of every error of the API: text inside a JSON document."""
    return json.dumps({'error_message': text}).encode()

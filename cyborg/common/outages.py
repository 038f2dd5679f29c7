# SPDX-License-Identifier: Apache-2.0
"""One line for a database or a message broker that is lost at run time.

The libraries tell it with tracebacks, or with an address that stands in no
configuration, and again at each of their attempts. What an operator needs is
the option, its value and what to do.
"""

from collections.abc import Callable
from collections.abc import Iterator
import logging
import re
import sys
import time

from amqp import exceptions as amqp_exc
import oslo_messaging as messaging

from cyborg.common import broker
from cyborg.common.i18n import _

#: Seconds in which the same is not said again.
PAUSE = 60
_MESSAGING = ('oslo_messaging.', 'oslo.messaging.')
#: Its threads end in a function of oslo.utils that starts them anew.
_OTHERS = ('oslo_utils.', 'oslo_db.')
#: What these say names the work that is not done, which nothing else tells.
_OWN = 'cyborg.'
_NUMBER = re.compile('[0-9]+')


class Outages(logging.Filter):
    """For the handlers of a process's log.

    A record of a library about a lost connection becomes one line without
    traceback; the same line is let through once in :data:`PAUSE` seconds.
    A record of this project keeps its text, is always let through, and has
    that line in place of the traceback.

    :param conf: options of this process.
    :param clock: seconds, for the pause.
    """

    def __init__(self, conf, clock: Callable[[], float] = time.monotonic):
        super().__init__()
        self._conf = conf
        self._clock = clock
        self._said: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        # Each handler asks; the first decides.
        if not hasattr(record, 'outage_shown'):
            text = self._text(record)
            own = record.name.startswith(_OWN)
            record.outage_shown = text is None or own or self._is_due(text)
            if text is not None:
                if own:
                    text = '%s %s' % (record.getMessage(), text)
                record.msg, record.args = text, ()
                record.exc_info = record.exc_text = None
        return record.outage_shown

    def _is_due(self, text: str) -> bool:
        now, text = self._clock(), _NUMBER.sub('', text)
        self._said = {each: when for each, when in self._said.items()
                      if now - when < PAUSE}
        if text in self._said:
            return False
        self._said[text] = now
        return True

    def _text(self, record: logging.LogRecord) -> str | None:
        """What to say of the outage; None for records of something else."""
        from_messaging = record.name.startswith(_MESSAGING)
        if record.levelno < logging.WARNING or not (
                from_messaging
                or record.name.startswith((*_OTHERS, _OWN))):
            return None
        # What a method raises that was called over RPC may be any OSError.
        of_driver = from_messaging and '._drivers.' in record.name
        for error in _errors(record, of_driver):
            if type(error).__name__ == 'DBConnectionError':
                return self._database(error)
            if isinstance(error, amqp_exc.AMQPError) or (
                    of_driver and isinstance(error, OSError)):
                return self._broker(error, record)
        return None

    def _database(self, error: BaseException) -> str | None:
        if 'database' not in self._conf:
            return None
        # Compute hosts have no database, and do not import its library.
        from cyborg.common import database_url
        cause = getattr(getattr(error, 'inner_exception', None), 'orig',
                        None) or error
        reason = (cause.args or (cause,))[-1]
        url = self._conf.database.connection
        return _('[database] connection = %(url)s of host %(host)s: the '
                 'connection is lost (%(reason)s). Start the server, or '
                 'correct user, password, host and name of the database in '
                 'the URL; until then requests that need it fail.') % {
                     'url': database_url.shown(url), 'host': self._conf.host,
                     'reason': database_url.without_password(
                         ' '.join(str(reason).split()), url)}

    def _broker(self, error: BaseException, record: logging.LogRecord) -> str:
        place = _place(record)
        hosts = [(option, url, host) for option, url in self._brokers()
                 for host in url.hosts]
        found = [each for each in hosts
                 if (each[2].hostname, each[2].port or broker.PORT) == place]
        if place is None and len({option for option, *_ in hosts}) == 1:
            found = hosts
        if not found:
            # Which of several it is nobody says.
            return _('A connection of host %(host)s to the message broker '
                     '%(place)sis lost: %(reason)s. It is tried again by '
                     'itself.') % {
                         'host': self._conf.host,
                         'place': '%s:%s ' % place if place else '',
                         'reason': ' '.join(str(error).split()).rstrip('.')}
        option, url, host = found[0]
        return _('%(option)s = %(url)s of host %(host)s: the connection is '
                 'lost. %(reason)s It is tried again by itself.') % {
                     'option': option, 'url': broker.shown(url),
                     'host': self._conf.host,
                     'reason': broker.reason(error, url, host, self._conf)}

    def _brokers(self) -> Iterator[tuple[str, messaging.TransportURL]]:
        """Options that name a broker, each with its value."""
        yield broker.OPTION, messaging.TransportURL.parse(self._conf)
        group = 'oslo_messaging_notifications'
        if group in self._conf and self._conf[group].transport_url:
            yield broker.NOTIFICATIONS, messaging.TransportURL.parse(
                self._conf, self._conf[group].transport_url)


def _place(record: logging.LogRecord) -> tuple[str, int] | None:
    """Host and port that a record of the driver names."""
    found = record.args if isinstance(record.args, dict) else {}
    if 'hostname' not in found:
        return None
    return found['hostname'], found.get('port')


def _errors(record: logging.LogRecord, handled: bool
            ) -> Iterator[BaseException]:
    """The errors that a record is about, each with its causes.

    :param handled: look also at the one that is handled where it is logged.
    """
    given = [record.exc_info[1]] if record.exc_info else []
    if isinstance(record.args, dict):
        given += record.args.values()
    elif record.args:
        given += record.args
    if handled:
        given.append(sys.exc_info()[1])
    for error in given:
        seen: set[int] = set()
        while isinstance(error, BaseException) and id(error) not in seen:
            seen.add(id(error))
            yield error
            error = error.__cause__ or error.__context__

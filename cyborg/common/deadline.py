# SPDX-License-Identifier: Apache-2.0
"""Calls that nobody waits for any more are not carried out.

Who calls another process waits for the answer for some time, and then takes
the call for failed: it asks again, or has what it asked for deleted. A call
that is carried out after that would undo what was done since. So the time
until which the caller waits travels with it (``RequestContext.not_after``),
and is looked at

* where a method begins, and before a call that follows from it is sent on;
* in each transaction that writes, when it begins, and once more when all its
  locks are held, just before it is committed (``cyborg.db.api.writer``). What
  the caller does after it gave up has to wait for these locks.

It is a time of the clock, since a message may wait in a queue, and a process
or a whole machine may stand still: the clocks of the hosts have to agree.

Reports of hosts are in an order of their own, see
``cyborg.db.report_order``, and carry no such time.
"""

from collections.abc import Callable
import datetime
import functools
import time
from typing import TypeVar

from cyborg.common import context as cyborg_context
from cyborg.common import exception
from cyborg.conf import CONF

_F = TypeVar('_F', bound=Callable)


def now() -> float:
    """Seconds since the epoch, by the clock of this host."""
    return time.time()


def passed(context: cyborg_context.RequestContext) -> bool:
    """Whether nobody waits for what is done for ``context``."""
    not_after = getattr(context, 'not_after', None)
    return not_after is not None and now() > not_after


def check(context: cyborg_context.RequestContext) -> None:
    """:raises exception.CallTooLate: nobody waits for what is being done."""
    if passed(context):
        raise exception.CallTooLate(
            host=CONF.host, now=_words(now()),
            not_after=_words(context.not_after))


def in_time(method: _F) -> _F:
    """Refuse calls of an RPC method for which nobody waits.

    :raises exception.CallTooLate: by the method, before anything is done.
    """

    @functools.wraps(method)
    def wrapper(self, context, *args, **kwargs):
        check(context)
        return method(self, context, *args, **kwargs)

    return wrapper


def _words(moment: float) -> str:
    return datetime.datetime.fromtimestamp(
        moment, datetime.UTC).isoformat(' ', 'milliseconds')

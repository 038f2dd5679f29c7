# SPDX-License-Identifier: Apache-2.0
"""Answers a report that takes long before it is over, and lets it go on.

A host that reports thousands of functions for the first time takes longer
than an agent waits for an answer. It would think that there is no conductor.
"""

from collections.abc import Callable
from concurrent import futures
import contextvars
import logging
import threading

from cyborg.common import context as cyborg_context
from cyborg.common import exception

LOG = logging.getLogger(__name__)


class Patience:
    """One per conductor.

    :param seconds: how long a report is waited for; None for as long as it
        takes.
    """

    def __init__(self, seconds: float | None = None):
        self._seconds = seconds
        self._lock = threading.Lock()
        self._going_on: set[threading.Thread] = set()

    def wait(self, context: cyborg_context.RequestContext, hostname: str,
             work: Callable[[], None]) -> None:
        """Do the work; return when it is over, or takes too long.

        :raises Exception: what the work raised in time. What it raises later
            the log says.
        """
        if self._seconds is None:
            work()
            return
        outcome: futures.Future[None] = futures.Future()

        def run() -> None:
            context.update_store()
            try:
                work()
                outcome.set_result(None)
            except BaseException as error:  # noqa: BLE001
                outcome.set_exception(error)
            finally:
                with self._lock:
                    self._going_on.discard(thread)

        thread = threading.Thread(
            target=contextvars.copy_context().run, args=(run,),
            name='report of ' + hostname)
        with self._lock:
            self._going_on.add(thread)
        thread.start()
        done, _ = futures.wait([outcome], self._seconds)
        if done:
            outcome.result()
            return
        LOG.info('The report of host %s goes on; it is answered before it is '
                 'over, since it takes longer than %g s.', hostname,
                 self._seconds)
        outcome.add_done_callback(lambda over: _tell(hostname, over))

    def stop(self) -> None:
        """Wait for what goes on."""
        with self._lock:
            left = list(self._going_on)
        for thread in left:
            thread.join()


def _tell(hostname: str, over: 'futures.Future[None]') -> None:
    error = over.exception()
    if error is None or isinstance(error, exception.ReportOutdated):
        # The log has it.
        return
    if isinstance(error, exception.CyborgException):
        LOG.error('The report of host %s failed after it was answered; the '
                  'next one tries again: %s', hostname,
                  exception.plain_text(error))
        return
    LOG.error('The report of host %s failed after it was answered; the next '
              'one tries again.', hostname, exc_info=error)

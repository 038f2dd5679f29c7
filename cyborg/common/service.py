# SPDX-License-Identifier: Apache-2.0
"""Long-running processes: start, wait for what is needed, end in order.

``RPCService`` is what conductor and agent consist of; ``run`` keeps one in
the main process until it is told to stop. ``wait_for`` is for what has to
answer before a service can work.
"""

from collections.abc import Callable
import logging
import os
import signal
import sys
import threading
import time
from typing import Any

from oslo_config import cfg
import oslo_messaging as messaging
from oslo_service import opts as service_opts
from oslo_service import service
import tenacity

from cyborg.common import broker
from cyborg.common import exception
from cyborg.common import rpc
from cyborg.conf import CONF

LOG = logging.getLogger(__name__)

# Longest pause between two looks at something that does not answer (seconds).
MAX_PAUSE = 30
# Seconds between two looks whether a signal has come.
_SIGNAL_PAUSE = 0.5
#: Seconds that work in hand has to end while the broker is away.
BROKER_PATIENCE = 3


class StopRequested(exception.CyborgException):
    """The process was told to end while it waited for something."""

    _msg_fmt = 'Told to stop while waiting for %(what)s.'


def wait_for(what: str, check: Callable,
             retry_on: type[Exception] | tuple[type[Exception], ...],
             stopping: threading.Event | None = None,
             max_pause: float = MAX_PAUSE) -> Any:
    """Call ``check`` until it does not raise one of ``retry_on``.

    The pauses double from one second to ``max_pause``. A warning tells what
    is waited for, again only when the reason changes.

    :param what: for the log, such as "the database"
    :param check: its result is returned
    :param retry_on: errors that may go away; all others are raised at once
    :param stopping: when it is set the wait ends
    :raises StopRequested: ``stopping`` was set
    """
    stopping = stopping or threading.Event()
    reasons: list[str] = []
    started = time.monotonic()

    def tell(state: tenacity.RetryCallState) -> None:
        reason = exception.plain_text(state.outcome.exception())
        if reasons and reasons[-1] == reason:
            LOG.info('Still waiting for %(what)s, %(seconds)d s so far.',
                     {'what': what, 'seconds': time.monotonic() - started})
            return
        reasons.append(reason)
        LOG.warning('Waiting for %(what)s: %(reason)s',
                    {'what': what, 'reason': reason})

    if stopping.is_set():
        raise StopRequested(what=what)
    attempts = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(retry_on),
        wait=tenacity.wait_exponential(min=min(1, max_pause), max=max_pause),
        sleep=tenacity.sleep_using_event(stopping),
        stop=tenacity.stop_when_event_set(stopping),
        before_sleep=tell)
    try:
        result = attempts(check)
    except tenacity.RetryError:
        raise StopRequested(what=what) from None
    if reasons:
        LOG.info('%(what)s answers, after %(seconds)d s.',
                 {'what': what, 'seconds': time.monotonic() - started})
    return result


def wait_for_broker(topic: str, stopping: threading.Event | None = None,
                    conf: cfg.ConfigOpts | None = None,
                    url: messaging.TransportURL | None = None,
                    option: str = broker.OPTION) -> None:
    """Wait until one host of the transport URL can be worked with.

    oslo.messaging would wait too, but nothing could interrupt it.

    :param topic: of the service
    :param conf: options of the messaging library; the transport's if left
        out
    :param url: of a broker for notifications alone, which ``option`` names
    :raises StopRequested: ``stopping`` was set
    """
    conf = conf or rpc.get_transport().conf
    url = url or messaging.TransportURL.parse(conf)
    wait_for('the message broker',
             lambda: broker.check(url, topic, conf, option),
             broker.BrokerUnusable, stopping)


def look_at_broker(topic: str) -> None:
    """Warn once where the broker is of no use, and do not wait for it.

    For a service that can do something without it.
    """
    conf = rpc.get_transport().conf
    try:
        broker.check(messaging.TransportURL.parse(conf), topic, conf)
    except broker.BrokerUnusable as error:
        text = error.message
    else:
        return
    # Outside of the handler, where the log formatter would repeat it.
    LOG.warning('What needs the other services is refused for now: %s', text)


def broker_answers() -> bool:
    """Whether the broker can be worked with just now."""
    conf = rpc.get_transport().conf
    try:
        broker.check(messaging.TransportURL.parse(conf), rpc.CONTROL_EXCHANGE,
                     conf)
    except broker.BrokerUnusable:
        return False
    return True


class RPCService(service.Service):
    """An RPC server on one topic, with what goes on before and beside it.

    :param name: for logs, such as ``cyborg-agent``
    :param topic: RPC topic
    :param endpoint: object whose public methods are served
    :param serializer: of arguments and results
    :param host: server name; ``[DEFAULT] host`` when left out
    :param version: newest RPC version that ``endpoint`` serves, used unless
        the endpoint has a ``target`` of its own
    :param prepare: called before anything is served; may wait (give
        ``stopping`` to ``wait_for``) and may raise to refuse the start
    :param periodic: called every ``[DEFAULT] periodic_interval`` seconds
        after the start; an error is logged and the next call still comes
    :param stopping: set once the service was told to end
    """

    def __init__(self, name: str, topic: str, endpoint: object, *,
                 serializer: messaging.Serializer | None = None,
                 host: str | None = None,
                 version: str = '1.0',
                 prepare: Callable[[], None] | None = None,
                 periodic: Callable[[], None] | None = None,
                 stopping: threading.Event | None = None):
        super().__init__()
        self.name = name
        self.host = host or CONF.host
        self.stopping = stopping or threading.Event()
        self._target = messaging.Target(topic=topic, server=self.host,
                                        version=version)
        self._endpoint = endpoint
        self._serializer = serializer
        self._prepare = prepare
        self._periodic = periodic
        self._server = None
        self._periodic_thread = None

    def start(self) -> None:
        """Prepare, then serve.

        :raises StopRequested: told to stop while waiting for something
        """
        wait_for_broker(self._target.topic, self.stopping)
        if self._prepare is not None:
            self._prepare()
        self._server = rpc.get_server(self._target, [self._endpoint],
                                      self._serializer)
        self._server.start()
        if self._periodic is not None:
            self._periodic_thread = threading.Thread(
                target=self._call_periodically, name=self.name + '-periodic',
                daemon=True)
            self._periodic_thread.start()
        LOG.info('%(name)s on host %(host)s serves topic %(topic)s.',
                 {'name': self.name, 'host': self.host,
                  'topic': self._target.topic})

    def _call_periodically(self) -> None:
        # A timer of the library cannot be interrupted while it pauses, which
        # would keep a stopping process for up to one interval.
        # Zero was never refused, and must not mean a loop without a pause.
        interval = max(1, CONF.periodic_interval)
        due = time.monotonic() + interval
        while not self.stopping.wait(max(0, due - time.monotonic())):
            due = time.monotonic() + interval
            try:
                self._periodic()
            except Exception:
                LOG.exception('The periodic task of %s failed; it runs again '
                              'in %s s.', self.name, interval)

    def stop(self, graceful: bool = True) -> None:
        """Take no new work, and finish the work in hand."""
        self.stopping.set()
        served = self._server is not None
        if served:
            self._server.stop()
            self._server.wait()
            self._server = None
        if self._periodic_thread is not None:
            self._periodic_thread.join()
            self._periodic_thread = None
        super().stop(graceful)
        if served:
            LOG.info('%(name)s on host %(host)s has stopped.',
                     {'name': self.name, 'host': self.host})

    def wait(self) -> None:
        self.stopping.wait()
        super().wait()


def wait_for_signal(stopping: threading.Event) -> None:
    """Wait in the main thread for what a signal handler sets.

    The system may give a signal to any thread, and Python calls the handler
    in the main one, once that runs: it would sleep on in a wait without end.

    :param stopping: set by the handler, or by another thread
    """
    while not stopping.wait(_SIGNAL_PAUSE):
        pass


def run(running: RPCService) -> int:
    """Keep a service in this process until SIGTERM or SIGINT.

    The library's launchers fork and start a dead child again, so that a
    refused start would be tried for ever; this one ends with the reason.

    :returns: the exit status: 0 after a stop that was asked for, 1 when the
        service refused to start, each with one line in the log
    """
    service_opts.register_service_opts(CONF)
    outcome: list[BaseException] = []

    def start():
        try:
            running.start()
        except StopRequested as error:
            LOG.info('%s: %s', running.name, error.message)
        except exception.CyborgException as error:
            outcome.append(error)
        except Exception as error:
            outcome.append(error)
            LOG.exception('%s failed to start.', running.name)
        if not outcome:
            return
        if isinstance(outcome[0], exception.CyborgException):
            # Outside of the handler, where the log formatter would repeat
            # the text behind the message: one line for the operator.
            LOG.critical('%(name)s on host %(host)s cannot start: %(reason)s',
                         {'name': running.name, 'host': running.host,
                          'reason': outcome[0].message})
        running.stopping.set()

    def on_signal(number, _frame):
        if running.stopping.is_set():
            return
        running.stopping.set()
        # A second Ctrl-C ends the process at once. SIGTERM does not: some
        # supervisors send it to the process and to its group.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        deadline.start()

    def give_up():
        LOG.error('%s did not finish its work within [DEFAULT] '
                  'graceful_shutdown_timeout (%s s).', running.name,
                  CONF.graceful_shutdown_timeout)
        logging.shutdown()
        os._exit(1)

    deadline = threading.Timer(CONF.graceful_shutdown_timeout or
                               threading.TIMEOUT_MAX, give_up)
    deadline.daemon = True
    signal.signal(signal.SIGTERM, on_signal)
    signal.signal(signal.SIGINT, on_signal)
    # Signals are handled by the main thread, so it must not be the one that
    # waits inside a library.
    starter = threading.Thread(target=start, name=running.name + '-start',
                               daemon=True)
    starter.start()
    wait_for_signal(running.stopping)
    stopper = threading.Thread(target=running.stop, name=running.name +
                               '-stop', daemon=True)
    if not (_ends(starter) and _ends(stopper, start=True)):
        # The library tries to reach the broker before it looks whether it
        # is to stop, and cannot be interrupted.
        LOG.warning('%s ends without waiting for the message broker, which '
                    'is away.', running.name)
        logging.shutdown()
        os._exit(1 if outcome else 0)
    rpc.cleanup()
    deadline.cancel()
    sys.stdout.flush()
    return 1 if outcome else 0


def _ends(thread: threading.Thread, start: bool = False) -> bool:
    """Wait for a thread; False when it waits for a broker that is away."""
    if start:
        thread.start()
    thread.join(BROKER_PATIENCE)
    while thread.is_alive():
        if not broker_answers():
            return False
        thread.join(1)
    return True

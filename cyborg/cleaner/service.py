# SPDX-License-Identifier: Apache-2.0
"""The processes ``cyborg-cleaner`` and ``cyborg-cleaner-listener``."""

import os
import threading
import time
from typing import Any

from oslo_config import cfg
from oslo_log import log as logging
import oslo_messaging as messaging

from cyborg.cleaner import journal as cleaner_journal
from cyborg.cleaner import listener
from cyborg.cleaner import loop
from cyborg.cleaner import rpcapi
from cyborg.cleaner import selection
from cyborg.cleaner import view as placement_view
from cyborg.cleaning import records
from cyborg.common import broker
from cyborg.common import context
from cyborg.common import exception
from cyborg.common import option_values
from cyborg.common import rpc
from cyborg.common import service
from cyborg.common.i18n import _
from cyborg.conf import CONF
from cyborg.nvme import erase
from cyborg.nvme import port as nvme_port
from cyborg.placement import tree

LOG = logging.getLogger(__name__)

NAME = 'cyborg-cleaner'
LISTENER = 'cyborg-cleaner-listener'
#: Seconds to the next look where something passes by itself.
_SOON = 5


def provider_names(conf: cfg.ConfigOpts) -> list[str]:
    """Names that the host's provider may have, the preferred one first."""
    names = [conf.agent.resource_provider_name, conf.host]
    if not conf.host.replace('.', '').isdigit():
        names.append(conf.host.partition('.')[0])
    return list(dict.fromkeys(name for name in names if name))


def check_options(conf: cfg.ConfigOpts) -> None:
    """:raises exception.OptionInvalid: a value can't be used."""
    option_values.check(conf, 'cleaner', 'nvme')
    own = conf.cleaner
    for name in ('notification_exchange', 'notification_pool'):
        if not own[name].strip():
            # Without a pool of its own it would take messages from others.
            raise option_values.refused(conf, 'cleaner', name, _('a name'))
    if not own.notification_topics or not all(own.notification_topics):
        raise option_values.refused(conf, 'cleaner', 'notification_topics',
                                    _('at least one name'))
    for name in ('journal_path', 'metrics_file'):
        if own[name] is not None and not os.path.isabs(own[name]):
            raise option_values.refused(conf, 'cleaner', name,
                                        _('an absolute path'))


def settings(conf: cfg.ConfigOpts) -> loop.Settings:
    """:raises exception.OptionInvalid: see :func:`check_options`."""
    check_options(conf)
    own = conf.cleaner
    return loop.Settings(
        conf.host, records.Options(own.settle_seconds, own.unknown),
        erase.Limits(restore=own.namespaces == 'restore',
                     pin_firmware=own.firmware == 'pin',
                     max_percentage_used=own.max_percentage_used),
        own.concurrency, own.verify_samples, conf.nvme.cleanup_timeout,
        own.metrics_file)


def build(conf: cfg.ConfigOpts, disks: nvme_port.Host,
          client: tree.TreeClient | None = None, **others: Any
          ) -> loop.Cleaner:
    """A cleaner with the options of a configuration.

    :param others: see :class:`loop.Cleaner`.

    :raises exception.CyborgException: an option is wrong.
    """
    found = settings(conf)
    view = placement_view.PlacementView(
        client or tree.TreeClient(), conf.host, provider_names(conf))
    return loop.Cleaner(
        found, selection.load(conf), disks, cleaner_journal.Journal(
            conf.cleaner.journal_path, conf.host), view, **others)


class _Endpoint:
    target = messaging.Target(version=rpcapi.VERSION)

    def __init__(self, cleaner: loop.Cleaner):
        self._cleaner = cleaner

    def hint(self, context) -> None:
        self._cleaner.hint()


class CleanerService:
    """The loop, and what listens for hints beside it.

    Has what :func:`cyborg.common.service.run` needs of a service.
    """

    name = NAME

    def __init__(self, cleaner: loop.Cleaner, conf: cfg.ConfigOpts = CONF):
        self._conf = conf
        self.host = conf.host
        self.cleaner = cleaner
        self.stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._hints: threading.Thread | None = None
        self._server = None

    def start(self) -> None:
        """:raises exception.CyborgException: it refuses to start."""
        self.cleaner.start()
        self._thread = threading.Thread(target=self._run, daemon=True,
                                        name='cleaner-loop')
        self._thread.start()
        self._hints = threading.Thread(target=self._serve, daemon=True,
                                       name='cleaner-hints')
        self._hints.start()
        LOG.info('%s on host %s cleans.', self.name, self.host)

    def _serve(self) -> None:
        """Hear hints as soon as there is a broker; nothing waits for it."""
        try:
            service.wait_for_broker(rpcapi.TOPIC, self.stopping)
            server = rpc.get_server(
                messaging.Target(topic=rpcapi.TOPIC, server=self.host,
                                 version=rpcapi.VERSION),
                [_Endpoint(self.cleaner)])
            server.start()
            self._server = server
        except service.StopRequested:
            return
        except messaging.MessagingException as error:
            LOG.warning('No hints are heard, so that all is done by polling: '
                        '%s', exception.plain_text(error))

    def _run(self) -> None:
        failing = ''
        while not self.stopping.is_set():
            self.cleaner.wake.clear()
            try:
                self.cleaner.look()
                if failing:
                    LOG.info('Placement answers again.')
                failing = ''
            except exception.CyborgException as error:
                text = exception.plain_text(error)
                if text != failing:
                    LOG.warning('No look at the disks of host %s: %s',
                                self.host, text)
                failing = text
            except Exception:
                LOG.exception('A look at the disks of host %s failed.',
                              self.host)
            self._wait()

    def _wait(self) -> None:
        """Until the next look, a hint, or a request."""
        interval = self._conf.cleaner.poll_interval
        limit = time.monotonic() + (min(interval, _SOON) if
                                    self.cleaner.impatient else interval)
        while time.monotonic() < limit and not self.stopping.is_set():
            if self.cleaner.wake.wait(min(1, interval)):
                return
            if self.cleaner.requested:
                return

    def stop(self) -> None:
        self.stopping.set()
        self.cleaner.stop()
        if self._server is not None:
            self._server.stop()
            self._server.wait()
        if self._thread is not None:
            self._thread.join(3)
        LOG.info('%s on host %s has stopped.', self.name, self.host)


class ListenerService:
    """Nova's notifications, for the cleaners of all hosts."""

    name = LISTENER

    def __init__(self, conf: cfg.ConfigOpts = CONF,
                 client: tree.TreeClient | None = None):
        self._conf = conf
        self.host = conf.host
        self.stopping = threading.Event()
        self.endpoint = listener.Endpoint(client or tree.TreeClient(),
                                          self._hint)
        self._listener: listener.Listener | None = None
        self._api: rpcapi.CleanerAPI | None = None

    def _hint(self, host: str) -> None:
        try:
            self._api.hint(context.get_admin_context(), host)
        except messaging.MessagingException as error:
            LOG.warning('Host %s could not be told to look: %s', host,
                        exception.plain_text(error))

    def start(self) -> None:
        check_options(self._conf)
        service.wait_for_broker(rpcapi.TOPIC, self.stopping)
        own = self._conf.cleaner
        self._api = rpcapi.CleanerAPI()
        with rpc.explained(self._conf, broker.NOTIFICATIONS):
            transport = messaging.get_notification_transport(self._conf)
            given = self._conf.oslo_messaging_notifications.transport_url
            url = messaging.TransportURL.parse(transport.conf, given)
        if given:
            service.wait_for_broker(
                own.notification_pool, self.stopping, transport.conf, url,
                broker.NOTIFICATIONS)
        self._listener = listener.Listener(
            transport, self.endpoint,
            own.notification_exchange, own.notification_topics,
            own.notification_pool)
        self._listener.start()
        LOG.info('%s listens for %s on exchange %s, pool %s.', self.name,
                 ', '.join(own.notification_topics),
                 own.notification_exchange, own.notification_pool)

    def stop(self) -> None:
        self.stopping.set()
        if self._listener is not None:
            self._listener.stop()
        LOG.info('%s has stopped; messages by kind: %s.', self.name,
                 dict(self.endpoint.counts))

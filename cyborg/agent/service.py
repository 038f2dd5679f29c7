# SPDX-License-Identifier: Apache-2.0
"""The life of an agent: check, find the host, report, go on reporting.

The order is the specification's ("Startup and periodic reporting", REC-7).
Local configuration is checked before anything is sent. Then the host's name
in Placement is found, and the first report is made before others can call.
"""

from collections.abc import Iterator
import threading

from oslo_config import cfg
from oslo_log import log as logging
import oslo_messaging as messaging

from cyborg import objects
from cyborg.agent import discovery
from cyborg.agent import loading
from cyborg.agent import machine
from cyborg.agent import manager
from cyborg.agent import resource_tracker
from cyborg.agent import root_provider
from cyborg.common import constants
from cyborg.common import context
from cyborg.common import exception
from cyborg.common import option_values
from cyborg.common import rpc
from cyborg.common import service
from cyborg.common.i18n import _
from cyborg.conf import CONF
from cyborg.objects import base as objects_base
from cyborg.placement import client as placement_client
from cyborg.rpcapi import conductor as conductor_rpcapi

LOG = logging.getLogger(__name__)

NAME = 'cyborg-agent'

#: Seconds a conductor is given to answer while one is waited for; a message
#: sent before any conductor listens is lost, so the first limits are short.
_PATIENCE = (5, 10, 20, 40, 60)
_NO_ANSWER = (messaging.MessagingTimeout, messaging.MessageDeliveryFailure)


class ConductorSilent(exception.CyborgException):
    _msg_fmt = _('no conductor answers on topic %(topic)s within '
                 '%(seconds)s s. Start cyborg-conductor; its [DEFAULT] '
                 'transport_url and control_exchange must be those of host '
                 '%(host)s')


class AgentService(service.RPCService):
    """The agent of one host.

    :param stopping: set once the service was told to end.
    :raises exception.UpgradeLevelInvalid: ``[upgrade_levels] conductor`` is
        no usable cap.
    """

    def __init__(self, stopping: threading.Event | None = None):
        objects.register_all()
        self._context = context.get_admin_context()
        self._context.machine = machine.mark(CONF.pci.sysfs_path)
        self._conductor = conductor_rpcapi.ConductorAPI()
        self._placement = placement_client.PlacementClient()
        self._trouble: str | None = None
        self._by_provider_name = None
        self.hostname: str | None = None
        self.tracker: resource_tracker.ResourceTracker | None = None
        super().__init__(
            NAME, constants.AGENT_TOPIC, None,
            serializer=objects_base.CyborgObjectSerializer(),
            prepare=self._first_report, periodic=self.report,
            stopping=stopping)

    def start(self) -> None:
        """Start, or raise what stops the start.

        :raises exception.CyborgException: a driver is unknown or refuses,
            the configuration is unusable, Placement does not know the host,
            or the first report is a conflict (``CONFLICTS``).
        :raises service.StopRequested: told to stop while waiting.
        """
        try:
            for error in option_errors():
                raise error
            drivers = loading.load()
            # RPC-1: before any message, so before the broker is waited for.
            loading.init_host(drivers)
        except cfg.Error as error:
            raise exception.ConfigInvalid(error_msg=str(error)) from error
        self._endpoint = manager.AgentManager(drivers)
        self.tracker = resource_tracker.ResourceTracker(
            drivers, self._conductor)
        super().start()
        if self.hostname != self.host:
            # Others know this host by the name in its rows, which is that
            # of its provider. 2026.2 listened to the other one alone.
            self._by_provider_name = rpc.get_server(
                messaging.Target(topic=constants.AGENT_TOPIC,
                                 server=self.hostname,
                                 version=self._endpoint.target.version),
                [self._endpoint], self._serializer)
            self._by_provider_name.start()

    def stop(self, graceful: bool = True) -> None:
        """Take no new work, and finish the work in hand."""
        if self._by_provider_name is not None:
            self._by_provider_name.stop()
            self._by_provider_name.wait()
            self._by_provider_name = None
        super().stop(graceful)

    def report(self) -> None:
        """One periodic report; whatever happens, the agent goes on."""
        conflict = None
        try:
            self._report()
        except resource_tracker.CONFLICTS as error:
            conflict = exception.plain_text(error)
        if conflict is not None:
            # REC-8. Said every time: nothing of this host is reported.
            LOG.error('The report of host %s is rejected: %s', self.hostname,
                      conflict)
            self._trouble = None

    def _first_report(self) -> None:
        self.hostname = root_provider.wait(
            self._placement, self._context, self.stopping)
        if self._conductor.supports_object_indirection():
            service.wait_for('a conductor', self._Probe(self),
                             ConductorSilent, self.stopping)
        self._report()

    def _report(self) -> None:
        """Report; log what may pass by itself, raise conflicts."""
        trouble = None
        try:
            self.tracker.report(self._context, self.hostname)
        except resource_tracker.CONFLICTS:
            raise
        except (exception.CyborgException,
                messaging.MessagingException) as error:
            trouble = error
        if trouble is not None:
            self._failed(trouble)
        elif self._trouble is not None:
            LOG.info('Host %s reports again', self.hostname)
            self._trouble = None

    def _failed(self, error: Exception) -> None:
        reason = why(error)
        level = LOG.info if reason == self._trouble else LOG.error if (
            isinstance(error, discovery.DiscoveryFailed)) else LOG.warning
        self._trouble = reason
        level('Host %(host)s could not report, trying again within '
              '%(seconds)s s: %(reason)s', {
                  'host': self.hostname, 'reason': reason,
                  'seconds': CONF.periodic_interval})

    class _Probe:
        """Asks for an answer, with more patience each time."""

        def __init__(self, agent: 'AgentService'):
            self._agent = agent
            self._limits = iter(_PATIENCE)
            self._limit = None

        def __call__(self) -> None:
            self._limit = next(self._limits, self._limit)
            try:
                self._agent.tracker.probe(
                    self._agent._context, self._agent.hostname, self._limit)
            except _NO_ANSWER as error:
                raise ConductorSilent(
                    topic=constants.CONDUCTOR_TOPIC, seconds=self._limit,
                    host=CONF.host) from error
            except (exception.CyborgException,
                    messaging.MessagingException):
                # It does answer; the report itself tells what is wrong.
                LOG.debug('A conductor refuses to read', exc_info=True)


def option_errors() -> Iterator[exception.OptionInvalid]:
    """What is wrong with each option that the agent uses at some time."""
    return option_values.errors(
        CONF, 'agent', 'glance', 'gpu_devices', 'nic_devices', 'pci',
        'placement', 'upgrade_levels', 'workarounds', 'x710_static')


def why(error: Exception) -> str:
    """Why a conductor, or the way to it, is of no use just now."""
    if isinstance(error, messaging.MessagingTimeout):
        return 'no conductor answered on topic %s in time' % (
            constants.CONDUCTOR_TOPIC)
    if isinstance(error, messaging.RemoteError):
        if error.exc_type == messaging.UnsupportedVersion.__name__:
            return _too_old()
        return 'the conductor failed with %s: %s' % (
            error.exc_type, (str(error.value) or '').partition('\n')[0])
    if isinstance(error, messaging.UnsupportedVersion):
        return _too_old()
    return exception.plain_text(error)


def _too_old() -> str:
    return ('the conductor is of an older release and does not know object '
            'indirection: upgrade the conductors first, or set '
            '[upgrade_levels] conductor = 1.0 until they are')

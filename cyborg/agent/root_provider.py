# SPDX-License-Identifier: Apache-2.0
"""Finds the resource provider that stands for this host in Placement.

Whoever runs the hypervisor creates that provider; the agent never does. Its
name is also the host name of all rows of this host.
"""

import threading

from oslo_log import log as logging
import tenacity

from cyborg.common import context as cyborg_context
from cyborg.common import exception
from cyborg.common import service
from cyborg.common.i18n import _
from cyborg.conf import CONF
from cyborg.placement import client as placement

LOG = logging.getLogger(__name__)

#: What may pass without anyone touching this host.
UNANSWERED = (exception.PlacementServerError, exception.PlacementUnauthorized,
              exception.PlacementRequestRefused)


class HostProviderNotFound(exception.PlacementResourceProviderNotFound):
    _msg_fmt = _('Placement has no resource provider for host %(host)s; '
                 'looked for: %(names)s. Start the compute service of this '
                 'host first, or put the name that it uses in Placement into '
                 '[agent] resource_provider_name.')


def candidate_names() -> list[str]:
    """Names to look for, the preferred one first (B32)."""
    host = CONF.host
    names = [CONF.agent.resource_provider_name, host]
    if not host.replace('.', '').isdigit():
        names.append(host.partition('.')[0])
    return list(dict.fromkeys(name for name in names if name))


def find(client: placement.PlacementClient,
         context: cyborg_context.RequestContext) -> str:
    """The first of the names that Placement knows.

    :raises HostProviderNotFound: it knows none of them.
    """
    names = candidate_names()
    for name in names:
        if client.find_providers(context, name):
            return name
    raise HostProviderNotFound(
        host=CONF.host, names=', '.join(names), resource_provider=names[0])


def wait(client: placement.PlacementClient,
         context: cyborg_context.RequestContext, stopping: threading.Event
         ) -> str:
    """As :func:`find`, with patience at start.

    While Placement does not answer, or not us, there is no limit. Once it
    says that there is no such provider, it is asked again ``[agent]
    resource_provider_startup_retries`` times: the compute service may be
    starting beside this one.

    :raises HostProviderNotFound: still none after the last try.
    :raises service.StopRequested: ``stopping`` was set.
    """
    retries = CONF.agent.resource_provider_startup_retries
    attempts = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(HostProviderNotFound),
        wait=tenacity.wait_exponential(),
        sleep=tenacity.sleep_using_event(stopping),
        stop=tenacity.stop_any(tenacity.stop_after_attempt(retries + 1),
                               tenacity.stop_when_event_set(stopping)),
        before_sleep=_tell, reraise=True)
    try:
        name = attempts(lambda: service.wait_for(
            'Placement', lambda: find(client, context), UNANSWERED, stopping))
    except HostProviderNotFound:
        if stopping.is_set():
            raise service.StopRequested(
                what='the resource provider of this host') from None
        raise
    LOG.info('Host %s is resource provider %s.', CONF.host, name)
    return name


def _tell(state: tenacity.RetryCallState) -> None:
    LOG.warning('%s Looking again in %d s.',
                exception.plain_text(state.outcome.exception()),
                state.upcoming_sleep)

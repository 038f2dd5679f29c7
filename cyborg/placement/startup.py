# SPDX-License-Identifier: Apache-2.0
"""Waiting for Placement when a service starts."""

from collections.abc import Callable, Sequence
import threading

from oslo_log import log as logging

from cyborg.common import exception
from cyborg.placement import client as placement

LOG = logging.getLogger(__name__)

_LONGEST_PAUSE = 30


def host_names(provider_name: str, host: str) -> list[str]:
    """Names under which a host's provider may be known, likeliest first.

    Nova takes the hypervisor's name, often the full one, while
    ``[DEFAULT] host`` often is the short one (B32).
    """
    names = [provider_name, host, host.partition('.')[0]]
    return list(dict.fromkeys(filter(None, names)))


def wait_for_placement(client: placement.PlacementClient,
                       stop: threading.Event | None = None) -> bool:
    """Return when Placement answers us; keep trying until then.

    Says once what it waits for, and again when the reason changes.

    :param stop: set when the service is to end
    :returns: False when it ended because of ``stop``
    """
    return _until_answered(client.ping, stop or threading.Event())


def find_host(client: placement.PlacementClient, names: Sequence[str],
              retries: int, stop: threading.Event | None = None
              ) -> placement.Provider | None:
    """The provider that stands for this host, by the first name that has one.

    While Placement does not answer, it waits. When it answers and has none,
    it looks again after 1, 2, 4... seconds, ``retries`` times: Nova may
    create the provider a moment later.

    :returns: None when it ended because of ``stop``
    :raises PlacementResourceProviderNotFound: naming all names tried
    """
    stop = stop or threading.Event()
    for attempt in range(retries + 1):
        found: list[placement.Provider] = []

        def look(found=found):
            found[:] = _find(client, names)

        if not _until_answered(look, stop):
            return None
        if found:
            return found[0]
        if attempt < retries:
            LOG.warning('Placement has no resource provider %(names)s; '
                        'looking again in %(pause)d s', {
                            'names': ' or '.join(names),
                            'pause': 2 ** attempt})
            if stop.wait(2 ** attempt):
                return None
    raise exception.PlacementResourceProviderNotFound(
        resource_provider=' or '.join(names))


def _find(client, names):
    for name in names:
        found = [provider for provider in client.find_providers(None, name)
                 if provider.name == name]
        if found:
            return found
    return []


def _until_answered(ask: Callable[[], None], stop: threading.Event) -> bool:
    pause, said = 1, ''
    while True:
        try:
            ask()
        except (exception.PlacementServerError,
                exception.PlacementUnauthorized,
                exception.PlacementRequestRefused) as error:
            if error.message != said:
                LOG.warning('Waiting for Placement: %s', error.message)
                said = error.message
        else:
            if said:
                LOG.info('Placement answers, going on')
            return True
        if stop.wait(pause):
            return False
        pause = min(pause * 2, _LONGEST_PAUSE)

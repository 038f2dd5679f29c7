# SPDX-License-Identifier: Apache-2.0
"""Keeps the providers of a host in Placement equal to the database.

A report hands over what the database wants of the whole host. What was
verified before and has neither changed here nor there (by generation) costs
nothing; one listing of the host's provider tree tells. Each provider is
brought in line on its own: a refusal or a failure of one is reported and the
others go on.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence

from oslo_log import log as logging

from cyborg.common import context as cyborg_context
from cyborg.common import exception
from cyborg.conductor.providers import crew
from cyborg.conductor.providers import run as provider_run
from cyborg.conductor.providers import strays
from cyborg.conductor.providers.outcomes import Kind
from cyborg.conductor.providers.outcomes import Outcome
from cyborg.conductor.providers.outcomes import Outcomes
from cyborg.conf import CONF
from cyborg.placement import client as placement
from cyborg.placement import names
from cyborg.placement import provider_plan

LOG = logging.getLogger(__name__)


class ProviderSync:
    """One per conductor; remembers what it verified in Placement."""

    def __init__(self, client: placement.PlacementClient):
        self._client = client
        self._roots: dict[str, str] = {}
        #: desired uuid -> (generation, what it was when it was verified)
        self._verified: dict[
            str, tuple[int, provider_plan.DesiredProvider]] = {}
        self._names = names.Names(client)
        self._crew = crew.Crew(CONF.placement.max_concurrent_requests)
        self._said: dict[str, str] = {}
        self.strays = strays.Strays(client)

    def sync(self, context: cyborg_context.RequestContext, hostname: str,
             desired: Sequence[provider_plan.DesiredProvider],
             changed: Iterable[str] = (),
             removed: Sequence[provider_plan.DesiredProvider] = (),
             host: provider_run.Host | None = None,
             check: Callable[[], None] = lambda: None,
             made: set[str] | None = None) -> Outcomes:
        """Bring all providers of a host in line.

        :param desired: every deployable of the host that has a provider or
            shall get one
        :param changed: uuids of those that are new or that the report
            changes; only a hint where not to look for the host's tree
        :param removed: deployables of which nothing is allocated in the
            database. One that Placement refuses to delete (409) is reserved
            as a whole and comes back as RETAINED (MIS-4).
        :param host: from :meth:`find_host`, of the same report
        :param check: raises ReportOutdated when a newer report has begun
        :param made: gets the uuids of providers that are created
        :raises ReportOutdated: by ``check``; the rest is not done
        :raises PlacementResourceProviderNotFound: no provider of the host
        :raises PlacementServerError: the tree could not be read
        :raises PlacementUnauthorized: likewise, refused credentials
        """
        if not desired and not removed:
            return Outcomes()
        host = host or self.find_host(
            context, hostname, [d.uuid for d in (*desired, *removed)
                                if d.uuid not in set(changed)])
        run = provider_run.Run(self._client, self._names, self._verified,
                               self._crew, context, host, check, made)
        run.attempt_all(removed, run.remove)
        for wanted in desired:
            run.outcomes[wanted.uuid] = Outcome(Kind.UNCHANGED, wanted.uuid)
        run.find_in_line(self._unverified(host, desired))
        todo = self._unverified(host, desired)
        run.prepare([w for w in todo if w.uuid not in host.tree])
        run.attempt_all(todo, run.settle)
        self._say(hostname, run.outcomes)
        return Outcomes(run.outcomes)

    def _unverified(self, host: provider_run.Host,
                    desired: Sequence[provider_plan.DesiredProvider]
                    ) -> list[provider_plan.DesiredProvider]:
        return [wanted for wanted in desired
                if not self.is_verified(host, wanted)]

    def is_verified(self, host: provider_run.Host,
                    wanted: provider_plan.DesiredProvider) -> bool:
        """Whether a provider was in line at the generation it has in host.

        False for one that has to be looked at in every report.
        """
        present = host.tree.get(wanted.uuid)
        return present is not None and self._verified.get(wanted.uuid) == (
            present.generation, wanted)

    def stop(self) -> None:
        """End what helps; no report may go on."""
        self._crew.stop()

    def find_host(self, context: cyborg_context.RequestContext, hostname: str,
                  known: Sequence[str] = ()) -> provider_run.Host:
        """The host's own provider and its tree, as Placement has them now.

        One call when a provider of the host is known, else two.

        :param known: uuids of providers that should be in the tree
        :raises PlacementResourceProviderNotFound: no provider of the host
        :raises PlacementServerError: the tree could not be read
        :raises PlacementUnauthorized: likewise, refused credentials
        """
        anchor = self._roots.get(hostname) or next(iter(known), None)
        host = anchor and self._host_of(
            hostname, self._client.get_tree(context, anchor))
        if not host:
            found = self._client.find_providers(context, hostname)
            host = found and self._host_of(
                hostname, self._client.get_tree(context, found[0].uuid))
        if not host:
            self._roots.pop(hostname, None)
            raise exception.PlacementResourceProviderNotFound(
                resource_provider=hostname)
        self._roots[hostname] = host.provider.uuid
        return host

    def tree_print(self, context: cyborg_context.RequestContext,
                   root: str) -> str:
        """See :mod:`cyborg.placement.tree_print`; one call.

        :raises PlacementServerError: the tree could not be read
        :raises PlacementUnauthorized: likewise, refused credentials
        """
        return self._client.get_tree_print(context, root)

    @staticmethod
    def _host_of(hostname, tree):
        """The host in its tree, by name as Placement's database compares.

        With MySQL a name in other letter case is the same name, and 2026.2
        took it, so an upgrade must not lose the host. An exact match wins
        where both exist.
        """
        same = [provider for provider in tree
                if provider.name.casefold() == hostname.casefold()]
        if not same:
            return None
        same.sort(key=lambda provider: provider.name != hostname)
        return provider_run.Host(hostname, same[0],
                                 {p.uuid: p for p in tree})

    def _say(self, hostname, outcomes):
        """Log what an operator has to know, once per change of state.

        RETAINED is the report's to tell, which knows handles and addresses.
        """
        for uuid, outcome in outcomes.items():
            if outcome.kind in (Kind.FAILED, Kind.DEFERRED):
                if self._said.get(uuid) == outcome.reason:
                    continue
                self._said[uuid] = outcome.reason
                LOG.log(
                    logging.ERROR if outcome.kind == Kind.FAILED
                    else logging.WARNING,
                    'Resource provider %(uuid)s of host %(host)s: %(kind)s: '
                    '%(reason)s', {
                        'uuid': uuid, 'host': hostname,
                        'kind': outcome.kind.value, 'reason': outcome.reason})
            elif self._said.pop(uuid, None):
                LOG.info('Resource provider %(uuid)s of host %(host)s: '
                         '%(kind)s, no longer held up', {
                             'uuid': uuid, 'host': hostname,
                             'kind': outcome.kind.value})

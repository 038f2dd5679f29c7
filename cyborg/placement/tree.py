# SPDX-License-Identifier: Apache-2.0
"""What one host's provider tree holds, in few calls: Nova's providers too.

Beside :mod:`cyborg.placement.client`, for who watches providers that another
service owns.
"""

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses

from cyborg.common import context as cyborg_context
from cyborg.placement import client

_AGGREGATES_WITH_GENERATION = '1.19'


@dataclasses.dataclass(frozen=True)
class Aggregates:
    generation: int
    uuids: frozenset[str]


class TreeClient(client.PlacementClient):
    """As the parent, with what a watcher needs; errors as there."""

    def get_tree_usages(self, context: cyborg_context.RequestContext,
                        root: str) -> dict[str, dict[str, int]]:
        """Provider -> resource class -> allocated units, in one call.

        :returns: nothing when the compute node has no memory left at all:
            Placement tells only of trees that could take something.
        """
        return {uuid: dict(summary.used) for uuid, summary in
                self.get_tree_summaries(context, root).items()}

    def get_aggregates(self, context: cyborg_context.RequestContext,
                       uuid: str) -> Aggregates:
        """:raises PlacementResourceProviderNotFound:"""
        answer = self._of_provider(context, 'GET', uuid, 'aggregates',
                                   _AGGREGATES_WITH_GENERATION)
        return client.parsed(answer, _aggregates)

    def put_aggregates(self, context: cyborg_context.RequestContext, uuid: str,
                       generation: int, uuids: Iterable[str]) -> int:
        """:returns: the provider's new generation

        :raises ResourceProviderUpdateConflict: the generation is outdated
        :raises PlacementResourceProviderNotFound:
        """
        body = {'resource_provider_generation': generation,
                'aggregates': sorted(uuids)}
        answer = self._of_provider(context, 'PUT', uuid, 'aggregates',
                                   _AGGREGATES_WITH_GENERATION, body)
        if answer.status_code == 409:
            raise client.conflict(uuid, generation, answer)
        return client.parsed(answer, lambda body: body[
            'resource_provider_generation'])

    def get_consumers(self, context: cyborg_context.RequestContext,
                      uuid: str) -> tuple[str, ...]:
        """Who has allocations from a provider."""
        answer = self._of_provider(context, 'GET', uuid, 'allocations',
                                   _AGGREGATES_WITH_GENERATION)
        return client.parsed(answer, lambda body: tuple(
            sorted(body['allocations'])))

    def get_allocations(self, context: cyborg_context.RequestContext,
                        consumer: str) -> Mapping[str, Mapping[str, int]]:
        """Provider -> resource class -> units, of one consumer."""
        answer = self._call(context, 'GET', _AGGREGATES_WITH_GENERATION,
                            '/allocations/%s' % consumer)
        return client.parsed(answer, lambda body: {
            uuid: dict(record['resources'])
            for uuid, record in body['allocations'].items()})


def _aggregates(body) -> Aggregates:
    return Aggregates(body['resource_provider_generation'],
                      frozenset(body['aggregates']))

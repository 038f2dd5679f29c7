# SPDX-License-Identifier: Apache-2.0
"""Providers of ours that no row stands for.

A conductor that was killed or paused in the middle of a report may have made
one for a device of which a newer report knew nothing, and then nobody would
look at it again, while Nova goes on choosing it for binds that must fail.
"""

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import logging

from cyborg.common import constants
from cyborg.common import context as cyborg_context
from cyborg.common import exception
from cyborg.conductor.providers import run as provider_run
from cyborg.db import deployables
from cyborg.db import host_changes
from cyborg.inventory import values
from cyborg.placement import client as placement
from cyborg.placement import provider_plan
from cyborg.placement import updates

LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Found:
    """What the removal of strays came to.

    :ivar removed: names of providers that are gone now.
    :ivar held: those from which something is allocated; nothing new is.
    """

    removed: tuple[str, ...] = ()
    held: tuple[placement.Provider, ...] = ()


def candidates(host: provider_run.Host, uuids: Collection[str],
               names: Collection[str]) -> list[placement.Provider]:
    """Providers of a host that look as ours, and that no deployable has.

    Ours have a UUID that follows from the name, in every release.

    :param uuids: of the providers that deployables have or are to get.
    :param names: of the deployables.
    """
    taken = {name.casefold() for name in names}
    return [provider for provider in host.tree.values()
            if provider.parent == host.provider.uuid
            and provider.uuid not in uuids
            and provider.name.casefold() not in taken
            and provider.uuid == provider_plan.provider_uuid(provider.name)]


class Strays:
    """Removes them; one per conductor."""

    def __init__(self, client: placement.PlacementClient):
        self._client = client
        #: uuid -> generation of those that are reserved as a whole
        self._held: dict[str, int] = {}

    def take_back(self, context: cyborg_context.RequestContext,
                  host: provider_run.Host,
                  rows: Collection[values.PersistedDeployable],
                  made: Collection[str],
                  given: Mapping[str, frozenset[str]]) -> None:
        """Undo what a report wrote that was overtaken.

        :param rows: what the host's rows are now.
        :param made: uuids of providers that it made.
        :param given: provider's uuid -> traits that it may have given it.
        :raises exception.CyborgException: what PlacementClient raises.
        """
        self.remove(context, host.name, [
            p for p in candidates(host, (), ()) if p.uuid in made])
        for row in rows:
            _, traits = provider_plan.from_attributes(
                (a.key, a.value) for a in row.attributes)
            if row.rp_uuid is None or row.rp_uuid not in host.tree:
                continue
            stale = given.get(row.rp_uuid, frozenset()) - traits
            if not stale:
                continue
            try:
                updates.drop_traits(self._client, context, row.rp_uuid, stale)
            except exception.CyborgException:
                # As if it had been there: the next report takes away what
                # the rows have and the host does not show.
                host_changes.note_traits(context, row, stale)
                raise

    def remove(self, context: cyborg_context.RequestContext, hostname: str,
               found: Collection[placement.Provider]) -> Found:
        """Remove those of the candidates that are strays.

        :raises exception.CyborgException: what PlacementClient raises.
        """
        if not found:
            return Found()
        # Another host may have the row: a host may have been renamed. Read
        # after the providers, which are made after their rows.
        rows = deployables.of_providers(
            context, {p.uuid for p in found}, {p.name for p in found})
        removed, held = [], []
        for provider in found:
            if (provider.uuid in rows or provider.name in rows
                    or not self._is_ours(context, provider)):
                continue
            try:
                self._client.delete_provider(context, provider.uuid)
                removed.append(provider.name)
            except exception.ResourceProviderInUse:
                self._hold(context, provider)
                held.append(provider)
        for name in removed:
            LOG.warning('Resource provider %s of host %s belonged to no '
                        'device and was removed.', name, hostname)
        return Found(tuple(removed), tuple(held))

    def _is_ours(self, context, provider) -> bool:
        """By trait, or as we leave it before it has one: empty."""
        try:
            traits = self._client.get_traits(context, provider.uuid).names
            return constants.OWNER_CYBORG in traits or not (
                traits or self._client.get_inventories(
                    context, provider.uuid).by_class)
        except exception.PlacementResourceProviderNotFound:
            return False

    def _hold(self, context, provider) -> None:
        if self._held.get(provider.uuid) != provider.generation:
            self._held[provider.uuid] = updates.hold(
                self._client, context, provider.uuid)

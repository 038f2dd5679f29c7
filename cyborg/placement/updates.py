# SPDX-License-Identifier: Apache-2.0
"""Changes of one provider outside of a report: read, change, write.

Each tries again when somebody else wrote in between, at most three times,
and then raises ResourceProviderUpdateConflict (B38). All raise
PlacementResourceProviderNotFound for a provider that is gone, and what every
call of PlacementClient may raise.
"""

from collections.abc import Iterable

from cyborg.common import constants
from cyborg.common import context as cyborg_context
from cyborg.placement import client as placement
from cyborg.placement import names
from cyborg.placement import reservations


@placement.retry_conflicts
def disable(client: placement.PlacementClient,
            context: cyborg_context.RequestContext, uuid: str) -> None:
    """Reserve all units of a provider for an operator's disable.

    A mark says so, and how many units others had reserved before. It is
    written first: a kill in between leaves nothing that nobody knows as ours.
    """
    found = client.get_inventories(context, uuid)
    generation = _mark(client, context, uuid, found, None)
    wanted = reservations.everything(found.by_class)
    if wanted != found.by_class:
        client.put_inventories(context, uuid, generation, wanted)


@placement.retry_conflicts
def claim(client: placement.PlacementClient,
          context: cyborg_context.RequestContext, uuid: str) -> None:
    """Take an unmarked reservation for that of a disable.

    For a device that is known to be disabled: 2026.2 left no mark, and a
    report that creates the provider anew leaves none either.
    """
    _mark(client, context, uuid, client.get_inventories(context, uuid), 0)


@placement.retry_conflicts
def enable(client: placement.PlacementClient,
           context: cyborg_context.RequestContext, uuid: str) -> None:
    """Free what a disable has reserved, and nobody else's units.

    Units that are allocated and missing stay reserved: the next report knows
    how many those are. A provider without the mark of a disable is left
    alone.
    """
    found = client.get_inventories(context, uuid)
    traits = client.get_traits(context, uuid)
    owners = reservations.owners(traits.names)
    if not owners.disabled:
        return
    generation = found.generation
    wanted = reservations.lifted(found.by_class, owners)
    if wanted != found.by_class:
        generation = client.put_inventories(context, uuid, generation, wanted)
    client.put_traits(context, uuid, generation,
                      reservations.without_disabled_mark(traits.names))


def _mark(client, context, uuid, found, others: int | None) -> int:
    """:param others: None for what is reserved now

    :returns: the provider's generation
    """
    traits = client.get_traits(context, uuid)
    owners = reservations.owners(traits.names)
    if owners.disabled:
        return found.generation
    if others is None:
        others = reservations.of_others(found.by_class, owners)
    mark = reservations.disabled_mark(others)
    names.Names(client).known_traits(context, {mark})
    return client.put_traits(context, uuid, found.generation,
                             {*traits.names, mark})


@placement.retry_conflicts
def hold(client: placement.PlacementClient,
         context: cyborg_context.RequestContext, uuid: str) -> int:
    """Reserve all units of a provider whose device is not there.

    Marked as such first, so that the reservation goes when a device returns.

    :returns: the provider's generation by then.
    """
    found = client.get_traits(context, uuid)
    generation = found.generation
    if constants.MISSING_TRAIT not in found.names:
        names.Names(client).known_traits(context, {constants.MISSING_TRAIT})
        generation = client.put_traits(
            context, uuid, generation,
            found.names | {constants.MISSING_TRAIT})
    present = client.get_inventories(context, uuid)
    wanted = reservations.everything(present.by_class)
    if wanted != present.by_class:
        generation = client.put_inventories(context, uuid, generation, wanted)
    return generation


@placement.retry_conflicts
def drop_traits(client: placement.PlacementClient,
                context: cyborg_context.RequestContext, uuid: str,
                stale: Iterable[str]) -> None:
    """Take traits from a provider; others keep them."""
    found = client.get_traits(context, uuid)
    kept = found.names - set(stale)
    if kept != found.names:
        client.put_traits(context, uuid, found.generation, kept)


def replace_traits(client: placement.PlacementClient,
                   context: cyborg_context.RequestContext, uuid: str,
                   prefix: str, wanted: Iterable[str]) -> None:
    """Give a provider these traits instead of all that begin with a prefix.

    The old names stay known to Placement: other providers may have them.
    """
    known = names.Names(client).known_traits(context, wanted)
    _replace_traits(client, context, uuid, prefix, known)


@placement.retry_conflicts
def _replace_traits(client, context, uuid, prefix, wanted):
    found = client.get_traits(context, uuid)
    kept = {name for name in found.names if not name.startswith(prefix)}
    if kept | wanted != found.names:
        client.put_traits(context, uuid, found.generation, kept | wanted)

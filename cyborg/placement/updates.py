# SPDX-License-Identifier: Apache-2.0
"""Changes of one provider outside of a report: read, change, write.

Each tries again when somebody else wrote in between, at most three times,
and then raises ResourceProviderUpdateConflict (B38). All raise
PlacementResourceProviderNotFound for a provider that is gone, and what every
call of PlacementClient may raise.
"""

from collections.abc import Iterable
import dataclasses

from cyborg.common import constants
from cyborg.placement import client as placement
from cyborg.placement import names


@placement.retry_conflicts
def reserve(client: placement.PlacementClient, context, uuid: str,
            everything: bool) -> None:
    """Reserve all units of a provider, or none.

    Nothing else of the inventory changes, and units that are allocated stay
    allocated. Where allocated units are missing, their reservation stays:
    the next report knows how many those are.
    """
    found = client.get_inventories(context, uuid)
    if not everything:
        traits = client.get_traits(context, uuid)
        if constants.MISSING_TRAIT in traits.names:
            return
    wanted = {
        name: dataclasses.replace(
            record, reserved=record.total if everything else 0)
        for name, record in found.by_class.items()}
    if wanted != found.by_class:
        client.put_inventories(context, uuid, found.generation, wanted)


def replace_traits(client: placement.PlacementClient, context, uuid: str,
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

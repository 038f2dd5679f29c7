# SPDX-License-Identifier: Apache-2.0
"""Traits and resource classes: names that exist once for all providers."""

from collections.abc import Iterable
import threading

from cyborg.common import context as cyborg_context
from cyborg.placement import client as placement
from cyborg.placement import provider_plan


class Names:
    """Asks Placement for a name once, and creates a custom one if need be.

    Nothing is ever deleted here: other hosts and services use the same names
    (B35). Both ``known_*`` methods return those of the wanted names that can
    be used on a provider, and raise what PlacementClient raises. Safe for
    threads: where several want one name, one asks, and the others wait.
    """

    def __init__(self, client: placement.PlacementClient):
        self._client = client
        self._asking = threading.Lock()
        self._traits: set[str] = set()
        self._classes: set[str] = set()

    def known_traits(self, context: cyborg_context.RequestContext,
                     wanted: Iterable[str]) -> set[str]:
        wanted = set(wanted)
        if not wanted <= self._traits:
            with self._asking:
                self._ask_for_traits(context, wanted - self._traits)
        return wanted & self._traits

    def _ask_for_traits(self, context, names: set[str]) -> None:
        unknown = {name for name in names
                   if provider_plan.is_well_formed(name)}
        if not unknown:
            return
        existing = self._client.existing_traits(context, unknown)
        self._traits |= existing
        for name in sorted(unknown - existing):
            if provider_plan.is_custom(name):
                self._client.ensure_trait(context, name)
                self._traits.add(name)

    def known_classes(self, context: cyborg_context.RequestContext,
                      wanted: Iterable[str]) -> set[str]:
        wanted = set(wanted)
        if not wanted <= self._classes:
            with self._asking:
                self._ask_for_classes(context, wanted - self._classes)
        return wanted & self._classes

    def _ask_for_classes(self, context, names: set[str]) -> None:
        for name in sorted(names):
            if provider_plan.is_custom(name):
                self._client.ensure_resource_class(context, name)
                self._classes.add(name)
            elif (provider_plan.is_well_formed(name)
                    and self._client.has_resource_class(context, name)):
                self._classes.add(name)

    def forget(self, names: Iterable[str]) -> None:
        """Someone deleted a name that was seen before."""
        names = set(names)
        with self._asking:
            self._traits -= names
            self._classes -= names

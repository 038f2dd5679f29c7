# SPDX-License-Identifier: Apache-2.0
"""One host's providers, brought in line each on its own, some at a time."""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
import threading

from oslo_log import log as logging

from cyborg.common import constants
from cyborg.common import context as cyborg_context
from cyborg.common import exception
from cyborg.conductor.providers import crew as crews
from cyborg.conductor.providers.outcomes import Kind
from cyborg.conductor.providers.outcomes import Outcome
from cyborg.placement import client as placement
from cyborg.placement import names
from cyborg.placement import provider_plan
from cyborg.placement import reservations

LOG = logging.getLogger(__name__)

_ATTEMPTS = 3
# A generation that no provider has.
_UNKNOWN = -1
#: So many providers in a row without an answer: the rest would only wait.
_GIVE_UP_AFTER = 3
# From so many providers on, and such a part of the tree, one question about
# all of the tree costs Placement less than two about each.
_MANY, _PART = 2, 256


@dataclasses.dataclass(frozen=True)
class Host:
    """The host's own provider and its tree."""

    name: str
    provider: placement.Provider
    tree: dict[str, placement.Provider]


class Run:
    """One report of one host."""

    def __init__(self, client: placement.PlacementClient,
                 known: names.Names, verified: dict, crew: crews.Crew,
                 context: cyborg_context.RequestContext, host: Host,
                 check: Callable[[], None] = lambda: None,
                 made: set[str] | None = None):
        """:param verified: what to remember beyond this report: desired
        uuid -> (generation, DesiredProvider when it was verified)
        :param check: raises ReportOutdated when nothing is to be written
        :param made: gets the uuids of providers that are created
        """
        self.client = client
        self.names = known
        self.verified = verified
        self.crew = crew
        self.context = context
        self.host = host
        self.outcomes: dict[str, Outcome] = {}
        self._unanswered = 0
        self._counting = threading.Lock()
        self._check = check
        self._made = made if made is not None else set()

    def attempt_all(
            self, todo: Iterable[provider_plan.DesiredProvider],
            action: Callable[[provider_plan.DesiredProvider], Outcome]
            ) -> None:
        """Run the action for each provider; errors of one stay its own.

        What Placement fails to do beside other requests it is asked for once
        more, alone: its database may refuse a writer that meets another.

        :raises exception.ReportOutdated: a newer report has begun.
        """
        todo = list(todo)
        self.crew.each(lambda wanted: self._attempt(wanted, action), todo,
                       # Of the request, for the lines of the log.
                       self.context.update_store)
        if (self.crew.is_alone or len(todo) < 2
                or not any(map(self._met_others, todo))):
            return
        self._unanswered = 0
        for wanted in todo:
            if self.outcomes[wanted.uuid].kind == Kind.FAILED and (
                    self.outcomes[wanted.uuid].error is None
                    or self._met_others(wanted)):
                self._attempt(wanted, action)

    def _met_others(self, wanted: provider_plan.DesiredProvider) -> bool:
        # No answer at all is another matter: it would only be waited for.
        error = self.outcomes[wanted.uuid].error
        return isinstance(error, exception.PlacementServerError) and (
            not isinstance(error, exception.PlacementAPIConnectFailure))

    def _attempt(self, wanted, action) -> None:
        if self._unanswered >= _GIVE_UP_AFTER:
            self.outcomes[wanted.uuid] = Outcome(
                Kind.FAILED, wanted.uuid, 'not tried: Placement left %d '
                'requests unanswered' % self._unanswered)
            return
        try:
            self.outcomes[wanted.uuid] = action(wanted)
            self._count(False)
        except exception.ReportOutdated:
            raise
        except exception.CyborgException as error:
            self._count(isinstance(error, exception.PlacementServerError))
            self.outcomes[wanted.uuid] = Outcome(
                Kind.FAILED, wanted.uuid, exception.plain_text(error), error)

    def _count(self, unanswered: bool) -> None:
        with self._counting:
            self._unanswered = self._unanswered + 1 if unanswered else 0

    def find_in_line(self, todo: Sequence[provider_plan.DesiredProvider]
                     ) -> None:
        """Verify those that one look at the whole tree shows to be in line.

        Which after a conductor's start are nearly always all.
        """
        there = [wanted for wanted in todo if wanted.uuid in self.host.tree
                 and self._is_in_place(self.host.tree[wanted.uuid])]
        if len(there) < max(_MANY, len(self.host.tree) // _PART):
            return
        try:
            seen = self.client.get_tree_summaries(
                self.context, self.host.provider.uuid)
        except exception.CyborgException as error:
            # Each provider is asked for and gets its own error.
            LOG.debug('Providers of host %s: %s', self.host.name,
                      exception.plain_text(error))
            return
        for wanted in there:
            full = self._with_stale_traits(wanted)
            if wanted.uuid in seen and provider_plan.is_in_line(
                    full, seen[wanted.uuid]):
                # The older generation counts: one who wrote in between gave
                # it another, and then it is looked at again.
                self.verified[wanted.uuid] = (
                    self.host.tree[wanted.uuid].generation, full)
                self.outcomes[wanted.uuid] = Outcome(
                    Kind.UNCHANGED, wanted.uuid, was_missing=False)

    # Removal

    def remove(self, wanted: provider_plan.DesiredProvider) -> Outcome:
        present = self.host.tree.get(wanted.uuid)
        if present is None:
            return self._gone(wanted)
        if present.parent is None or present == self.host.provider:
            # A damaged rp_uuid must not cost the host its own provider.
            raise self._not_ours(wanted, present)
        self._check()
        try:
            self.client.delete_provider(self.context, wanted.uuid)
        except exception.ResourceProviderInUse as error:
            held = dataclasses.replace(wanted, missing=wanted.total)
            before = None
            if self.verified.get(wanted.uuid) != (present.generation, held):
                before = self._bring_in_line(held, present.uuid).was_missing
            return Outcome(
                Kind.RETAINED, wanted.uuid, 'the host does not show device '
                '%s any more, and Placement has allocations from it that '
                'belong to no accelerator request. It is removed after their '
                'release; who has them is shown by: openstack resource '
                'provider show --allocations %s' % (
                    wanted.name, wanted.uuid), error, before)
        return self._gone(wanted)

    def _gone(self, wanted):
        self.verified.pop(wanted.uuid, None)
        return Outcome(Kind.REMOVED, wanted.uuid)

    # Creation and change

    def settle(self, wanted: provider_plan.DesiredProvider) -> Outcome:
        """Create the provider if need be and give it what it should have."""
        present = self.host.tree.get(wanted.uuid)
        if present is not None:
            self._check_place(wanted, present)
            try:
                return self._bring_in_line(wanted, present.uuid)
            except exception.PlacementResourceProviderNotFound:
                LOG.debug('Provider %s went since the tree was read',
                          present.uuid)
        # Before anything of the provider exists.
        self._check_traits(wanted, self._traits_of(wanted))
        self._check_class(wanted)
        created, found = self._create(wanted)
        if created:
            fresh = provider_plan.PresentProvider(
                found.generation, {}, frozenset())
            return self._bring_in_line(wanted, found.uuid, fresh)
        return self._bring_in_line(wanted, found.uuid)

    def _create(self, wanted) -> tuple[bool, placement.Provider]:
        """Create a provider, or find the one of ours that is in its place.

        :returns: whether it was created, and the provider
        :raises ResourceProviderNameConflict: another service's provider has
            the name. Nova writes the same name with other letter case, and
            some databases tell them apart while others do not (B33).
        """
        for other in self.host.tree.values():
            if (other.name.casefold() == wanted.name.casefold()
                    and other.uuid != wanted.uuid):
                return False, self._adopted(wanted, other)
        self._check()
        self._made.add(wanted.uuid)
        try:
            return True, self.client.create_provider(
                self.context, wanted.uuid, wanted.name,
                self.host.provider.uuid)
        except exception.PlacementAPIConflict:
            # Another conductor was faster, or it lives in another tree.
            found = self.client.get_provider(self.context, wanted.uuid)
            if found is not None:
                self._check_place(wanted, found)
                return False, found
            for other in self.client.find_providers(self.context,
                                                    wanted.name):
                return False, self._adopted(wanted, other)
            raise

    def _adopted(self, wanted, other):
        if other.parent == self.host.provider.uuid:
            traits = self.client.get_traits(self.context, other.uuid)
            if constants.OWNER_CYBORG in traits.names:
                return other
        raise exception.ResourceProviderNameConflict(
            name=other.name, uuid=other.uuid, device=wanted.name,
            host=self.host.name)

    def _is_in_place(self, present) -> bool:
        return present.parent == self.host.provider.uuid

    def _check_place(self, wanted, present):
        if not self._is_in_place(present):
            raise self._not_ours(wanted, present)

    def _not_ours(self, wanted, present):
        return exception.ResourceProviderNotOurs(
            uuid=present.uuid, name=wanted.name, parent=present.parent,
            root=self.host.provider.uuid, host=self.host.name)

    def _bring_in_line(self, wanted, uuid, present=None) -> Outcome:
        """Read, decide, write; again when someone else wrote meanwhile.

        :param present: what the provider has, if known without asking
        """
        kind = Kind.CREATED if present is not None else Kind.UNCHANGED
        wanted = self._with_stale_traits(wanted)
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                if present is None:
                    present = self._look(wanted, uuid)
                writes = provider_plan.decide(
                    wanted, present, self._lift(wanted, present))
                if kind != Kind.CREATED and writes.any:
                    self._check()
                wrote = self._write(wanted, uuid, present, writes)
                break
            except (exception.ResourceProviderUpdateConflict,
                    exception.InventoryInUse) as error:
                if attempt == _ATTEMPTS:
                    raise
                LOG.debug('Provider %s: attempt %d: %s', uuid, attempt,
                          error.message)
            except exception.PlacementRequestRefused as error:
                if attempt == _ATTEMPTS or error.kwargs['status'] != 400:
                    raise
                # Someone deleted a trait or class that was seen before.
                self.names.forget({*wanted.traits, wanted.resource_class,
                                   constants.MISSING_TRAIT})
            present = None
        return self._done(wanted, uuid, kind, writes, present, wrote)

    def _done(self, wanted, uuid, kind, writes, present, generation):
        was_missing = None
        if kind == Kind.UNCHANGED:
            was_missing = constants.MISSING_TRAIT in present.traits
            if generation != present.generation:
                kind = Kind.UPDATED
        if writes.waits_for:
            # Looked at in every report, since the release of an allocation
            # may not change the generation.
            return Outcome(Kind.DEFERRED, uuid, writes.waits_for,
                           was_missing=was_missing)
        # Where it depends on what is allocated, or on what another conductor
        # knows of an operator's reservation, it is looked at every time.
        again = wanted.free or (not wanted.disabled and reservations.owners(
            present.traits if writes.traits is None else writes.traits
        ).disabled)
        self.verified[uuid] = (
            _UNKNOWN if again else generation,
            dataclasses.replace(wanted, uuid=uuid))
        return Outcome(kind, uuid, was_missing=was_missing)

    def _look(self, wanted, uuid) -> provider_plan.PresentProvider:
        found = self.client.get_inventories(self.context, uuid)
        traits = self.client.get_traits(self.context, uuid)
        # The older generation counts: a write in between is then refused.
        present = provider_plan.PresentProvider(
            found.generation, found.by_class, traits.names)
        if provider_plan.needs_usages(wanted, present):
            present = dataclasses.replace(
                present, usages=self.client.get_usages(self.context, uuid))
        return present

    def _with_stale_traits(self, wanted):
        """What we gave it before is ours to take away."""
        _generation, before = self.verified.get(wanted.uuid, (0, wanted))
        return dataclasses.replace(
            wanted, stale_traits=wanted.stale_traits | before.traits)

    def _lift(self, wanted, present) -> bool:
        """Whether the full reservation of a disabled device is to go.

        Normally the API takes it away itself. When its call failed, or a
        report that still saw the device as disabled wrote after it, nobody
        has written since we saw the device as disabled.
        """
        generation, before = self.verified.get(wanted.uuid, (0, None))
        return bool(before and before.disabled and not wanted.disabled
                    and generation == present.generation)

    def _write(self, wanted, uuid, present, writes) -> int:
        """:returns: the generation after the writes"""
        generation = present.generation
        steps = [self._write_traits, self._write_inventories]
        if not writes.traits_first:
            steps.reverse()
        for step in steps:
            generation = step(wanted, uuid, generation, writes)
        return generation

    def _write_traits(self, wanted, uuid, generation, writes):
        if writes.traits is None:
            return generation
        self._check_traits(wanted, writes.traits & (
            wanted.traits | {constants.MISSING_TRAIT}))
        return self.client.put_traits(self.context, uuid, generation,
                                      writes.traits)

    def _write_inventories(self, wanted, uuid, generation, writes):
        if writes.inventories is None:
            return generation
        if wanted.resource_class in writes.inventories:
            self._check_class(wanted)
        return self.client.put_inventories(self.context, uuid, generation,
                                           writes.inventories)

    # Traits and resource classes, which exist once for all

    def prepare(self, todo: Sequence[provider_plan.DesiredProvider]) -> None:
        """Make what many new providers need known with one question."""
        if not todo:
            return
        try:
            self.names.known_traits(
                self.context, set().union(*map(self._traits_of, todo)))
            self.names.known_classes(
                self.context, {wanted.resource_class for wanted in todo})
        except exception.CyborgException as error:
            # Each provider asks for its own again and gets its own error.
            LOG.debug('Traits and classes of host %s: %s', self.host.name,
                      exception.plain_text(error))

    @staticmethod
    def _traits_of(wanted) -> set[str]:
        return {*wanted.traits, constants.OWNER_CYBORG} | (
            {constants.MISSING_TRAIT} if wanted.missing else set())

    def _check_traits(self, wanted, traits) -> None:
        known = self.names.known_traits(self.context, traits)
        for name in sorted(traits - known):
            raise exception.DeviceTraitInvalid(
                name=wanted.name, host=self.host.name, trait=name)

    def _check_class(self, wanted) -> None:
        if not self.names.known_classes(self.context,
                                        {wanted.resource_class}):
            raise exception.DeviceResourceClassInvalid(
                name=wanted.name, host=self.host.name,
                resource_class=wanted.resource_class)

# SPDX-License-Identifier: Apache-2.0
"""What Placement has of this host's disks, in few calls.

The generation of a provider says whether it changed: its inventory, traits,
aggregates, and a new allocation raise it. Only the end of an allocation does
not, so that just the disks that were used when last seen are asked about.
"""

from collections.abc import Callable
from collections.abc import Collection
import dataclasses

from cyborg.cleaner import exceptions
from cyborg.cleaning import records
from cyborg.common import exception
from cyborg.pci import address as pci_address
from cyborg.placement import client as placement
from cyborg.placement import reservations
from cyborg.placement import tree

#: The providers of disks that a cleaner cares for: a listener may raise their
#: reservation.
CARED_FOR = '2f7a8d14-7f0c-5b34-9d6e-6a3c5e1b9c01'
#: Of these the ones whose reservation is the cleaner's.
RESERVED = '2f7a8d14-7f0c-5b34-9d6e-6a3c5e1b9c02'

MANAGED = 'COMPUTE_MANAGED_PCI_DEVICE'
_ONE_TIME_USE = 'HW_PCI_ONE_TIME_USE'

View = records.View


def address_of(name: str) -> tuple[str, str] | None:
    """(compute node, address) from the name of one of Nova's providers."""
    node, _dash, text = name.rpartition('_')
    try:
        return (node, str(pci_address.PciAddress.parse(text))) if node else (
            None)
    except pci_address.InvalidPciAddress:
        return None


class PlacementView:
    """The providers of this host's disks.

    :param names: of the host's own provider, the preferred one first.
    """

    def __init__(self, client: tree.TreeClient, host: str,
                 names: Collection[str]):
        self.client = client
        self._host = host
        self._names = tuple(names)
        self._root: str | None = None
        #: Provider -> its view, as of its generation.
        self._seen: dict[str, View] = {}

    def look(self, wanted: Collection[str],
             held: Callable[[str], bool] = lambda address: False
             ) -> dict[str, View]:
        """Views by address of those that have a provider.

        One call when nothing can have changed, two when some are in use, and
        four more for each provider that changed.

        :param wanted: addresses.
        :param held: whether a guest surely has the disk, so that the end of
            its allocation would change nothing.
        :raises HostProviderMissing: this host has no provider.
        """
        found = [(provider, at[1]) for provider in self._providers()
                 for at in [address_of(provider.name)]
                 if at and at[1] in wanted]
        result = {provider.uuid: self._known(provider)
                  for provider, _address in found}
        self._ask_usages([
            result[provider.uuid] for provider, address in found
            if result[provider.uuid] is not None
            and result[provider.uuid].used and not held(address)], result)
        by_address: dict[str, list[View]] = {}
        for provider, address in found:
            view = result[provider.uuid] or self._read(provider)
            if view is not None:
                by_address.setdefault(address, []).append(view)
        self._seen = {view.provider: view for views in by_address.values()
                      for view in views}
        return {address: _together(views)
                for address, views in by_address.items()}

    def fresh(self, view: View) -> View | None:
        """The same providers, read anew."""
        found = [self._read(placement.Provider(
            each.provider, each.name, 0, None, ''))
            for each in (view, *view.twins)]
        left = [each for each in found if each is not None]
        return _together(left) if left else None

    def reserve(self, view: View) -> View:
        """Raise the reservation of a disk, marked as ours.

        :returns: the view after it; read anew at the next look.
        :raises ResourceProviderUpdateConflict: see :func:`reserve`.
        """
        if view.twins:
            for each in (view, *view.twins):
                reserve(self.client, each.provider, claim=True)
                self._seen.pop(each.provider, None)
            return view
        generation = reserve(self.client, view.provider, view.generation,
                             claim=True)
        self._seen.pop(view.provider, None)
        return dataclasses.replace(view, generation=generation)

    def _providers(self):
        if self._root is not None:
            providers = self.client.get_tree(None, self._root)
            if any(each.uuid == self._root for each in providers):
                return [p for p in providers if p.parent == self._root]
        for name in self._names:
            for root in self.client.find_providers(None, name):
                self._root = root.uuid
                return [p for p in self.client.get_tree(None, root.uuid)
                        if p.parent == root.uuid]
        raise exceptions.HostProviderMissing(
            host=self._host, names=', '.join(self._names))

    def _known(self, provider) -> View | None:
        seen = self._seen.get(provider.uuid)
        if seen is None or seen.generation != provider.generation:
            return None
        return seen

    def _ask_usages(self, views, result) -> None:
        if not views:
            return
        usages = self.client.get_tree_usages(None, self._root)
        for view in views:
            if view.provider in usages:
                used = usages[view.provider].get(view.resource_class, 0)
            else:
                try:
                    used = self.client.get_usages(None, view.provider).get(
                        view.resource_class, 0)
                except exception.PlacementResourceProviderNotFound:
                    result[view.provider] = None
                    continue
            result[view.provider] = dataclasses.replace(view, used=used)

    def _read(self, provider) -> View | None:
        """All of one provider; its generation is read first."""
        client, uuid = self.client, provider.uuid
        try:
            inventories = client.get_inventories(None, uuid)
            traits = client.get_traits(None, uuid).names
            aggregates = client.get_aggregates(None, uuid).uuids
            usages = client.get_usages(None, uuid)
        except exception.PlacementResourceProviderNotFound:
            return None
        if MANAGED not in traits or not inventories.by_class:
            return None
        # Nova gives a disk one class; of two nothing is certain.
        name = sorted(inventories.by_class)[0]
        total = sum(each.total for each in inventories.by_class.values())
        return View(
            uuid, provider.name, inventories.generation, name, total,
            sum(each.reserved for each in inventories.by_class.values()),
            sum(usages.values()), RESERVED in aggregates,
            _ONE_TIME_USE in traits)


def _together(views: list[View]) -> View:
    """One view of a disk, whatever number of providers it has."""
    first, *rest = sorted(views, key=lambda view: view.name)
    if not rest:
        return first
    return dataclasses.replace(
        first, generation=-1, total=sum(each.total for each in views),
        reserved=sum(each.reserved for each in views),
        used=sum(each.used for each in views),
        marked=all(each.marked for each in views),
        one_time_use=all(each.one_time_use for each in views),
        twins=tuple(rest))


def reserve(client: tree.TreeClient, provider: str,
            generation: int | None = None, *, claim: bool = False) -> int:
    """Raise the reservation of a disk to all it has, marked as ours.

    The mark is written first: a kill in between leaves no reservation that
    nobody knows as ours. Everything else of the inventory stays.

    :param generation: refuse when it is another one by now.
    :param claim: mark it also where all is reserved already.
    :returns: the generation after it.
    :raises ResourceProviderUpdateConflict: somebody else wrote meanwhile.
    :raises PlacementResourceProviderNotFound:
    """
    found = client.get_inventories(None, provider)
    wanted = reservations.everything(found.by_class)
    if generation is not None and generation != found.generation:
        raise exception.ResourceProviderUpdateConflict(
            uuid=provider, generation=generation,
            error='its generation is %d' % found.generation)
    reserved = wanted == found.by_class
    if reserved and not claim:
        return found.generation
    now = found.generation
    aggregates = client.get_aggregates(None, provider).uuids
    marks = {*aggregates, CARED_FOR, RESERVED}
    if marks != aggregates:
        now = client.put_aggregates(None, provider, now, marks)
    if reserved:
        return now
    return client.put_inventories(None, provider, now, wanted)


def unmark(client: tree.TreeClient, view: View) -> int:
    """The first half of a release: the reservation is nobody's any more.

    :returns: the generation, which the second half has to carry.
    """
    aggregates = client.get_aggregates(None, view.provider).uuids
    if RESERVED not in aggregates:
        return view.generation
    return client.put_aggregates(None, view.provider, view.generation,
                                 aggregates - {RESERVED})


def release(client: tree.TreeClient, provider: str, generation: int) -> int:
    """The second half: the disk is offered, if nothing changed since.

    :returns: the generation after it, which is the seal.
    :raises ResourceProviderUpdateConflict: something changed.
    """
    found = client.get_inventories(None, provider)
    return client.put_inventories(None, provider, generation, {
        name: dataclasses.replace(record, reserved=0)
        for name, record in found.by_class.items()})

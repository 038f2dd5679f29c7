# SPDX-License-Identifier: Apache-2.0
"""Who competes: agents of the host, Nova for its instances, an operator."""

from collections.abc import Callable
import contextlib
import dataclasses
import uuid

from cyborg import objects
from cyborg.agent import loading
from cyborg.agent import resource_tracker
from cyborg.api import availability
from cyborg.common import exception
from cyborg.placement import client as placement_client
from cyborg.placement import provider_plan
from cyborg.rpcapi import conductor as conductor_rpcapi
from cyborg.tests.functional.chaos import hardware
from cyborg.tests.functional.chaos import turns
from cyborg.tests.functional.conductor import base

#: Version of conductors that know nothing of reconciliation.
_CAPPED = '1.0'


class Agent:
    """An agent of the host, or what a network still believes to be one.

    :ivar sees: the hardware and configuration that it knows.
    """

    def __init__(self, sees: hardware.Host, capped: bool = False):
        self.sees = sees
        conductor = conductor_rpcapi.ConductorAPI()
        if capped:
            conductor.version_cap = _CAPPED
        self._tracker = resource_tracker.ResourceTracker(
            [loading.LoadedDriver('pci_driver', self)], conductor)

    def discover(self) -> list:
        return self.sees.devices()

    def report(self, asker) -> None:
        self._tracker.report(asker, base.HOST)


@dataclasses.dataclass
class Guest:
    """An instance with one accelerator.

    :ivar device: the bus that Placement chose for it.
    :ivar bound: the service said so, and nobody took it back.
    :ivar leaving: it is being deleted, and may be gone already.
    """

    arq: str
    instance: str
    device: int | None = None
    bound: bool = False
    leaving: bool = False


class Nova:
    """Boots and deletes instances, one call after another.

    :param world: see ``cyborg.tests.functional.chaos.world``.
    :ivar guests: all that are not wholly gone.
    """

    def __init__(self, world):
        self._world = world
        self._conductor = conductor_rpcapi.ConductorAPI()
        self._profile = self._conductor.device_profile_create(
            world.asker(), objects.DeviceProfile(
                name='one', groups=[{'resources:CUSTOM_PCI': '1'}]))
        self.guests: list[Guest] = []

    def new_guest(self) -> Guest:
        arq = objects.ARQ(device_profile_name=self._profile.name,
                          device_profile_group_id=0, project_id='p' * 32)
        arq = self._conductor.arq_create(
            self._world.asker(), objects.ExtARQ(arq=arq), self._profile.id)
        guest = Guest(arq.arq.uuid, str(uuid.uuid4()))
        self.guests.append(guest)
        return guest

    def boot(self, asker, guest: Guest, bus: int) -> str:
        """Allocate, then bind; what went wrong is undone.

        :returns: what became of it.
        """
        self._world.step('allocate')
        if not self._allocate(guest, bus):
            return 'no candidate'
        guest.device = bus
        values = {'hostname': base.HOST, 'instance_uuid': guest.instance,
                  'device_rp_uuid': provider(bus)}
        try:
            self._conductor.arq_apply_patch(
                asker, {guest.arq: [{'op': 'add', 'path': '/hostname'}]},
                {guest.arq: values})
        except Exception:
            # Bound or not, Nova gives up and clears up later.
            guest.leaving = True
            if guest not in self.guests:
                self.guests.append(guest)
            raise
        if guest.leaving:
            return 'bound too late'
        guest.bound = True
        return 'bound'

    def _allocate(self, guest, bus) -> bool:
        answer = self._world.placement.aside(
            'PUT', '/allocations/' + guest.instance, {
                'allocations': {provider(bus): {
                    'resources': {'CUSTOM_PCI': 1}}},
                'consumer_generation': None, 'consumer_type': 'INSTANCE',
                'project_id': 'p', 'user_id': 'u'},
            {'OpenStack-API-Version': 'placement 1.39'})
        return answer.status_code == 204

    def delete(self, asker, guest: Guest) -> str:
        """The request first, then the allocation."""
        if guest.bound:
            guest.bound = False
            guest.leaving = True
            self._conductor.arq_delete_by_instance_uuid(asker, guest.instance)
        else:
            guest.leaving = True
            with contextlib.suppress(exception.ResourceNotFound):
                self._conductor.arq_delete_by_uuid(asker, guest.arq)
        self._world.step('deallocate')
        self._world.placement.aside(
            'DELETE', '/allocations/' + guest.instance,
            headers={'OpenStack-API-Version': 'placement 1.39'})
        if guest in self.guests:
            self.guests.remove(guest)
        return 'deleted'

    def clear_up(self, chosen: Callable[[Guest], bool]) -> None:
        """Delete, maybe again, who is leaving or was never placed."""
        for guest in list(self.guests):
            if not guest.bound and chosen(guest):
                self.delete(self._world.asker(), guest)


class Operator:
    """Takes devices out of service, asking again until it is done."""

    def __init__(self, world):
        self._world = world
        self._placement = placement_client.PlacementClient()

    def set_disabled(self, asker, bus: int, disabled: bool) -> str:
        change = availability.disable if disabled else availability.enable
        for device in objects.Device.list(asker, hostname=base.HOST):
            for deployable in objects.Deployable.list(
                    asker, device_id=device.id):
                if deployable.name == hardware.name(bus):
                    self._world.step('disable' if disabled else 'enable')
                    change(asker, self._placement, device.uuid)
                    return 'done'
        return 'no device'


def provider(bus: int) -> str:
    return provider_plan.provider_uuid(hardware.name(bus))


def actor(name: str, world, work: Callable, *args) -> turns.Actor:
    """Somebody who does ``work(context, *args)``."""
    asker = world.asker()
    result = turns.Actor(name, lambda _actor: work(asker, *args))
    result.request_id = asker.request_id
    return result

# SPDX-License-Identifier: Apache-2.0
"""A compute host with simulated NVMe disks and Nova's providers of them."""

import dataclasses
import json
import os
import threading

import fixtures

from cyborg.cleaner import service
from cyborg.cleaning import states
from cyborg.nvme.simulate import world as sim_world
from cyborg.placement import tree
from cyborg.tests import base
from cyborg.tests.fixtures import placement as placement_fixture
from cyborg.tests.fixtures import processes

NODE = 'compute-1'
ONE, TWO = '0000:81:00.0', '0000:82:00.0'
CLASS = 'CUSTOM_PCI_144D_A808'
MANAGED = 'COMPUTE_MANAGED_PCI_DEVICE'
ONE_TIME_USE = 'HW_PCI_ONE_TIME_USE'
SECRET = b'the tenant\'s own words. '.ljust(512, b'.')

State = states.State


class Ran:
    """Stands for a thread of a job that ran at once."""

    def is_alive(self):
        return False

    def join(self, timeout=None):
        pass


def at_once(target, job):
    target(job)
    return Ran()


def beside(target, job):
    """A thread of its own, as in the service."""
    thread = threading.Thread(target=target, args=(job,), daemon=True)
    thread.start()
    return thread


class Clock:
    def __init__(self):
        self.time = 1_800_000_000.0

    def __call__(self) -> float:
        return self.time

    def pass_(self, seconds: float) -> None:
        self.time += seconds


class ComputeHost(fixtures.Fixture):
    """One host, its disks, Nova's providers, and its cleaner.

    :param disks: addresses; serials are made from their number.
    :param placement: the fixture that makes Placement, or its model.
    """

    def __init__(self, conf, *disks: str, one_time_use: bool = False,
                 placement=placement_fixture.PlacementFixture, **options):
        super().__init__()
        self.conf = conf
        self._placement = placement
        self._addresses = disks
        self.one_time_use = one_time_use
        self.options = options
        self.on_call = None

    def _setUp(self):
        self.clock = Clock()
        self.placement = self.useFixture(self._placement())
        self.path = self.useFixture(fixtures.TempDir()).path
        self.world = sim_world.World(self.path, self.clock)
        self.root = self.placement.add_provider(NODE)
        self.placement.set_inventory(self.root, MEMORY_MB={'total': 4096},
                                     VCPU={'total': 16})
        self.placement.api('PUT', '/resource_classes/' + CLASS)
        self.providers = {}
        for number, address in enumerate(self._addresses, 1):
            self.plug(address, 'SN%04d' % number)
        self.journal_path = os.path.join(self.path, 'journal')
        self.conf.set('pci', sysfs_path=self.world.at('sys'))
        self.conf.set('agent', resource_provider_name=NODE)
        self.conf.set(host=NODE)
        self.conf.set('cleaner', **{
            'device_spec': [json.dumps({'vendor_id': '144d'})],
            'journal_path': self.journal_path, 'settle_seconds': 0,
            'verify_samples': 4, 'unknown': 'clean', **self.options})
        self.cleaner = None
        self.addCleanup(self.stop)

    def plug(self, address: str, serial: str, **abilities) -> None:
        self.world.add(address, serial, **abilities)
        self.add_provider(address)

    def add_provider(self, address: str, reserved: int = 0) -> str:
        """As Nova's PCI tracking makes it."""
        uuid = self.placement.add_provider(
            '%s_%s' % (NODE, address.upper()), self.root)
        self.placement.set_inventory(uuid, **{
            CLASS: {'total': 1, 'max_unit': 1, 'reserved': reserved}})
        self.placement.set_traits(uuid, MANAGED, *(
            [ONE_TIME_USE] if self.one_time_use else []))
        self.providers[address] = uuid
        return uuid

    # The cleaner

    def client(self) -> tree.TreeClient:
        return tree.TreeClient(self.placement.adapter())

    def start(self, spawn=at_once, client=None, pause: float = 0.0):
        cleaner = service.build(
            service.CONF, self.world.host(self.on_call),
            client or self.client(), now=self.clock, spawn=spawn)
        cleaner._settings = dataclasses.replace(cleaner._settings,
                                                pause=pause)
        cleaner.start()
        self.cleaner = cleaner
        return cleaner

    def stop(self):
        if self.cleaner is not None:
            self.cleaner.stop(seconds=1)
            self.cleaner._disks.kernel.die()
            self.cleaner = None

    def look(self, times: int = 1):
        for _ in range(times):
            self.cleaner.look()

    def wait_for(self, condition) -> None:
        """What a thread of the cleaner does."""
        processes.wait_until(condition, 'the cleaner', 60, 0.02)

    def entry(self, address: str = ONE):
        found = [entry for entry in self.cleaner.entries.values()
                 if entry.address == address
                 and entry.state is not State.ABSENT]
        return found[0] if found else None

    def state(self, address: str = ONE):
        entry = self.entry(address)
        return entry and (entry.state.value, entry.reason)

    # Nova and its users

    def reserved(self, address: str = ONE) -> int:
        return self.placement.amounts(self.providers[address])[CLASS][1]

    def allocate(self, address: str = ONE, consumer=None) -> str:
        consumer = self.placement.allocate(self.providers[address], CLASS,
                                           consumer=consumer)
        if self.one_time_use:
            self.placement.set_reserved(self.providers[address], CLASS, 1)
        return consumer

    def boot(self, address: str = ONE):
        """:returns: (consumer, the guest)"""
        consumer = self.allocate(address)
        return consumer, self.guest(address)

    def guest(self, address: str):
        """Start the process of a guest; each disk's has its own number."""
        return self.world.guest(
            address, 4711 + sorted(self.providers).index(address))

    def delete(self, consumer, guest) -> None:
        guest.leave()
        self.placement.deallocate(consumer)

    def media(self, address: str = ONE) -> bytes:
        """All that stands on the disk."""
        media = self.world.media(address)
        return media.read(0, media.state().identity.tnvmcap)

    def marks(self, address: str = ONE) -> set[str]:
        return set(self.placement.api(
            'GET', '/resource_providers/%s/aggregates'
            % self.providers[address])['aggregates'])


class CleanerTestCase(base.TestCase):

    disks = (ONE,)
    one_time_use = False
    options: dict = {}
    placement = placement_fixture.PlacementFixture

    def setUp(self):
        super().setUp()
        self.host = self.useFixture(ComputeHost(
            self.conf, *self.disks, one_time_use=self.one_time_use,
            placement=self.placement, **self.options))

    def assertOffered(self, address=ONE):
        self.assertEqual(('sealed', 'verified'), self.host.state(address))
        self.assertEqual(0, self.host.reserved(address))

    def assertReserved(self, state, reason, address=ONE):
        self.assertEqual((state, reason), self.host.state(address))
        self.assertEqual(1, self.host.reserved(address))

# SPDX-License-Identifier: Apache-2.0
"""Plays the story of one NVMe disk between two guests.

The disk is simulated; Placement, the notifications (over the in-process
transport), the listener and the cleaner are the real ones.
"""

from collections.abc import Callable
import contextlib
import dataclasses
import json
import pathlib
import shutil
import time
from typing import Any
from typing import TextIO
import uuid

from oslo_config import cfg
import oslo_messaging as messaging

from cyborg.cleaner import loop
from cyborg.cleaner import service
from cyborg.common import exception
from cyborg.common import sdk
from cyborg.common.i18n import _
from cyborg.nvme.simulate import world as sim_world
from cyborg.placement import client as placement_client

ADDRESS = '0000:81:00.0'
SECRET = b'The password of the first guest is hunter2.'
_CLASS = 'CUSTOM_PCI_144D_A808'
_TRAIT = 'COMPUTE_MANAGED_PCI_DEVICE'
_VERSION = '1.39'
_SECONDS = 60


class CleaningDemoFailed(exception.CyborgException):
    _msg_fmt = _('the demonstration failed: %(reason)s')


@dataclasses.dataclass
class Stage:
    """What the acts are played with."""

    out: TextIO
    conf: cfg.ConfigOpts
    world: sim_world.World
    cleaner: loop.Cleaner
    provider: str
    notifier: messaging.Notifier
    guest: sim_world.Guest | None = None
    instance: str = ''

    def say(self, text: str = '') -> None:
        print(text, file=self.out, flush=True)

    def placement(self, method: str, path: str, body: Any = None) -> dict:
        """:raises CleaningDemoFailed: any answer but a success."""
        extra = {} if body is None else {'json': body}
        answer = sdk.adapter(
            'placement', placement_client.SERVICE_TYPE).request(
                path, method, microversion=_VERSION, **extra)
        if answer.status_code >= 300:
            raise CleaningDemoFailed(reason='%s %s: %s %s' % (
                method, path, answer.status_code, answer.text))
        return answer.json() if answer.content else {}

    def allocate(self, consumer: str) -> None:
        self.placement('PUT', '/allocations/' + consumer, {
            'allocations': {self.provider: {'resources': {_CLASS: 1}}},
            'consumer_generation': None, 'consumer_type': 'INSTANCE',
            'project_id': str(uuid.uuid4()), 'user_id': str(uuid.uuid4())})

    def notify(self, event: str, instance: str,
               sender: str = 'nova-compute') -> None:
        """As Nova's services do."""
        self.say('  %s sends %s' % (sender, event))
        self.notifier.info({}, event, {
            'nova_object.namespace': 'nova', 'nova_object.version': '1.8',
            'nova_object.name': 'InstanceActionPayload',
            'nova_object.data': {
                'uuid': instance, 'host': self.conf.host,
                'node': self.conf.host, 'flavor': {
                    'nova_object.namespace': 'nova',
                    'nova_object.name': 'FlavorPayload',
                    'nova_object.version': '1.4', 'nova_object.data': {
                        'extra_specs': {
                            'pci_passthrough:alias': 'nvme-type-1:1'}}}}})

    @property
    def reserved(self) -> int:
        return self.placement(
            'GET', '/resource_providers/%s/inventories/%s' % (
                self.provider, _CLASS))['reserved']

    @property
    def state(self) -> str:
        for entry in list(self.cleaner.entries.values()):
            return '%s (%s)' % (entry.state.value, entry.reason)
        return 'unknown'

    def wait_for(self, what: str, condition: Callable[[], bool]) -> None:
        """:raises CleaningDemoFailed: it does not come."""
        limit = time.monotonic() + _SECONDS
        while not condition():
            if time.monotonic() > limit:
                raise CleaningDemoFailed(reason='%s did not come; the disk '
                                         'is %s' % (what, self.state))
            time.sleep(0.05)
        self.show()

    def show(self) -> None:
        self.say('  Placement: reserved %d; the cleaner: %s' % (
            self.reserved, self.state))


def run(conf: cfg.ConfigOpts, state: pathlib.Path, out: TextIO) -> int:
    """Two acts; returns 0, and whatever goes wrong is raised.

    :raises CleaningDemoFailed: something is not as it should be.
    """
    with contextlib.ExitStack() as exits:
        stage = _set_up(conf, state, out, exits)
        stage.say('\nThe host has an NVMe disk at %s, which Nova hands out.'
                  % ADDRESS)
        stage.wait_for('the first cleaning',
                       lambda: stage.state == 'sealed (verified)')
        _first_act(stage)
        _second_act(stage)
        stage.say('\nThat is all of it.')
    return 0


def _first_act(stage: Stage) -> None:
    stage.say('\nAct 1. A guest gets the disk')
    instance = str(uuid.uuid4())
    stage.allocate(instance)
    stage.notify('instance.create.start', instance)
    stage.wait_for('the reservation', lambda: stage.reserved == 1)
    guest = stage.world.guest(ADDRESS)
    guest.write(1, 0, SECRET.ljust(512, b'\0'))
    stage.say('  the guest writes: %s' % SECRET.decode())
    stage.wait_for('the guest\'s disk in the journal',
                   lambda: stage.state.startswith('in_use'))
    stage.say('\nThe guest is deleted')
    guest.leave()
    stage.placement('DELETE', '/allocations/' + instance)
    stage.notify('instance.delete.end', instance)
    stage.wait_for('the cleaning',
                   lambda: stage.state == 'sealed (verified)')
    entry, = stage.cleaner.entries.values()
    stage.say('  erased by %s, %d blocks verified' % (
        entry.method, len(entry.canaries.places)))
    stage.say('\nThe next guest gets the disk')
    second = str(uuid.uuid4())
    stage.allocate(second)
    guest = stage.world.guest(ADDRESS)
    found = guest.read(1, 0, 512)
    if found.strip(b'\0'):
        raise CleaningDemoFailed(reason='the next guest reads %r' % found)
    stage.say('  it reads %d zeros' % len(found))
    guest.write(1, 0, b'Mine.'.ljust(512, b'\0'))
    stage.cleaner.wake.set()
    stage.wait_for('the reservation',
                   lambda: stage.state.startswith('in_use'))
    stage.guest, stage.instance = guest, second


def _second_act(stage: Stage) -> None:
    stage.say('\nAct 2. delete.end comes, and the guest still runs')
    stage.say('  the compute service is down: nova-api deletes the '
              'allocation, and nobody stops the guest')
    touched = len(stage.world.touched(ADDRESS))
    stage.placement('DELETE', '/allocations/' + stage.instance)
    stage.notify('instance.delete.end', stage.instance, 'nova-api')
    stage.wait_for('the end of the allocation',
                   lambda: stage.state.startswith('dirty'))
    stage.cleaner.look()
    uses = stage.world.host().port(ADDRESS).facts().uses
    stage.say('  not touched, because of %s' % '; '.join(
        '%s: %s' % (use.kind, use.holder) for use in uses))
    if len(stage.world.touched(ADDRESS)) != touched:
        raise CleaningDemoFailed(reason='a disk in use was touched')
    stage.say('  the guest reads: %s' % stage.guest.read(
        1, 0, 5).decode())
    stage.say('\nThe guest ends at last')
    stage.guest.leave()
    stage.cleaner.wake.set()
    stage.wait_for('the cleaning',
                   lambda: stage.state == 'sealed (verified)')


def _set_up(conf, state, out, exits) -> Stage:
    place = state / 'cleaning'
    shutil.rmtree(place, ignore_errors=True)
    world = sim_world.World(str(place / 'host'))
    world.add(ADDRESS, 'SIM0001')
    for group, values in (
            ('cleaner', {
                'device_spec': [json.dumps({'vendor_id': '144d'})],
                'journal_path': str(place / 'journal'), 'unknown': 'clean',
                'settle_seconds': 0, 'poll_interval': 1}),
            ('pci', {'sysfs_path': world.at('sys'), 'device_spec': []})):
        for name, value in values.items():
            conf.set_override(name, value, group=group)
            exits.callback(conf.clear_override, name, group=group)
    notifier = messaging.Notifier(
        messaging.get_notification_transport(conf),
        publisher_id='nova-compute:%s' % conf.host, driver='messagingv2',
        topics=conf.cleaner.notification_topics)
    # The one transport of this process has one exchange.
    conf.set_override('notification_exchange', conf.control_exchange,
                      group='cleaner')
    exits.callback(conf.clear_override, 'notification_exchange',
                   group='cleaner')
    cleaner = service.build(conf, world.host())
    stage = Stage(out, conf, world, cleaner, '', notifier)
    stage.provider = _provider(stage)
    for running in (service.CleanerService(cleaner, conf),
                    service.ListenerService(conf)):
        exits.callback(running.stop)
        running.start()
    return stage


def _provider(stage: Stage) -> str:
    """The disk's provider, as Nova's PCI tracking makes it."""
    host = stage.placement('GET', '/resource_providers?name=' +
                           stage.conf.agent.resource_provider_name)
    stage.placement('PUT', '/resource_classes/' + _CLASS)
    made = stage.placement('POST', '/resource_providers', {
        'name': '%s_%s' % (stage.conf.agent.resource_provider_name, ADDRESS),
        'parent_provider_uuid': host['resource_providers'][0]['uuid']})
    path = '/resource_providers/%s/' % made['uuid']
    stage.placement('PUT', path + 'inventories', {
        'resource_provider_generation': made['generation'],
        'inventories': {_CLASS: {'total': 1, 'max_unit': 1}}})
    stage.placement('PUT', path + 'traits', {
        'resource_provider_generation': made['generation'] + 1,
        'traits': [_TRAIT]})
    return made['uuid']

# SPDX-License-Identifier: Apache-2.0
"""CLEAN-28, CLEAN-29, CLEAN-7, CLEAN-3: what a listener does with messages."""

import copy
import json
import pathlib
import time
import uuid

import oslo_messaging as messaging
from oslo_messaging import conffixture

from cyborg.cleaner import listener
from cyborg.cleaner import service
from cyborg.common import rpc
from cyborg.placement import tree
from cyborg.tests.fixtures import rabbit
from cyborg.tests.functional.cleaner import base

ONE = base.ONE
HANDLED = messaging.NotificationResult.HANDLED


def flavor(alias: str | None = 'nvme-type-1:1', version: str = '1.4') -> dict:
    specs = {'pci_passthrough:alias': alias} if alias else {}
    return {'nova_object.name': 'FlavorPayload',
            'nova_object.namespace': 'nova', 'nova_object.version': version,
            'nova_object.data': {'name': 'm1.nvme1', 'extra_specs': specs}}


def payload(instance: str, *, host: str | None = 'compute-1',
            version: str = '1.8', of_flavor: dict | None = None) -> dict:
    """What the document shows, as far as anybody reads it."""
    return {'nova_object.name': 'InstanceActionPayload',
            'nova_object.namespace': 'nova', 'nova_object.version': version,
            'nova_object.data': {
                'uuid': instance, 'host': host, 'node': host,
                'state': 'active', 'flavor': of_flavor or flavor()}}


def changed(instance: str, **data) -> dict:
    result = copy.deepcopy(payload(instance))
    result['nova_object.data'].update(data)
    return result


INSTANCE = str(uuid.uuid4())
#: Each is counted, and nothing else: (event, payload, count)
BAD = [
    (None, payload(INSTANCE), 'malformed'),
    (['instance.create.end'], payload(INSTANCE), 'malformed'),
    ('instance.create.end', None, 'malformed'),
    ('instance.create.end', 'text', 'malformed'),
    ('instance.create.end', [], 'malformed'),
    ('instance.create.end', {}, 'malformed'),
    ('instance.create.end', payload(INSTANCE, version='2.0'), 'malformed'),
    ('instance.create.end', {**payload(INSTANCE),
                             'nova_object.version': 1.8}, 'malformed'),
    ('instance.create.end', {**payload(INSTANCE),
                             'nova_object.namespace': 'other'}, 'malformed'),
    ('instance.create.end', {**payload(INSTANCE), 'nova_object.data': 1},
     'malformed'),
    ('instance.create.end', changed('../../etc'), 'malformed'),
    ('instance.create.end', changed(7), 'malformed'),
    ('instance.create.end', changed(None), 'malformed'),
    ('instance.create.end', changed(INSTANCE, flavor=None), 'malformed'),
    ('instance.create.end', changed(INSTANCE, flavor=flavor(version='2.1')),
     'malformed'),
    ('instance.create.end', changed(INSTANCE, host=7), 'malformed'),
    ('instance.create.end', changed(INSTANCE, node={}), 'malformed'),
    ('compute.instance.create.end', payload(INSTANCE), 'ignored'),
    ('keypair.create.end', payload(INSTANCE), 'ignored'),
    ('instance.create.end', payload(INSTANCE, of_flavor=flavor(None)),
     'ignored'),
]


class EndpointTest(base.CleanerTestCase):

    def setUp(self):
        super().setUp()
        self.hints = []
        self.endpoint = listener.Endpoint(tree.TreeClient(),
                                          self.hints.append)
        self.host.start()
        self.host.look()
        self.assertOffered()

    def hear(self, event, instance, **others):
        return self.endpoint.info({}, 'nova-compute:compute-1', event,
                                  payload(instance, **others), {})

    def test_it_reserves_at_once_and_hints(self):
        """CLEAN-6, from instance.create.start on; host and node may be null.

        """
        for event, host in (('instance.create.start', 'compute-1'),
                            ('instance.create.error', None)):
            consumer = self.host.allocate()
            self.assertEqual(HANDLED, self.hear(event, consumer, host=host))
            self.assertEqual(1, self.host.reserved())
            self.assertEqual(['compute-1'], self.hints)
            self.hints.clear()
            self.host.placement.deallocate(consumer)
            self.host.look()
            self.assertOffered()
        self.assertEqual({'heard': 2}, dict(self.endpoint.counts))

    def test_it_never_lowers(self):
        """CLEAN-7: delete.end with and without an allocation."""
        consumer, guest = self.host.boot()
        self.host.look()
        self.hear('instance.delete.end', consumer)
        self.assertEqual(1, self.host.reserved())
        self.host.delete(consumer, guest)
        self.hear('instance.delete.end', consumer)
        self.assertEqual(1, self.host.reserved())
        self.host.look()
        self.assertOffered()

    def test_it_leaves_the_devices_of_others_alone(self):
        """Nobody would ever free the reservation of a GPU."""
        placement = self.host.placement
        gpu = placement.add_provider('compute-1_0000:41:00.0', self.host.root)
        placement.set_inventory(gpu, VGPU={'total': 1})
        consumer = placement.allocate(gpu, 'VGPU')
        self.hear('instance.create.start', consumer)
        self.assertEqual({'VGPU': (1, 0)}, placement.amounts(gpu))

    def test_bad_messages_are_counted_and_nothing_else(self):
        """CLEAN-28"""
        for event, content, kind in BAD:
            before = self.endpoint.counts[kind]
            self.assertEqual(HANDLED, self.endpoint.info(
                {}, 'nova-compute:compute-1', event, content, {}))
            self.assertEqual(before + 1, self.endpoint.counts[kind],
                             (event, content))
        self.assertEqual([], self.hints)
        self.assertEqual({'malformed', 'ignored'}, set(self.endpoint.counts))
        self.assertEqual([], self.logs.messages('ERROR'))

    def test_any_minor_version_is_understood(self):
        """CLEAN-28"""
        for version in ('1.0', '1.8', '1.99'):
            consumer = self.host.allocate()
            self.hear('instance.create.start', consumer, version=version)
            self.assertEqual(1, self.host.reserved())
            self.host.placement.deallocate(consumer)
            self.host.look()

    def test_placement_is_away(self):
        consumer = self.host.allocate()
        self.host.placement.fail('GET', status=503, times=None)
        self.assertEqual(HANDLED, self.hear('instance.create.start',
                                            consumer))
        self.assertEqual({'placement': 1}, dict(self.endpoint.counts))

    def test_lost_doubled_late_and_forged_messages(self):
        """CLEAN-3: the same end as with none."""
        consumer, guest = self.host.boot()
        for event in ('instance.delete.end', 'instance.create.end',
                      'instance.create.end', 'instance.delete.start'):
            self.hear(event, consumer)
            self.hear(event, str(uuid.uuid4()))
        self.host.look()
        self.assertReserved('in_use', 'allocated')
        self.host.delete(consumer, guest)
        for event in ('instance.create.start', 'instance.create.end'):
            self.hear(event, consumer)
        self.host.look()
        self.assertOffered()

    def test_silence_is_told_with_the_options_of_nova(self):
        """CLEAN-29"""
        for _guest in range(4):
            consumer, guest = self.host.boot()
            self.host.look()
            self.host.delete(consumer, guest)
            self.host.look()
        told = [line for line in self.logs.messages('WARNING')
                if 'no hint of a notification' in line]
        self.assertEqual(1, len(told))
        self.assertIn('notification_format = versioned belongs into '
                      '[notifications]', told[0])
        self.assertIn('[oslo_messaging_notifications]', told[0])


class RabbitTest(base.CleanerTestCase):
    """CLEAN-28, CLEAN-29: as above, over a broker."""

    timeout = 300

    def setUp(self):
        super().setUp()
        host = self.useFixture(rabbit.RabbitVirtualHost())
        conf = self.useFixture(conffixture.ConfFixture(service.CONF))
        conf.transport_url = host.url
        rpc.cleanup()
        rpc.init()
        self.addCleanup(rpc.cleanup)
        self.host.start()
        self.host.look()
        self.transport = messaging.get_notification_transport(service.CONF)
        self.notifier = messaging.Notifier(
            self.nova(), publisher_id='nova-compute:compute-1',
            driver='messagingv2', topics=['versioned_notifications'])

    def nova(self):
        """A transport with Nova's exchange: it keeps that of its making."""
        service.CONF.set_override('control_exchange', 'nova')
        try:
            return messaging.get_notification_transport(service.CONF)
        finally:
            service.CONF.clear_override('control_exchange')

    def listen(self):
        running = service.ListenerService()
        running.start()
        self.addCleanup(running.stop)
        return running

    def wait_for(self, condition, what):
        limit = time.monotonic() + 300
        while not condition():
            self.assertLess(time.monotonic(), limit, what)
            time.sleep(0.05)

    def other(self, heard):
        """A consumer of another service, with a pool of its own."""
        class Endpoint:
            def info(self, ctxt, publisher, event, content, metadata):
                heard.append(event)
        server = messaging.get_notification_listener(
            self.transport, [messaging.Target(
                topic='versioned_notifications', exchange='nova')],
            [Endpoint()], executor='threading', pool='telemetry')
        server.start()
        self.addCleanup(server.wait)
        self.addCleanup(server.stop)

    def test_listeners_share_and_others_lose_nothing(self):
        first, second = self.listen(), self.listen()
        others: list = []
        self.other(others)
        consumer = self.host.allocate()
        self.notifier.info({}, 'instance.create.start', payload(consumer))
        self.wait_for(self.host.reserved, 'a reservation')
        for event, content, _kind in BAD:
            if isinstance(event, str):
                self.notifier.info({}, event, content)
        self.notifier.error({}, 'instance.create.error',
                            payload(consumer, host=None))
        sent = 2 + sum(isinstance(event, str) for event, *_rest in BAD)

        def counted():
            return sum((first.endpoint.counts + second.endpoint.counts)
                       .values())

        self.wait_for(lambda: counted() >= sent, 'all messages')
        # Each was handled once, by one of the two.
        self.assertEqual(sent, counted())
        self.wait_for(lambda: len(others) == sent - 1, 'the other consumer')
        self.assertEqual([], self.logs.messages('ERROR'))

    def test_a_listener_that_was_away(self):
        """Its queue waited; and polling would have done without it."""
        running = service.ListenerService()
        running.start()
        running.stop()
        consumer = self.host.allocate()
        self.notifier.info({}, 'instance.create.start', payload(consumer))
        self.assertEqual(0, self.host.reserved())
        self.listen()
        self.wait_for(self.host.reserved, 'a reservation')

    def test_a_hint_reaches_the_cleaner_of_the_host(self):
        running = service.CleanerService(self.host.cleaner)
        running._serve()
        self.addCleanup(running._server.wait)
        self.addCleanup(running._server.stop)
        self.listen()
        self.host.cleaner.wake.clear()
        consumer = self.host.allocate()
        self.notifier.info({}, 'instance.create.start', payload(consumer))
        self.assertTrue(self.host.cleaner.wake.wait(300))
        self.assertIn('cyborg_cleaner_hints_total 1',
                      self.host.cleaner.metrics.text([], 0))


class DocumentTest(base.CleanerTestCase):

    def test_the_message_of_the_document(self):
        """The very message that the specification shows."""
        text = (pathlib.Path(__file__).parent /
                'delete_end.json').read_text()
        message = json.loads(text)
        self.assertEqual(
            ('a81880d0-e1f3-4195-8785-9078c899f69e', 'aio', 'aio'),
            listener.instance_of(message['payload']))

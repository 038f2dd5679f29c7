# SPDX-License-Identifier: Apache-2.0
"""The model of Placement answers as Placement does."""

import random
import uuid

from cyborg.tests import amount
from cyborg.tests import base
from cyborg.tests.fixtures import placement as placement_fixture
from cyborg.tests.fixtures import placement_model

CLASSES = ('CUSTOM_ONE', 'CUSTOM_TWO')
VERSION = {'OpenStack-API-Version': 'placement 1.39'}
#: What an answer says of a time or of the writer.
_OTHERS = {'links', 'request_id', 'consumer_generation', 'project_id',
           'user_id', 'consumer_type', 'provider_summaries',
           'allocation_requests'}


def told(value):
    """What a client of ours reads of an answer."""
    if isinstance(value, dict):
        return {name: told(each) for name, each in value.items()
                if name not in _OTHERS}
    if isinstance(value, list):
        return sorted((told(each) for each in value), key=str)
    return value


class ModelTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.both = [self.useFixture(each()) for each in (
            placement_fixture.PlacementFixture,
            placement_model.PlacementModel)]
        for name in ('traits/CUSTOM_MARK', *(
                'resource_classes/' + each for each in CLASSES)):
            for each in self.both:
                each.api('PUT', '/' + name)

    def ask(self, method, path, body=None):
        """The same of both.

        :returns: the body of their answer.
        """
        answers = [each.aside(method, path, body, VERSION)
                   for each in self.both]
        status = [answer.status_code for answer in answers]
        self.assertEqual(status[0], status[1], (method, path, body,
                                                answers[0].text))
        bodies = [answer.json() if answer.content else None
                  for answer in answers]
        if status[0] >= 400:
            codes = [each['errors'][0].get('code') for each in bodies]
            if 'concurrent' in codes[0] or 'inuse' in codes[0]:
                self.assertEqual(*codes)
        elif method != 'POST':
            self.assertEqual(told(bodies[0]), told(bodies[1]),
                             (method, path, body))
        return bodies[0] or {}

    def test_random_calls(self):
        for seed in range(amount.amount('CYBORG_TEST_PLACEMENT_MODEL', 1,
                                        20)):
            Calls(self, random.Random(seed)).run()


class Calls:
    """Calls drawn at random, on three providers and three consumers."""

    def __init__(self, case, chooser):
        self.ask, self.random = case.ask, chooser
        self.providers = [str(uuid.UUID(int=chooser.getrandbits(128)))
                          for _number in range(3)]
        self.consumers = [str(uuid.UUID(int=chooser.getrandbits(128)))
                          for _number in range(3)]

    def run(self):
        for _step in range(50):
            call = self.random.choice((
                self.provider, self.inventories, self.inventories,
                self.inventory, self.traits, self.aggregates, self.allocate,
                self.allocate, self.free))
            call(self.random.choice(self.providers))
            self.look()

    def generation(self, one):
        """The right one, mostly."""
        found = self.ask('GET', '/resource_providers/' + one).get(
            'generation', 0)
        return found + self.random.choice((0, 0, 0, 1))

    def provider(self, one):
        if self.random.random() < 0.3:
            self.ask('DELETE', '/resource_providers/' + one)
            return
        root = self.providers[0]
        self.ask('POST', '/resource_providers', {
            'uuid': one, 'name': 'name-' + one, **(
                {} if one == root or not self.ask(
                    'GET', '/resource_providers/' + root)
                else {'parent_provider_uuid': root})})

    def record(self):
        total = self.random.randrange(1, 4)
        return {'total': total, 'reserved': self.random.randrange(total + 1)}

    def inventories(self, one):
        self.ask('PUT', '/resource_providers/%s/inventories' % one, {
            'resource_provider_generation': self.generation(one),
            'inventories': {name: self.record() for name in CLASSES
                            if self.random.random() < 0.7}})

    def inventory(self, one):
        name = self.random.choice(CLASSES)
        path = '/resource_providers/%s/inventories/%s' % (one, name)
        if 'total' in self.ask('GET', path):
            self.ask('PUT', path, {
                'resource_provider_generation': self.generation(one),
                **self.record()})

    def traits(self, one):
        self.ask('PUT', '/resource_providers/%s/traits' % one, {
            'resource_provider_generation': self.generation(one),
            'traits': self.random.choice(([], ['CUSTOM_MARK']))})

    def aggregates(self, one):
        self.ask('PUT', '/resource_providers/%s/aggregates' % one, {
            'resource_provider_generation': self.generation(one),
            'aggregates': self.random.choice(([], [self.consumers[0]]))})

    def allocate(self, one):
        if 'uuid' not in self.ask('GET', '/resource_providers/' + one):
            return
        self.ask('PUT', '/allocations/' + self.random.choice(
            self.consumers), {
                'allocations': {one: {'resources': {
                    self.random.choice(CLASSES):
                    self.random.randrange(1, 3)}}},
                'consumer_generation': None, 'consumer_type': 'INSTANCE',
                'project_id': self.providers[0],
                'user_id': self.providers[0]})

    def free(self, _one):
        self.ask('DELETE', '/allocations/' + self.random.choice(
            self.consumers))

    def look(self):
        one = self.random.choice(self.providers)
        for what in ('', '/inventories', '/traits', '/aggregates', '/usages',
                     '/allocations'):
            self.ask('GET', '/resource_providers/%s%s' % (one, what))
        self.ask('GET', '/resource_providers?in_tree=' + one)
        self.ask('GET', '/resource_providers?name=name-' + one)
        self.ask('GET', '/allocations/' + self.random.choice(self.consumers))
        self.ask('GET', '/allocation_candidates?resources=%s:1&in_tree=%s&'
                 'limit=1' % (CLASSES[0], one))

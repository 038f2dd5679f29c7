# SPDX-License-Identifier: Apache-2.0
"""Many requests cost little more than one (PERF-2, PERF-6)."""

import json
import uuid

import oslo_messaging as messaging
import testscenarios

from cyborg import objects
from cyborg.api import microversions
from cyborg.api import requests
from cyborg.api.views import accelerator_requests as views
from cyborg.common import exception
from cyborg.db.sqlalchemy import models
from cyborg.objects import shown_arq
from cyborg.rpcapi import conductor as rpcapi
from cyborg.tests.fixtures import database
from cyborg.tests.fixtures import rows
from cyborg.tests.functional.api import base


class Watched:
    """A conductor's client that tells what was asked."""

    def __init__(self, conductor, refuses=False):
        self._conductor, self._refuses = conductor, refuses
        self.calls = []

    def __getattr__(self, name):
        method = getattr(self._conductor, name)
        if name.startswith('supports'):
            return method

        def call(*args):
            self.calls.append(name)
            if self._refuses and name == 'arq_create_many':
                raise messaging.RemoteError('UnsupportedVersion', '1.2')
            return method(*args)
        return call


class CreationTest(base.ApiTestCase):

    def setUp(self):
        super().setUp()
        self.profile('many', **{'resources:CUSTOM_PCI': '64'})
        self.context.project_id = base.PROJECT_A

    def create(self, conductor):
        watched = Watched(conductor)
        with self.service.db.count_statements() as sql:
            created = requests.create(self.context, watched, 'many')
        self.assertEqual(64, len({each.uuid for each in created}))
        return watched.calls, len(sql)

    def test_cost(self):
        """The profile, all requests, and what was stored."""
        calls, statements = self.create(self.service.conductor)
        self.assertEqual(['arq_create_many'], calls)
        self.assertEqual(3, statements)

    def test_in_order_and_as_they_are_listed(self):
        created = self.member.post('/v2/accelerator_requests', {
            'device_profile_name': 'many'})
        self.assertEqual(201, created.status)
        listed = self.member.get('/v2/accelerator_requests')
        self.assertEqual(created.text, listed.text)

    def test_older_conductors(self):
        """Under a cap, or in front of one that does not know the call."""
        for cap in ('1.1', '1.0'):
            self.conf.set(group='upgrade_levels', conductor=cap)
            calls, _ = self.create(rpcapi.ConductorAPI())
            self.assertEqual(['arq_create'] * 64, calls)
        watched = Watched(self.service.conductor, refuses=True)
        created = requests.create(self.context, watched, 'many')
        self.assertEqual(['arq_create_many'] + ['arq_create'] * 64,
                         watched.calls)
        self.assertEqual(64, len(created))

    def test_the_profile_went(self):
        profile = objects.DeviceProfile.get_by_name(self.context, 'many')
        self.assertRaises(
            exception.ResourceNotFound,
            self.service.conductor.arq_create_many, self.context,
            [{'uuid': str(uuid.uuid4()), 'device_profile_group_id': 0,
              'project_id': None}], profile.id + 1)

    def test_a_uuid_is_taken(self):
        """All or none."""
        profile = objects.DeviceProfile.get_by_name(self.context, 'many')
        taken, free = self.arqs('many')[0], str(uuid.uuid4())
        before = self.content()
        error = self.assertRaises(
            exception.ExtArqAlreadyExists,
            self.service.conductor.arq_create_many, self.context,
            [{'uuid': each, 'device_profile_group_id': 0, 'project_id': None}
             for each in (free, taken)], profile.id)
        self.assertIn(taken, error.message)
        self.assertEqual(before, self.content())

    def test_without_a_project(self):
        """Nobody but an admin sees them afterwards; the answer shows them."""
        self.context.project_id = None
        created = requests.create(self.context, self.service.conductor,
                                  'many')
        self.assertEqual({None}, {each.project_id for each in created})


class BindingTest(testscenarios.WithScenarios, base.ApiTestCase):
    """What N requests cost that are bound, unbound and deleted at once."""

    scenarios = database.SCENARIOS

    def requests(self, count: int) -> list[str]:
        name = 'many-%s' % uuid.uuid4()
        self.profile(name, **{'resources:CUSTOM_PCI': str(count)})
        return self.arqs(name)

    def devices(self, count: int, shared: bool) -> list:
        """One for each request; or up to eight have the same."""
        start = 8 * count + (64 if shared else 0)
        if not shared:
            return [self.device(bus=start + number)
                    for number in range(count)]
        cards = [self.device(bus=start + number, handles=8)
                 for number in range(0, count, 8)]
        return [cards[number // 8] for number in range(count)]

    def statements(self, call) -> int:
        with self.service.db.count_statements() as sql:
            answer = call()
        self.assertIn(answer.status, (202, 204), answer)
        return len(sql)

    def bind_all(self, arqs, devices, instance) -> int:
        return self.statements(lambda: self.patch({
            arq: self.binding(device, instance=instance)
            for arq, device in zip(arqs, devices, strict=True)}))

    def assertAllFree(self) -> None:
        handles = self.content()['attach_handles']
        column = [each.name for each in models.AttachHandle.__table__.columns
                  ].index('in_use')
        self.assertEqual({False}, {bool(row[column]) for row in handles})

    def test_statements_beside_the_claims_are_constant(self):
        rest = set()
        for shared in (False, True):
            for count in (1, 4, 16):
                devices = self.devices(count, shared)
                arqs, instance = self.requests(count), str(uuid.uuid4())
                bound = self.bind_all(arqs, devices, instance)
                self.assertLessEqual(bound, 12 + 2 * count)
                self.assertEqual({'Bound'}, set(self.states(*arqs)))
                taken = [tuple(self.arq(arq)['attach_handle_info'].values())
                         for arq in arqs]
                self.assertEqual(count, len(set(taken)))
                unbound = self.statements(lambda arqs=arqs: self.patch(
                    {arq: self.unbinding() for arq in arqs}))
                self.assertEqual({'Unbound'}, set(self.states(*arqs)))
                self.assertAllFree()
                self.bind_all(arqs, devices, instance)
                by_instance = self.statements(
                    lambda instance=instance: self.nova.delete(
                        '/v2/accelerator_requests?instance=' + instance))
                self.assertAllFree()
                arqs = self.requests(count)
                self.bind_all(arqs, devices, instance)
                by_uuid = self.statements(lambda arqs=arqs: self.nova.delete(
                    '/v2/accelerator_requests?arqs=' + ','.join(arqs)))
                self.assertAllFree()
                self.assertEqual([], self.content()[
                    'extended_accelerator_requests'])
                rest.add((unbound, by_instance, by_uuid))
        self.assertEqual({(5, 3, 4)}, rest)

    def test_every_request_has_the_handle_of_its_own_provider(self):
        devices = self.devices(16, False)
        arqs = self.requests(16)
        self.bind_all(arqs, devices, base.INSTANCE)
        self.assertEqual(
            [json.loads(device.handles[0].attach_info)['bus']
             for device in devices],
            [self.arq(arq)['attach_handle_info']['bus'] for arq in arqs])

    def test_one_of_many_cannot_be_bound(self):
        """None is then, and the error is about that one."""
        devices = self.devices(4, False)
        rows.change(devices[2].handles[0], in_use=True)
        arqs = self.requests(4)
        answer = self.patch({
            arq: self.binding(device)
            for arq, device in zip(arqs, devices, strict=True)})
        self.assertFault(404, answer, 'for accelerator request %s: all 1 of '
                         'resource provider %s' % (
                             arqs[2], devices[2].deployable.rp_uuid))
        self.assertEqual({'BindFailed'}, set(self.states(*arqs)))
        rows.change(devices[2].handles[0], in_use=False)
        self.assertAllFree()


class ShownTest(base.ApiTestCase):

    def test_same_documents_as_from_objects(self):
        """To the byte, in every version, of every kind of handle."""
        profile = rows.profile()
        texts = [rows.address(1), rows.address(2, managed=False),
                 rows.address(3, stateful=True, numa_node=1),
                 rows.address(4, physical_network='net', note='ü'),
                 rows.address(5, numa_node=None)]
        card = self.device(handles=len(texts))
        for handle, text in zip(card.handles, texts, strict=True):
            rows.change(handle, attach_info=text)
            rows.arq(profile, handle, instance_uuid=base.INSTANCE,
                     hostname='h', project_id=base.PROJECT_A)
        mediated = self.device(bus=9)
        rows.change(mediated.handles[0], attach_type='MDEV')
        rows.arq(profile, mediated.handles[0])
        for state in ('Initial', 'BindStarted', 'BindFailed', 'Unbound',
                      'Deleting'):
            rows.arq(profile, None, state=state)
        rows.arq(profile, card.handles[0], state='BindStarted')
        self.context.is_admin = True
        shown = shown_arq.list_(self.context)
        found = objects.ExtARQ.list(self.context)
        self.assertEqual(12, len(shown))
        for version in (microversions.Version(2, 0), microversions.MAXIMUM):
            self.assertEqual(*(json.dumps(views.listing(
                arqs, version, 'http://h')) for arqs in (
                    [each.arq for each in found], shown)))

    def test_damage_is_told_alike(self):
        card = self.device()
        rows.change(card.handles[0], attach_info='[1]')
        rows.arq(rows.profile(), card.handles[0])
        self.context.is_admin = True
        errors = [self.assertRaises(
            exception.AttachInfoInvalid, views.listing, arqs,
            microversions.MAXIMUM, 'http://h') for arqs in (
                [each.arq for each in objects.ExtARQ.list(self.context)],
                shown_arq.list_(self.context))]
        self.assertEqual(errors[0].message, errors[1].message)

# SPDX-License-Identifier: Apache-2.0
"""Binding and unbinding ARQs over RPC."""

import contextlib
import json
import sqlite3
import threading
import uuid

import oslo_messaging as messaging
import sqlalchemy as sa

from cyborg.common import exception
from cyborg.db import api
from cyborg.db import binding
from cyborg.db import unbinding
from cyborg.db.sqlalchemy import models
from cyborg.placement import provider_plan
from cyborg.tests.fixtures import processes
from cyborg.tests.functional.conductor import base

NAME = 'compute-1_0000:01:00.0'
OTHER = 'compute-1_0000:02:00.0'
MDEV = {'asked_type': 'nvidia-35', 'vgpu_mark': 'm0'}


class BindTest(base.ConductorTestCase):

    def setUp(self):
        super().setUp()
        self.report(base.device(1), base.device(2, handles=base.handles(
            4, 2)))

    def assertFree(self, name=NAME):
        for handle in self.deployable(name).handles:
            self.assertFalse(handle.allocated, handle)

    def assertState(self, state, *arqs):
        self.assertEqual([state] * len(arqs),
                         [self.arq_row(arq).state for arq in arqs])

    def test_bind(self):
        """B45: the ARQ knows its deployable, and Nova hears of it."""
        arq = self.arq()
        instance = self.bind(arq, name=NAME)
        row, deployable = self.arq_row(arq), self.deployable(NAME)
        handle = deployable.handles[0]
        self.assertEqual(
            ('Bound', base.HOST, self.provider(NAME), instance, handle.id,
             deployable.id, 'p' * 32),
            (row.state, row.hostname, row.device_rp_uuid, row.instance_uuid,
             row.attach_handle_id, row.deployable_id, row.project_id))
        self.assertEqual((True, (arq,)), (handle.in_use, handle.arq_uuids))
        self.assertEqual(
            [{'name': 'accelerator-request-bound', 'server_uuid': instance,
              'tag': arq, 'status': 'completed'}], self.nova.events)

    def test_bind_takes_oldest_handle(self):
        for position in range(4):
            self.bind(self.arq(), name=OTHER)
            self.assertEqual(
                [n <= position for n in range(4)],
                [h.in_use for h in self.deployable(OTHER).handles])

    def test_statements_of_one_bind(self):
        """At most 15, whatever else exists."""
        for _count in range(3):
            self.bind(self.arq(), name=OTHER)
        self.report(base.device(1), *(
            base.device(bus) for bus in range(3, 30)),
            base.device(2, handles=base.handles(4, 2)))
        for _count in range(20):
            self.arq()
        arq = self.arq()
        with self.db.count_statements() as sql:
            self.bind(arq, name=NAME)
        self.assertLessEqual(len(sql), 15)
        self.assertState('Bound', arq)

    def test_one_of_many_that_others_change_meanwhile(self):
        """It is looked at again, and the others go with it or without it."""
        self.report(base.device(1), base.device(2, handles=base.handles(
            4, 2)), base.device(3, handles=base.handles(4, 3)))
        third = 'compute-1_0000:03:00.0'
        for again in (lambda arq: self.bind(arq, name=third),
                      lambda arq: self.conductor.arq_delete_by_uuid(
                          self.context, arq)):
            arqs = sorted(self.arq() for _ in range(4))
            self.bind(*arqs, name=OTHER)
            found = unbinding.holdings(self.context, uuids=arqs)
            self.unbind(arqs[1])
            again(arqs[1])
            gone = unbinding.release_held(self.context, found, None)
            self.assertState('Unbound', arqs[0], *arqs[2:])
            self.assertFree(OTHER)
            self.assertFree(third)
            self.assertIn(gone, ([], [arqs[1]]))

    def test_exchange_of_what_others_change_meanwhile(self):
        """Nothing is done, and the error is about the one they changed."""
        arqs = sorted(self.arq() for _ in range(3))
        self.bind(*arqs, name=OTHER)
        found = unbinding.holdings(self.context, uuids=arqs)
        self.unbind(arqs[1])
        new = self.arq()
        request = binding.Request(new, base.HOST, self.provider(OTHER),
                                  str(uuid.uuid4()))
        error = self.assertRaises(
            exception.ARQBadState, unbinding.exchange, self.context, found,
            [request], frozenset())
        self.assertIn(arqs[1], error.message)
        self.assertIn('Unbound', error.message)
        self.assertState('Bound', arqs[0], arqs[2])
        self.assertState('Initial', new)

    def test_handles_exhausted(self):
        """B42"""
        self.bind(self.arq(), name=NAME)
        arq = self.arq()
        error = self.assertRaises(exception.ResourceNotFound, self.bind, arq,
                                  name=NAME)
        self.assertIn('all 1 of resource provider', error.message)
        row = self.arq_row(arq)
        self.assertEqual(('BindFailed', None), (row.state,
                                                row.attach_handle_id))
        # Nova deletes by instance what failed.
        self.assertIsNotNone(row.instance_uuid)
        self.assertEqual('failed', self.nova.statuses()[arq])

    def test_damaged_handles_are_passed_over(self):
        """Nova could not be told how to attach what cannot be read."""
        handles = self.deployable(OTHER).handles
        for handle, text in zip(handles, (
                'no JSON', '{"bus": "3b"}', self._with(
                    handles[2], managed='maybe')), strict=False):
            self._store(handle, text)
        arqs = [self.arq(), self.arq()]
        self.bind(arqs[0], name=OTHER)
        self.assertEqual(handles[3].id, self.arq_row(
            arqs[0]).attach_handle_id)
        error = self.assertRaises(exception.AttachInfoInvalid, self.bind,
                                  arqs[1], name=OTHER)
        self.assertEqual(
            'The stored attach info of attach handle %s on host %s is not '
            'usable: attach_info is no JSON: not JSON. Repair attach_handles.'
            'attach_info in the database.' % (handles[0].uuid, base.HOST),
            error.message)
        self.assertState('BindFailed', arqs[1])
        self.assertEqual('failed', self.nova.statuses()[arqs[1]])
        self._store(handles[1], handles[1].attach_info)
        arq = self.arq()
        self.bind(arq, name=OTHER)
        self.assertEqual(handles[1].id, self.arq_row(arq).attach_handle_id)

    def _store(self, handle, text):
        with self.db.engine.begin() as connection:
            connection.execute(sa.update(models.AttachHandle).where(
                models.AttachHandle.id == handle.id).values(
                    attach_info=text))

    @staticmethod
    def _with(handle, **settings):
        return json.dumps(json.loads(handle.attach_info) | settings)

    def test_set_is_bound_as_a_whole_or_not(self):
        """B43: the second ARQ fails, the first leaves nothing."""
        arqs = [self.arq(), self.arq()]
        self.assertRaises(exception.ResourceNotFound, self.bind, *arqs,
                          name=NAME)
        self.assertState('BindFailed', *arqs)
        self.assertFree()
        self.assertEqual(dict.fromkeys(arqs, 'failed'),
                         self.nova.statuses())

    def test_set_of_several_providers(self):
        one, two = self.arq(), self.arq()
        instance = str(uuid.uuid4())
        fields = {
            arq: {'hostname': base.HOST, 'instance_uuid': instance,
                  'device_rp_uuid': self.provider(name)}
            for arq, name in ((one, NAME), (two, OTHER))}
        self.conductor.arq_apply_patch(
            self.context, {arq: [{'op': 'add', 'path': '/hostname'}]
                           for arq in fields}, fields)
        self.assertState('Bound', one, two)
        self.assertEqual({one: 'completed', two: 'completed'},
                         self.nova.statuses())

    def test_unknown_provider(self):
        """FAULT-6: BindFailed rather than BindStarted for ever."""
        arq = self.arq()
        self.assertRaises(exception.ResourceNotFound, self.bind, arq,
                          name='nothing')
        self.assertState('BindFailed', arq)
        self.assertEqual('failed', self.nova.statuses()[arq])

    def test_provider_of_another_host(self):
        """FAULT-7"""
        arq = self.arq()
        error = self.assertRaises(exception.BindHostMismatch, self.bind, arq,
                                  name=NAME, host='elsewhere')
        for word in (arq, 'elsewhere', base.HOST, self.provider(NAME)):
            self.assertIn(word, error.message)
        self.assertState('BindFailed', arq)
        self.assertFree()

    def test_host_name_in_other_letter_case(self):
        arq = self.arq()
        self.bind(arq, name=NAME, host='COMPUTE-1')
        self.assertState('Bound', arq)

    def test_disabled_device(self):
        device = self.host().devices[0]
        self.change(models.Device, device.id, status='maintaining')
        arq = self.arq()
        error = self.assertRaises(exception.BindDeviceDisabled, self.bind,
                                  arq, name=NAME)
        self.assertIn(device.uuid, error.message)
        self.assertState('BindFailed', arq)

    def test_two_deployables_with_one_provider(self):
        self.change(models.Deployable, self.deployable(OTHER).id,
                    rp_uuid=self.provider(NAME))
        arq = self.arq()
        self.assertRaises(exception.ExpectedOneObject, self.bind, arq,
                          name=NAME)
        self.assertState('BindFailed', arq)

    def test_bound_arq_is_not_bound_again(self):
        arq = self.arq()
        self.bind(arq, name=NAME)
        error = self.assertRaises(exception.ARQBadState, self.bind, arq,
                                  name=OTHER)
        # FAULT-15: states, not letters.
        self.assertIn('Initial, Unbound', error.message)
        self.assertState('Bound', arq)
        self.assertFree(OTHER)
        self.assertEqual('completed', self.nova.statuses()[arq])

    def test_failed_arq_needs_unbinding_first(self):
        arq = self.arq()
        self.assertRaises(exception.ResourceNotFound, self.bind, arq,
                          name='nothing')
        self.assertRaises(exception.ARQBadState, self.bind, arq, name=NAME)
        self.unbind(arq)
        self.bind(arq, name=NAME)
        self.assertState('Bound', arq)

    def test_unknown_arq_in_set(self):
        """FAULT-13: the known one is not touched."""
        arq = self.arq()
        self.assertRaises(exception.ResourceNotFound, self.bind, arq,
                          str(uuid.uuid4()), name=NAME)
        self.assertState('Initial', arq)
        self.assertFree()

    def test_other_projects_arq(self):
        """B57"""
        arq = self.arq()
        self.context.is_admin = False
        self.context.project_id = 'another'
        self.assertRaises(exception.ResourceNotFound, self.bind, arq,
                          name=NAME)
        self.context.project_id = None
        self.assertRaises(exception.ResourceNotFound, self.unbind, arq)
        self.assertState('Initial', arq)

    def test_admin_keeps_owner(self):
        """FAULT-11"""
        arq = self.arq()
        self.context.project_id = 'a' * 32
        self.bind(arq, name=NAME)
        self.assertEqual('p' * 32, self.arq_row(arq).project_id)

    def test_new_owner(self):
        arq, instance = self.arq(), str(uuid.uuid4())
        self.conductor.arq_apply_patch(
            self.context, {arq: [{'op': 'add', 'path': '/hostname'}]},
            {arq: {'hostname': base.HOST, 'instance_uuid': instance,
                   'device_rp_uuid': self.provider(NAME),
                   'project_id': 'n' * 32}})
        self.assertEqual('n' * 32, self.arq_row(arq).project_id)

    def test_mixed_operations(self):
        arq = self.arq()
        self.assertRaises(
            exception.PatchError, self.conductor.arq_apply_patch,
            self.context, {arq: [{'op': 'add', 'path': '/hostname'},
                                 {'op': 'remove', 'path': '/hostname'}]}, {})

    def test_missing_values(self):
        arq = self.arq()
        error = self.assertRaises(
            exception.PatchError, self.conductor.arq_apply_patch,
            self.context, {arq: [{'op': 'add', 'path': '/hostname'}]},
            {arq: {'hostname': base.HOST}})
        self.assertIn('device_rp_uuid, instance_uuid', error.message)
        self.assertState('Initial', arq)

    def test_unbind_of_one_and_bind_of_another(self):
        """accelerator_requests.json, patch-mixed-ops-two-arqs"""
        one, two = self.arq(), self.arq()
        self.bind(one, name=NAME)
        self.conductor.arq_apply_patch(
            self.context, {one: [{'op': 'remove', 'path': '/hostname'}],
                           two: [{'op': 'add', 'path': '/hostname'}]},
            {one: {}, two: {'hostname': base.HOST,
                            'instance_uuid': str(uuid.uuid4()),
                            'device_rp_uuid': self.provider(NAME)}})
        self.assertState('Unbound', one)
        self.assertState('Bound', two)

    def test_neither_unbound_nor_bound_when_one_cannot_be(self):
        one, two, three = self.arq(), self.arq(), self.arq()
        instance = self.bind(one, name=NAME)
        values = {'hostname': base.HOST, 'instance_uuid': str(uuid.uuid4()),
                  'device_rp_uuid': self.provider(NAME)}
        self.assertRaises(
            exception.ResourceNotFound, self.conductor.arq_apply_patch,
            self.context,
            {one: [{'op': 'remove', 'path': '/hostname'}],
             two: [{'op': 'add', 'path': '/hostname'}],
             three: [{'op': 'add', 'path': '/hostname'}]},
            {one: {}, two: values, three: values})
        self.assertState('Bound', one)
        self.assertEqual(instance, self.arq_row(one).instance_uuid)
        self.assertEqual((one,), self.handle(NAME).arq_uuids)
        self.assertState('BindFailed', two, three)

    def test_handle_claimed_by_one_mark_only(self):
        """A crash of 2026.2 between its two writes leaves only one mark."""
        first, second = self.deployable(OTHER).handles[:2]
        self.change(models.AttachHandle, first.id, in_use=True)
        stray = self.arq()
        row = self.arq_row(stray)
        self.change(models.ExtARQ, row.id, attach_handle_id=second.id)
        self.change(models.AttachHandle,
                    self.deployable(OTHER).handles[2].id, in_use=None)
        arq = self.arq()
        self.bind(arq, name=OTHER)
        self.assertEqual(self.deployable(OTHER).handles[2].id,
                         self.arq_row(arq).attach_handle_id)


class NovaTest(base.ConductorTestCase):
    """FAULT-12: what Nova says never changes what is bound."""

    def setUp(self):
        super().setUp()
        self.report(base.device(1))

    def test_instance_without_host_yet(self):
        """B48"""
        self.nova.answer, self.nova.codes = 207, [422]
        arq = self.arq()
        self.bind(arq, name=NAME)
        self.assertEqual('Bound', self.arq_row(arq).state)
        self.assertNotLogged('WARNING', arq)

    def test_every_failure_is_the_same_error(self):
        for answer, codes in ((404, []), (500, []), (207, [404])):
            self.nova.answer, self.nova.codes = answer, codes
            arq = self.arq()
            self.assertRaises(exception.InvalidAPIResponse, self.bind, arq,
                              name=NAME)
            self.assertEqual('Bound', self.arq_row(arq).state)
            self.unbind(arq)

    def test_nova_does_not_answer(self):
        self.nova.fail('.*', status=None)
        arq = self.arq()
        self.assertRaises(exception.InvalidAPIResponse, self.bind, arq,
                          name=NAME)
        self.assertEqual('Bound', self.arq_row(arq).state)

    def test_failed_bind_keeps_its_reason(self):
        """B60: trouble with Nova does not hide why nothing was bound."""
        self.nova.answer = 500
        arq = self.arq()
        self.assertRaises(exception.ResourceNotFound, self.bind, arq,
                          name='nothing')
        self.assertEqual('BindFailed', self.arq_row(arq).state)

    def test_no_nova_configured(self):
        self.conf.set(group='nova', auth_type=None)
        other = self.start_conductor()
        arq = self.arq()
        self.bind(arq, name=NAME, by=other)
        self.assertEqual('Bound', self.arq_row(arq).state)
        self.assertEqual([], self.nova.events)


class UnbindTest(base.ConductorTestCase):

    def setUp(self):
        super().setUp()
        self.report(base.device(1))

    def assertUnbound(self, arq):
        row = self.arq_row(arq)
        self.assertEqual(
            ('Unbound', None, None, None, None, None, 'p' * 32),
            (row.state, row.hostname, row.device_rp_uuid, row.instance_uuid,
             row.attach_handle_id, row.deployable_id, row.project_id))
        self.assertFalse(self.handle(NAME).allocated)

    def test_unbind_from_every_state(self):
        for state in ('Initial', 'BindStarted', 'Bound', 'BindFailed',
                      'Unbound', 'Deleting'):
            arq = self.arq()
            if state in ('BindStarted', 'Bound'):
                self.bind(arq, name=NAME)
            self.change(models.ExtARQ, self.arq_row(arq).id, state=state)
            self.unbind(arq)
            self.assertUnbound(arq)
            self.unbind(arq)
            self.assertUnbound(arq)

    def test_unbind_arq_whose_handle_is_gone(self):
        """One bound ARQ with a missing handle row broke every list."""
        arq = self.arq()
        self.bind(arq, name=NAME)
        with contextlib.closing(sqlite3.connect(self.db.path)) as connection:
            connection.execute('UPDATE attach_handles SET id = 999')
            connection.commit()
        self.unbind(arq)
        self.assertEqual('Unbound', self.arq_row(arq).state)

    def test_unknown_arq_stops_the_whole_request(self):
        arq = self.arq()
        self.bind(arq, name=NAME)
        unknown = str(uuid.uuid4())
        error = self.assertRaises(exception.ResourceNotFound, self.unbind,
                                  arq, unknown)
        self.assertIn(unknown, error.message)
        self.assertEqual('Bound', self.arq_row(arq).state)

    def test_delete_by_uuid(self):
        one, two = self.arq(), self.arq()
        self.bind(one, name=NAME)
        self.conductor.arq_delete_by_uuid(self.context, '%s, %s' % (one, two))
        self.assertEqual(0, self.count(models.ExtARQ))
        self.assertFalse(self.handle(NAME).allocated)
        self.assertRaises(exception.ResourceNotFound,
                          self.conductor.arq_delete_by_uuid, self.context,
                          one)

    def test_delete_by_instance(self):
        one, two = self.arq(), self.arq()
        instance = self.bind(one, name=NAME)
        for _count in range(2):
            self.conductor.arq_delete_by_instance_uuid(self.context, instance)
        self.assertEqual('Initial', self.arq_row(two).state)
        self.assertEqual(1, self.count(models.ExtARQ))
        self.assertFalse(self.handle(NAME).allocated)

    def test_handle_of_two_arqs_stays_with_the_other(self):
        """Damage of an earlier release: two ARQs on one handle."""
        one, two = self.arq(), self.arq()
        self.bind(one, name=NAME)
        self.change(models.ExtARQ, self.arq_row(two).id, state='Bound',
                    attach_handle_id=self.handle(NAME).id)
        self.unbind(one)
        self.assertTrue(self.handle(NAME).in_use)
        self.unbind(two)
        self.assertFalse(self.handle(NAME).in_use)

    def test_bound_by_another_request_meanwhile(self):
        """The handle that was bound after the first look is freed, too."""
        arq = self.arq()
        seen = unbinding.holdings(self.context, uuids=[arq])
        self.bind(arq, name=NAME)
        self.assertEqual([], unbinding.release_held(
            self.context, seen, remove_mdev=None))
        self.assertUnbound(arq)


class _Agent:
    """An agent's RPC methods, recorded; ``fail`` names those that fail."""

    def __init__(self):
        self.calls = []
        self.fail = {}

    def _do(self, name, values):
        self.calls.append((name, values))
        if name in self.fail:
            raise self.fail[name]
        return True

    def create_vgpu_mdev(self, context, pci_addr, asked_type, ah_uuid):
        return self._do('create', (pci_addr, asked_type, ah_uuid))

    def remove_vgpu_mdev(self, context, pci_addr, asked_type, ah_uuid):
        return self._do('remove', (pci_addr, asked_type, ah_uuid))

    def fpga_program(self, context, controlpath_id, bitstream_uuid,
                     driver_name):
        return self._do('program', (controlpath_id, bitstream_uuid,
                                    driver_name))


class MdevTest(base.ConductorTestCase):
    """An MDEV handle needs its host's agent between claim and Bound."""

    def setUp(self):
        super().setUp()
        where = base.address(1)
        self.report(base.device(1, rc='VGPU', device_type='MDEV', handles=[
            base.handle('MDEV', **where, **MDEV)]), base.device(2))
        self.agent = _Agent()
        self.rpc.serve('cyborg-agent', self.agent, server=base.HOST)
        uuid_ = self.handle(NAME).uuid
        self.device = ('0000:01:00.0', 'nvidia-35', uuid_)

    def test_bind_and_unbind(self):
        arq = self.arq()
        self.bind(arq, name=NAME)
        self.assertEqual([('create', self.device)], self.agent.calls)
        self.assertEqual('Bound', self.arq_row(arq).state)
        self.unbind(arq)
        self.assertEqual([('create', self.device), ('remove', self.device)],
                         self.agent.calls)
        self.assertEqual('Unbound', self.arq_row(arq).state)
        self.assertFalse(self.handle(NAME).allocated)

    def test_agent_cannot_create(self):
        """The handle stayed in use for ever in 2026.2."""
        self.agent.fail['create'] = exception.DeviceBusy(msg='no')
        arq = self.arq()
        self.assertRaises(exception.DeviceBusy, self.bind, arq, name=NAME)
        self.assertEqual('BindFailed', self.arq_row(arq).state)
        self.assertFalse(self.handle(NAME).allocated)
        self.assertEqual('failed', self.nova.statuses()[arq])
        # What may have come into being after all is removed.
        self.assertEqual('remove', self.agent.calls[-1][0])

    def test_agent_cannot_create_nor_remove(self):
        self.agent.fail['create'] = exception.DeviceBusy(msg='no')
        self.agent.fail['remove'] = exception.DeviceBusy(msg='neither')
        arq = self.arq()
        self.assertRaises(exception.DeviceBusy, self.bind, arq, name=NAME)
        self.assertFalse(self.handle(NAME).allocated)
        self.assertLogged('WARNING', 'may be left')

    def test_set_with_a_plain_device_is_one_set(self):
        """The PCI handle is freed when the mediated device fails."""
        self.agent.fail['create'] = exception.DeviceBusy(msg='no')
        one, two = self.arq(), self.arq()
        instance = str(uuid.uuid4())
        fields = {
            arq: {'hostname': base.HOST, 'instance_uuid': instance,
                  'device_rp_uuid': provider_plan.provider_uuid(name)}
            for arq, name in ((one, NAME), (two, OTHER))}
        self.assertRaises(
            exception.DeviceBusy, self.conductor.arq_apply_patch,
            self.context, {arq: [{'op': 'add', 'path': '/hostname'}]
                           for arq in fields}, fields)
        for arq, name in ((one, NAME), (two, OTHER)):
            self.assertEqual('BindFailed', self.arq_row(arq).state)
            self.assertFalse(self.handle(name).allocated)

    def test_unbind_fails(self):
        """FAULT-14: state and handle stay, and it can be repeated."""
        arq = self.arq()
        self.bind(arq, name=NAME)
        self.agent.fail['remove'] = exception.DeviceBusy(msg='guest runs')
        error = self.assertRaises(exception.UnbindFailed, self.unbind, arq)
        for word in (arq, base.HOST, 'guest runs', 'Repeat'):
            self.assertIn(word, error.message)
        self.assertEqual('Bound', self.arq_row(arq).state)
        self.assertTrue(self.handle(NAME).allocated)
        self.assertRaises(exception.UnbindFailed,
                          self.conductor.arq_delete_by_uuid, self.context,
                          arq)
        self.assertEqual('Bound', self.arq_row(arq).state)
        self.agent.fail.clear()
        self.unbind(arq)
        self.assertEqual('Unbound', self.arq_row(arq).state)

    def test_damaged_text_at_unbind(self):
        """Which device it is cannot be told, so nobody else gets it."""
        arq = self.arq()
        self.bind(arq, name=NAME)
        stored = self.handle(NAME)
        self.change(models.AttachHandle, stored.id, attach_info='{broken')
        error = self.assertRaises(exception.UnbindFailed, self.unbind, arq)
        for word in (arq, base.HOST, stored.uuid, '{broken'):
            self.assertIn(word, error.message)
        self.assertEqual('Bound', self.arq_row(arq).state)
        self.assertTrue(self.handle(NAME).allocated)
        self.change(models.AttachHandle, stored.id,
                    attach_info=stored.attach_info)
        self.unbind(arq)
        self.assertEqual('remove', self.agent.calls[-1][0])
        self.assertFalse(self.handle(NAME).allocated)

    def test_request_that_others_keep_changing(self):
        """Nothing of it is freed, and the answer says that and why."""
        arq = self.arq()
        self.bind(arq, name=NAME)
        mine, other = self.handle(NAME), self.handle(OTHER)
        row = self.arq_row(arq)
        turns = iter([other.id, mine.id] * 5)

        def meddle(context, **_where):
            self.change(models.ExtARQ, row.id, attach_handle_id=next(turns))

        # A mediated device each time, so that each look asks for its removal.
        self.change(models.AttachHandle, other.id, attach_type='MDEV',
                    attach_info=mine.attach_info)
        error = self.assertRaises(
            exception.UnbindFailed, unbinding.release, self.context, [arq],
            meddle, delete=True)
        for word in (arq, base.HOST, 'other requests keep changing it'):
            self.assertIn(word, error.message)
        row = self.arq_row(arq)
        self.assertEqual(('Bound', other.id),
                         (row.state, row.attach_handle_id))
        self.assertTrue(self.handle(NAME).in_use)

    def test_failed_bind_does_not_hold_the_device(self):
        """A device to which only a failed request refers goes at once."""
        self.agent.fail['create'] = exception.DeviceBusy(msg='no')
        arq = self.arq()
        self.assertRaises(exception.DeviceBusy, self.bind, arq, name=NAME)
        self.report()
        self.assertEqual((), self.host().devices)
        self.assertEqual('BindFailed', self.arq_row(arq).state)

    def test_one_that_fails_does_not_keep_the_others(self):
        one, two = self.arq(), self.arq()
        self.bind(one, name=NAME)
        self.bind(two, name=OTHER)
        self.agent.fail['remove'] = exception.DeviceBusy(msg='no')
        self.assertRaises(exception.UnbindFailed, self.unbind, one, two)
        self.assertEqual(['Bound', 'Unbound'], [
            self.arq_row(arq).state for arq in (one, two)])

    def test_silent_agent(self):
        self.report(base.device(
            5, host='silent', name='silent_x', rc='VGPU',
            device_type='MDEV', handles=[base.handle(
                'MDEV', **base.address(5), **MDEV)]),
            host=self._host('silent'))
        arq = self.arq()
        manager = self.start_conductor('conductor-2')
        manager._agent.client.timeout = 1
        error = self.assertRaises(
            exception.AgentUnreachable, manager._binder.bind, self.context,
            [binding.Request(arq, 'silent', self.provider('silent_x'),
                             str(uuid.uuid4()))], {})
        # FAULT-27: the one name both have to agree on.
        self.assertIn('[DEFAULT] host = silent', error.message)
        self.assertEqual('BindFailed', self.arq_row(arq).state)
        self.assertFalse(self.handle('silent_x', 'silent').allocated)

    def _host(self, name):
        self.placement.add_provider(name)
        return name

    def test_unbound_while_the_agent_works(self):
        """The bind does not bring back what was unbound meanwhile."""
        arq = self.arq()
        create = self.agent.create_vgpu_mdev

        def unbind_first(context, **values):
            self.unbind(arq, by=self.manager)
            return create(context, **values)

        self.agent.create_vgpu_mdev = unbind_first
        self.assertRaises(exception.ARQBadState, self.bind, arq, name=NAME)
        self.assertEqual('Unbound', self.arq_row(arq).state)
        self.assertFalse(self.handle(NAME).allocated)

    def test_bound_elsewhere_while_the_agent_works(self):
        """The end of a bind is about its own handle alone."""
        arq = self.arq()
        create = self.agent.create_vgpu_mdev

        def move_first(context, **values):
            self.unbind(arq, by=self.manager)
            binding.claim(self.context, [binding.Request(
                arq, base.HOST, self.provider(OTHER), str(uuid.uuid4()))],
                frozenset([arq]))
            return create(context, **values)

        self.agent.create_vgpu_mdev = move_first
        self.assertRaises(exception.ARQBadState, self.bind, arq, name=NAME)
        row = self.arq_row(arq)
        self.assertEqual(('BindStarted', self.handle(OTHER).id),
                         (row.state, row.attach_handle_id))

    def test_device_is_taken_until_it_is_removed(self):
        """Nobody else gets a device that a failed bind may have left."""
        self.agent.fail['create'] = exception.DeviceBusy(msg='no')
        seen = []
        remove = self.agent.remove_vgpu_mdev

        def look_first(context, **values):
            seen.append(self.handle(NAME).in_use)
            return remove(context, **values)

        self.agent.remove_vgpu_mdev = look_first
        self.assertRaises(exception.DeviceBusy, self.bind, self.arq(),
                          name=NAME)
        self.assertEqual([True], seen)
        self.assertFalse(self.handle(NAME).allocated)

    def test_killed_in_between_is_repaired_by_unbind(self):
        """A conductor that dies after its claim leaves BindStarted."""
        arq = self.arq()
        request = binding.Request(arq, base.HOST, self.provider(NAME),
                                  str(uuid.uuid4()))
        binding.claim(self.context, [request])
        self.assertEqual('BindStarted', self.arq_row(arq).state)
        self.assertTrue(self.handle(NAME).allocated)
        self.unbind(arq)
        self.assertEqual('Unbound', self.arq_row(arq).state)
        self.assertFalse(self.handle(NAME).allocated)
        self.assertEqual([('remove', self.device)], self.agent.calls)


class _Programs(_Agent):
    """An agent that programs when the test lets it."""

    def __init__(self):
        super().__init__()
        self.may_go_on = threading.Event()
        self.answer = True

    def fpga_program(self, context, **values):
        self.may_go_on.wait(300)
        super().fpga_program(context, **values)
        return self.answer


class ProgramTest(base.ConductorTestCase):
    """Profiles that ask for an FPGA to be programmed."""

    def setUp(self):
        super().setUp()
        self.report(base.device(1, rc='FPGA', device_type='FPGA'))
        self.agent = _Programs()
        self.rpc.serve('cyborg-agent', self.agent, server=base.HOST)
        self.addCleanup(self.agent.may_go_on.set)
        self.image = str(uuid.uuid4())

    def fpga(self, **accel):
        return self.arq(self.profile([
            {'resources:FPGA': '1'}
            | {'accel:' + key: value for key, value in accel.items()}]))

    def wait_for(self, arq, state):
        processes.wait_until(lambda: self.arq_row(arq).state == state, state)
        processes.wait_until(lambda: arq in self.nova.statuses(), 'event')

    def test_bitstream(self):
        arq = self.fpga(bitstream_id=self.image)
        self.bind(arq, name=NAME)
        # The answer comes before the device is ready, Nova hears of it.
        self.assertEqual('BindStarted', self.arq_row(arq).state)
        self.assertEqual([], self.nova.events)
        self.agent.may_go_on.set()
        self.wait_for(arq, 'Bound')
        self.assertEqual('completed', self.nova.statuses()[arq])
        (_name, (path, image, driver)), = self.agent.calls
        self.assertEqual(base.address(1), path['cpid_info'])
        self.assertEqual((self.image, 'NVIDIA'), (image, driver))
        with api.reader(self.context) as session:
            self.assertEqual(self.image, session.scalar(
                sa.select(models.Deployable.bitstream_id)))

    def test_driver_reports_failure(self):
        self.agent.answer = False
        self.agent.may_go_on.set()
        arq = self.fpga(bitstream_id=self.image)
        self.bind(arq, name=NAME)
        self.wait_for(arq, 'BindFailed')
        self.assertEqual('failed', self.nova.statuses()[arq])
        self.assertFalse(self.handle(NAME).allocated)
        self.assertLogged('WARNING', 'was not programmed')

    def test_agent_takes_too_long(self):
        self.conf.set(bind_timeout=1)
        arq = self.fpga(bitstream_id=self.image)
        self.bind(arq, name=NAME)
        self.wait_for(arq, 'BindFailed')
        self.assertFalse(self.handle(NAME).allocated)

    def test_both_ids(self):
        """accelerator_requests.json, bind-fpga-both-ids"""
        arq = self.fpga(bitstream_id=self.image, function_id='f')
        error = self.assertRaises(exception.BitstreamAmbiguous, self.bind,
                                  arq, name=NAME)
        self.assertEqual(400, error.code)
        self.assertIn(arq, error.message)
        self.assertEqual('BindFailed', self.arq_row(arq).state)
        self.assertFalse(self.handle(NAME).allocated)

    def test_function(self):
        manager = self.start_conductor('conductor-2')
        manager._binder._programmer._find_image = (
            lambda context, function: self.image)
        self.agent.may_go_on.set()
        arq = self.fpga(function_id='d8424dc4-a4a3')
        self.bind(arq, name=NAME, by=manager)
        self.wait_for(arq, 'Bound')
        self.assertIn('CUSTOM_FPGA_FUNCTION_ID_NVIDIA_D8424DC4_A4A3',
                      self.placement.traits(self.provider(NAME)))
        # A report does not take it away.
        self.report(base.device(1, rc='FPGA', device_type='FPGA'))
        self.assertIn('CUSTOM_FPGA_FUNCTION_ID_NVIDIA_D8424DC4_A4A3',
                      self.placement.traits(self.provider(NAME)))

    def test_plain_fpga(self):
        arq = self.fpga()
        self.bind(arq, name=NAME)
        self.assertEqual('Bound', self.arq_row(arq).state)

    def test_stop_finishes_the_work(self):
        arq = self.fpga(bitstream_id=self.image)
        self.bind(arq, name=NAME)
        threading.Timer(0.3, self.agent.may_go_on.set).start()
        self.manager._stop()
        self.assertEqual('Bound', self.arq_row(arq).state)


class EndpointTest(base.ConductorTestCase):

    def test_nothing_else_is_reachable(self):
        """rpc.md: methods that were reachable by accident are not."""
        client = self.conductor.client.prepare(version='1.0')
        for name in ('_stop', 'init_host', 'provider_report', '_reporter'):
            self.assertRaises(messaging.NoSuchMethod, client.call,
                              self.context, name)

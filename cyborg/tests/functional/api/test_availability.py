# SPDX-License-Identifier: Apache-2.0
"""Enable and disable devices, with a real Placement."""

import json

from cyborg.common import constants
from cyborg.common import context
from cyborg.tests import contract
from cyborg.tests.functional.api import base


class TestAvailability(base.ApiTestCase):

    def setUp(self):
        super().setUp()
        devices = json.loads((contract.RECORDS / '_setup.json').read_text())[
            'driver_device_list']
        self.devices = [device for device in devices if device[
            'cyborg_object.data']['vendor'] in ('10de', '0xABCD')]
        self.report()
        cards = self.admin.get('/v2/devices').body['devices']
        parts = self.admin.get('/v2/deployables').body['deployables']
        # Not the first card: its row id would do for that of a deployable.
        self.card, self.provider = cards[1]['uuid'], parts[1]['rp_uuid']
        self.others = [part['rp_uuid'] for part in (parts[0], *parts[2:])]

    def report(self):
        self.service.report(context.get_admin_context(), self.devices)

    def switch(self, action: str):
        return self.admin.post('/v2/devices/%s/%s' % (self.card, action))

    def status(self) -> str:
        return self.admin.get('/v2/devices/' + self.card).body['status']

    def amounts(self, provider=None) -> tuple[int, int]:
        """(total, reserved)"""
        amounts, = self.service.placement.amounts(
            provider or self.provider).values()
        return amounts

    def test_disable_and_enable(self):
        self.assertEqual((1, 0), self.amounts())
        for _ in range(2):
            self.assertEqual(204, self.switch('disable').status)
            self.assertEqual(('maintaining', (1, 1)),
                             (self.status(), self.amounts()))
        for provider in self.others:
            self.assertEqual(0, self.amounts(provider)[1])
        for _ in range(2):
            self.assertEqual(204, self.switch('enable').status)
            self.assertEqual(('enabled', (1, 0)),
                             (self.status(), self.amounts()))

    def test_a_report_leaves_it_disabled(self):
        """Fault 24"""
        self.switch('disable')
        self.report()
        self.assertEqual(('maintaining', (1, 1)),
                         (self.status(), self.amounts()))

    def test_a_disabled_device_is_not_given_out(self):
        self.switch('disable')
        self.assertEqual(1, self.service.placement.candidates(
            'CUSTOM_PCI:1'))
        self.profile()
        arq, = self.arqs()
        self.assertFault(409, self.patch(
            {arq: self.binding(self.provider)}), self.card)

    def test_what_uses_it_stays(self):
        self.profile()
        arq, = self.arqs()
        self.bind(arq, self.provider)
        self.service.placement.allocate(self.provider, 'CUSTOM_PCI')
        self.assertEqual(204, self.switch('disable').status)
        self.assertEqual(['Bound'], self.states(arq))
        self.assertEqual({'CUSTOM_PCI': 1},
                         self.service.placement.usages(self.provider))

    def test_what_others_reserved_outlives_disable_and_enable(self):
        """A script reserves the device: it stays so (seen: it was offered).

        One number, several owners: each lifts its own.
        """
        placement = self.service.placement
        placement.set_reserved(self.provider, 'CUSTOM_PCI', 1)
        self.switch('disable')
        self.report()
        self.switch('enable')
        self.assertEqual(('enabled', (1, 1)),
                         (self.status(), self.amounts()))
        self.report()
        self.assertEqual((1, 1), self.amounts())
        # Enabling what is enabled takes nothing away either.
        self.switch('enable')
        self.assertEqual((1, 1), self.amounts())
        placement.set_reserved(self.provider, 'CUSTOM_PCI', 0)
        self.switch('disable')
        self.switch('enable')
        self.assertEqual((1, 0), self.amounts())

    def test_a_device_that_2026_2_disabled(self):
        """It left a full reservation and no mark; enabling lifts it."""
        self.switch('disable')
        placement = self.service.placement
        placement.set_traits(self.provider, *(
            name for name in placement.traits(self.provider)
            if 'DISABLED' not in name))
        placement.fail('PUT .*inventories', status=503)
        for action in ('disable', 'enable', 'enable'):
            self.switch(action)
        self.assertEqual(('enabled', (1, 0)),
                         (self.status(), self.amounts()))

    def test_placement_does_not_answer(self):
        self.service.placement.fail('PUT .*inventories', status=500,
                                    times=None)
        answer = self.switch('disable')
        self.assertFault(503, answer, 'Placement')
        self.assertEqual(('enabled', (1, 0)),
                         (self.status(), self.amounts()))
        self.service.placement.heal()
        self.assertEqual(204, self.switch('disable').status)
        self.service.placement.fail('PUT .*inventories', times=None)
        self.assertFault(503, self.switch('enable'), 'Placement')
        self.service.placement.heal()
        # Noted first: a report in between would reserve all of it again.
        self.assertEqual(('enabled', (1, 1)),
                         (self.status(), self.amounts()))
        self.assertEqual(204, self.switch('enable').status)
        self.assertEqual(('enabled', (1, 0)),
                         (self.status(), self.amounts()))

    def test_placement_trouble_names_device_change_and_remedy(self):
        """Not 500, and no URL of another service in the text."""
        for status, reason in (
                (None, 'Placement does not answer'),
                (502, 'Placement failed with status 502'),
                (401, 'Placement does not accept the credentials of this '
                      'service'),
                (406, 'Placement refused the request with status 406')):
            self.service.placement.heal()
            self.service.placement.fail('inventories', status=status,
                                        times=None)
            self.assertSaid(503, 'disable', (
                'Device %s of host compute-1 was not disabled, its status '
                'stays enabled: %s. Some of its units may be reserved '
                'already. Repeat the request when Placement works; the log '
                'of the API service has the details.')
                % (self.card, reason))
            self.assertSaid(503, 'enable', (
                'Device %s of host compute-1 has the status enabled, but some '
                'of its units may still be reserved, so that nothing new is '
                'placed on them: %s. Repeat the request when Placement '
                'works; the log of the API service has the details.')
                % (self.card, reason))

    def assertSaid(self, status: int, action: str, text: str):
        """The client gets the text, the operator the cause, in one line."""
        self.logs.clear()
        answer = self.switch(action)
        self.assertFault(status, answer)
        self.assertEqual(text, answer.fault['faultstring'])
        self.assertEqual([], self.tracebacks())
        self.assertLogged('WARNING', 'could not be %s' % (
            'reserved' if action == 'disable' else 'freed'))

    def test_a_device_in_maintenance_is_said_to_stay_so(self):
        self.switch('disable')
        self.service.placement.fail('inventories', status=503, times=None)
        self.assertFault(503, self.switch('disable'),
                         'its status stays maintaining')

    def test_others_who_never_stop_writing_are_a_conflict(self):
        self.service.placement.fail(
            'PUT .*inventories', status=409,
            code='placement.concurrent_update', times=None)
        self.assertSaid(409, 'disable', (
            'Device %s of host compute-1 was not disabled, its status stays '
            'enabled: others kept changing its resource provider at the same '
            'time. Some of its units may be reserved already. Repeat the '
            'request when Placement works; the log of the API service has '
            'the details.') % self.card)

    def test_credentials_that_cannot_be_used(self):
        self.conf.set('placement', auth_type='no_such_plugin')
        answer = self.switch('disable')
        self.assertFault(503, answer, 'credentials of this service')

    def test_a_generation_conflict_is_tried_again(self):
        """B38"""
        self.service.placement.fail(
            'PUT .*inventories', status=409,
            code='placement.concurrent_update', times=2)
        self.assertEqual(204, self.switch('disable').status)
        self.assertEqual((1, 1), self.amounts())

    def test_what_is_missing_stays_reserved(self):
        """MIS-2: enabling gives out nothing that is not there."""
        self.switch('disable')
        placement = self.service.placement
        placement.set_traits(self.provider, constants.MISSING_TRAIT,
                             *placement.traits(self.provider))
        self.assertEqual(204, self.switch('enable').status)
        self.assertEqual((1, 1), self.amounts())

    def test_a_provider_that_is_gone(self):
        self.service.placement.delete_provider(self.provider)
        self.assertEqual(204, self.switch('disable').status)
        self.assertEqual('maintaining', self.status())
        self.assertLogged('WARNING', self.provider)

    def test_only_an_admin_may(self):
        for client in (self.member, self.anonymous,
                       self.member.as_({'X-Roles': 'manager'}),
                       self.member.as_({'X-Service-Roles': 'service'})):
            for action in ('enable', 'disable'):
                self.assertFault(403, client.post(
                    '/v2/devices/%s/%s' % (self.card, action)))
        self.assertEqual('enabled', self.status())

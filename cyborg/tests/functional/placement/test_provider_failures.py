# SPDX-License-Identifier: Apache-2.0
"""Placement fails at every single call of a report.

After each failure: what an instance could be given is safe, and the next
report ends where an undisturbed one would have.
"""

import dataclasses

from cyborg.common import exception
from cyborg.conductor.providers.outcomes import Kind
from cyborg.tests import amount
from cyborg.tests.functional.placement import base
from cyborg.tests.functional.placement.base import MARK
from cyborg.tests.functional.placement.base import wanted

#: How many kinds of faults each call meets.
KINDS = amount.amount('CYBORG_TEST_FAULTS', 2, 5)
#: Tried at every call in a whole run, in turn in the gate ...
FAULTS = {
    'conflict': {'status': 409, 'code': 'placement.concurrent_update'},
    'broken': {'status': 500},
    'no answer': {},
    'answer lost': {'delivered': True},
}
#: ... and these in turn, one at each call.
MORE_FAULTS = [
    ('unavailable, all calls', {'status': 503, 'times': None}),
    ('other 409', {'status': 409, 'code': 'placement.undefined_code'}),
    ('bad request', {'status': 400}),
    ('refused credentials', {'status': 401}),
    ('gone', {'status': 404}),
    ('nonsense', {'status': 200}),
    ('forbidden', {'status': 403, 'times': None}),
]
#: Kinds after which it is also tried with a conductor that starts anew.
RESTARTS = ('broken', 'answer lost')


class _Scenario:
    """Reports of one host: what was before, and the report under test."""

    def __init__(self, before, after, removed=(), allocate=()):
        self.before, self.after = before, after
        self.removed, self.allocate = removed, allocate


def scenarios(host):
    one = wanted('01:00.0', host=host, traits=['CUSTOM_A', 'CUSTOM_B'])
    two = wanted('02:00.0', host=host, rc='PGPU')
    missing = dataclasses.replace(one, missing=1)
    return {
        'first report': _Scenario([], [one, two]),
        'one more': _Scenario([two], [one, two]),
        'traits, count': _Scenario([one, two], [dataclasses.replace(
            one, total=2, traits=frozenset(['CUSTOM_C']),
            stale_traits=one.traits), two]),
        'class': _Scenario([one], [dataclasses.replace(
            one, resource_class='CUSTOM_NEW')]),
        'missing': _Scenario([one, two], [missing, two], allocate=[one]),
        'return': _Scenario([missing, two], [one, two]),
        'removed': _Scenario([one, two], [two], removed=[one]),
    }


class EveryCallTestCase(base.PlacementTestCase):

    timeout = 900

    def _prepare(self, scenario, host):
        self.root = self.placement.add_provider(host)
        sync = self.new_sync()
        if scenario.before:
            result, _ = self.report(*scenario.before, sync=sync, host=host)
            self.assertEqual({}, result.failed)
        for device in scenario.allocate:
            self.placement.allocate(device.uuid, device.resource_class)
        return sync

    def _try(self, scenario, sync, host):
        try:
            result, calls = self.report(
                *scenario.after, removed=scenario.removed, sync=sync,
                host=host)
        except (exception.PlacementServerError,
                exception.PlacementUnauthorized,
                exception.PlacementRequestRefused,
                exception.PlacementResourceProviderNotFound):
            return None, self.placement.calls
        for outcome in result.failed.values():
            self.assertIsInstance(outcome.error or outcome.reason,
                                  (exception.CyborgException, str))
            self.assertTrue(outcome.reason)
        return result, calls

    def assertSafe(self, scenario, host):
        """No offer without OWNER_CYBORG; a reservation of ours is marked."""
        for name, uuid in self.placement.providers(self.root).items():
            if not name.startswith(host + '_'):
                continue
            amounts = self.placement.amounts(uuid)
            traits = self.placement.traits(uuid)
            self.assertTrue('OWNER_CYBORG' in traits or not amounts, name)
            self.assertTrue(
                MARK in traits
                or not any(reserved for _, reserved in amounts.values()),
                name)

    def _run(self, name):
        # The first time, names are created that exist from then on.
        self._count_calls(name, 'first')
        count = self._count_calls(name, 'second')
        self.assertGreater(count, 1)
        for position in range(count):
            other = MORE_FAULTS[position % len(MORE_FAULTS)]
            kinds = [*FAULTS.items(), other]
            kinds = kinds[position % 5:] + kinds[:position % 5]
            for kind, fault in kinds[:KINDS]:
                for restart in {False, kind in RESTARTS}:
                    with self.subTest(at=position, kind=kind,
                                      restart=restart):
                        self._case(name, position, fault, restart)

    def _count_calls(self, name, host):
        scenario = scenarios(host)[name]
        sync = self._prepare(scenario, host)
        result, calls = self._try(scenario, sync, host)
        self.assertEqual({}, result.failed)
        return len(calls)

    def _case(self, name, position, fault, restart):
        self.number = getattr(self, 'number', 0) + 1
        host = 'h%d' % self.number
        scenario = scenarios(host)[name]
        sync = self._prepare(scenario, host)
        injected = self.placement.fail(skip=position, **fault)
        self._try(scenario, sync, host)
        self.placement.heal()
        self.assertTrue(injected.hits)
        self.assertSafe(scenario, host)
        if restart:
            sync = self.new_sync()
        result, _ = self._try(scenario, sync, host)
        self.assertEqual({}, result.failed)
        self.assertEqual({}, result.of(Kind.DEFERRED))
        for device in scenario.after:
            self.assertEqual(
                {device.resource_class: (device.total, device.missing)},
                self.placement.amounts(device.uuid))
            self.assertEqual(
                {'OWNER_CYBORG', *device.traits}
                | ({MARK} if device.missing else set()),
                self.placement.traits(device.uuid))
        for device in scenario.removed:
            self.assertIsNone(self.placement.provider(device.uuid))
        result, calls = self.report(*scenario.after, sync=sync, host=host)
        self.assertEqual(1, len(calls), calls)

    def test_first_report(self):
        self._run('first report')

    def test_one_more(self):
        self._run('one more')

    def test_traits_and_count(self):
        self._run('traits, count')

    def test_class(self):
        self._run('class')

    def test_missing(self):
        self._run('missing')

    def test_return(self):
        self._run('return')

    def test_removed(self):
        self._run('removed')

# SPDX-License-Identifier: Apache-2.0
"""From a plan to the providers that follow from it."""

import dataclasses
import json

from cyborg.conductor.providers import wanted
from cyborg.inventory import plan as planner
from cyborg.inventory import values
from cyborg.placement import provider_plan
from cyborg.tests import base


def info(bus, function=0):
    return json.dumps({'domain': '0000', 'bus': '%02x' % bus,
                       'device': '00', 'function': str(function)})


def found(bus=1, functions=(0,), name=None, **others):
    attributes = others.pop('attributes', (
        ('rc', 'CUSTOM_PCI'), ('trait0', 'CUSTOM_A')))
    return values.DiscoveredDevice(
        'PCI', info(bus), 'PCI', others.get('vendor', '10de'), '1eb8',
        deployables=(values.DiscoveredDeployable(
            name or 'h_%d' % bus, len(functions), 'x', attributes,
            tuple(values.DiscoveredHandle('PCI', info(bus, f))
                  for f in functions)),))


def stored(bus=1, functions=(0,), arqs=(), rp_uuid='rp', **others):
    """:param arqs: functions that an ARQ has"""
    handles = tuple(values.PersistedHandle(
        10 * bus + f, 'h%d' % f, bus, bus, 'PCI', info(bus, f), f in arqs,
        ('arq%d' % f,) if f in arqs else ()) for f in functions)
    return values.PersistedDevice(
        bus, 'd%d' % bus, 'h', 'PCI', others.pop('vendor', '10de'), '1eb8',
        status=others.pop('status', 'enabled'),
        controlpath=values.PersistedControlPath(
            bus, 'c%d' % bus, bus, 'PCI', info(bus)),
        deployables=(values.PersistedDeployable(
            bus, 'p%d' % bus, bus, others.pop('name', 'h_%d' % bus),
            len(functions), 'x', rp_uuid, (
                values.PersistedAttribute(1, 'a1', 'rc', 'CUSTOM_PCI'),
                values.PersistedAttribute(2, 'a2', 'trait0', 'CUSTOM_A')),
            handles),))


def providers(discovered=(), persisted=(), ours=None):
    return wanted.providers(planner.plan(
        discovered, values.PersistedHost('h', tuple(persisted))), ours)


class WantedTest(base.TestCase):

    def only(self, result):
        (provider,) = result.known.values()
        return provider

    def test_unchanged(self):
        self.assertEqual(provider_plan.DesiredProvider(
            'rp', 'h_1', 'CUSTOM_PCI', 1, traits=frozenset({'CUSTOM_A'})),
            self.only(providers([found()], [stored()])))

    def test_row_without_provider_yet(self):
        """A kill between row and provider: the next report goes on."""
        provider = self.only(providers([found()], [stored(rp_uuid=None)]))
        self.assertEqual(provider_plan.provider_uuid('h_1'), provider.uuid)

    def test_new_device(self):
        provider, = providers([found()]).new.values()
        self.assertEqual((1, 0, False), (provider.total, provider.missing,
                                         provider.disabled))

    def test_traits_that_go(self):
        provider = self.only(providers([found(attributes=(
            ('rc', 'CUSTOM_X'), ('trait1', 'CUSTOM_B')))], [stored()]))
        self.assertEqual('CUSTOM_X', provider.resource_class)
        self.assertEqual({'CUSTOM_B'}, provider.traits)
        self.assertEqual({'CUSTOM_A'}, provider.stale_traits)

    def test_traits_of_earlier_rounds_go_too(self):
        """A trait that two reports raced over is nobody's but ours."""
        ours = {'h_1': frozenset({'CUSTOM_A', 'CUSTOM_B', 'CUSTOM_C'}),
                'other': frozenset({'CUSTOM_D'})}
        provider = self.only(providers([found(attributes=(
            ('rc', 'CUSTOM_X'), ('trait1', 'CUSTOM_B')))], [stored()], ours))
        self.assertEqual({'CUSTOM_B'}, provider.traits)
        self.assertEqual({'CUSTOM_A', 'CUSTOM_C'}, provider.stale_traits)

    def test_traits_of_the_row_go_whatever_earlier_rounds_knew(self):
        provider = self.only(providers(
            [found(attributes=(('rc', 'CUSTOM_X'),))], [stored()],
            {'h_1': frozenset({'CUSTOM_C'})}))
        self.assertEqual({'CUSTOM_A', 'CUSTOM_C'}, provider.stale_traits)

    def test_traits_of_earlier_rounds_of_what_goes_and_comes(self):
        ours = {'h_1': frozenset({'CUSTOM_B'})}
        removed, = providers([], [stored()], ours).removed.values()
        new, = providers([found()], [], ours).new.values()
        self.assertEqual(({'CUSTOM_B'}, {'CUSTOM_B'}),
                         (removed.stale_traits, new.stale_traits))

    def test_missing_whole(self):
        """MIS-2"""
        provider = self.only(providers([], [stored(functions=(0, 1),
                                                   arqs=(1,))]))
        self.assertEqual((2, 2), (provider.total, provider.missing))

    def test_missing_whole_without_provider(self):
        result = providers([], [stored(arqs=(0,), rp_uuid=None)])
        self.assertEqual(({}, {}, {}), dataclasses.astuple(result))

    def test_missing_part(self):
        provider = self.only(providers(
            [found(functions=(1, 2))],
            [stored(functions=(0, 1, 2), arqs=(0,))]))
        self.assertEqual((3, 1), (provider.total, provider.missing))

    def test_disabled(self):
        self.assertTrue(self.only(providers(
            [found()], [stored(status='maintaining')])).disabled)
        self.assertTrue(self.only(providers(
            [], [stored(status='maintaining', arqs=(0,))])).disabled)

    def test_enabled(self):
        """Also where a row has a status that no release gives."""
        for status in ('enabled', 'broken', 'removed'):
            for result in (
                    providers([found()], [stored(status=status)]),
                    providers([], [stored(status=status, arqs=(0,))])):
                self.assertFalse(self.only(result).disabled, status)
            self.assertFalse(providers(
                [found(name='other')], [stored(status=status)]).new[
                    'other'].disabled, status)

    def test_free_beside_missing_ones(self):
        """What is there and nobody has, whatever else the rows hold."""
        for there, rows, arqs, expected in (
                # Of two that are there one is taken.
                ((0, 2), (0, 1, 2), (0, 1), 1),
                # A new one is free as well.
                ((0, 2, 3), (0, 1, 2), (0, 1), 2),
                ((2, 3, 4), (0, 1, 2), (0, 1), 3),
                ((0,), (0, 1), (0, 1), 0)):
            provider = self.only(providers(
                [found(functions=there)],
                [stored(functions=rows, arqs=arqs)]))
            self.assertEqual(expected, provider.free, (there, rows))
            self.assertEqual(len(there) + provider.missing, provider.total)

    def test_a_damaged_row_beside_a_missing_one(self):
        """It is taken, and nobody knows where."""
        device = stored(functions=(0, 1, 2), arqs=(0, 1))
        deployable = device.deployables[0]
        damaged = dataclasses.replace(deployable.handles[0],
                                      attach_info='{')
        device = dataclasses.replace(device, deployables=(
            dataclasses.replace(deployable, handles=(
                damaged, *deployable.handles[1:])),))
        provider = self.only(providers([found(functions=(0, 2))], [device]))
        self.assertEqual((1, 2), (provider.missing, provider.free))

    def test_uuids(self):
        """Of all that is to be there, with rows and without."""
        result = providers([found(), found(2)], [stored(), stored(3)])
        self.assertEqual({'rp', provider_plan.provider_uuid('h_2')},
                         result.uuids)

    def test_new_deployable_of_disabled_device(self):
        result = providers([found(name='other')],
                           [stored(status='maintaining')])
        self.assertTrue(result.new['other'].disabled)
        self.assertEqual(['h_1'], [d.name for d in result.removed.values()])

    def test_removed(self):
        result = providers([], [stored()])
        self.assertEqual({}, result.known)
        removed, = result.removed.values()
        self.assertEqual(('rp', 1, 0, False), (
            removed.uuid, removed.total, removed.missing, removed.disabled))

    def test_provider_that_another_row_goes_on_with(self):
        """B23: the device stands at another address under its old name."""
        uuid = provider_plan.provider_uuid('same')
        result = providers([found(2, name='same')],
                           [stored(1, name='same', rp_uuid=uuid)])
        self.assertEqual({}, result.removed)
        self.assertEqual(uuid, result.new['same'].uuid)

    def test_replaced(self):
        """MIS-6: the old one is held back, the new one is not offered."""
        result = providers([found(vendor='8086')], [stored(arqs=(0,))])
        self.assertEqual({}, result.new)
        self.assertEqual((1, 1), (self.only(result).total,
                                  self.only(result).missing))


class TraitsTest(base.TestCase):
    """What the rounds of a report may take away again."""

    def traits(self, discovered, persisted, before=()):
        return wanted.traits(planner.plan(discovered, values.PersistedHost(
            'h', tuple(persisted))), dict(before))

    def test_of_all_that_is_there_or_comes(self):
        attributes = (('rc', 'CUSTOM_X'), ('trait1', 'CUSTOM_B'))
        self.assertEqual(
            {'h_1': {'CUSTOM_A', 'CUSTOM_B'}, 'h_2': {'CUSTOM_B'}},
            self.traits([found(attributes=attributes),
                         found(2, attributes=attributes)], [stored()]))
        self.assertEqual(
            {'other': {'CUSTOM_B'}}, self.traits(
                [found(name='other', attributes=attributes)], [stored()]))

    def test_what_was_known_before_stays(self):
        before = {'h_1': frozenset({'CUSTOM_C'}),
                  'gone': frozenset({'CUSTOM_D'})}
        self.assertEqual(
            {'h_1': {'CUSTOM_A', 'CUSTOM_C'}, 'gone': {'CUSTOM_D'}},
            self.traits([found()], [stored()], before))
        self.assertEqual({'CUSTOM_C'}, before['h_1'])

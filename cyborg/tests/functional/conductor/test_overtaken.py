# SPDX-License-Identifier: Apache-2.0
"""A report is overtaken by a newer one of its host, at any moment (ID-5).

A conductor is paused in the middle of a report; another one carries out the
next report of the host, which has other devices; then the first goes on.
"""

import functools
import threading

import fixtures
from oslo_utils import fixture
from oslo_utils import timeutils
import sqlalchemy as sa
import testscenarios

from cyborg import objects
from cyborg.common import constants
from cyborg.common import context
from cyborg.common import exception
from cyborg.conductor import manager
from cyborg.db import api
from cyborg.db import report_order
from cyborg.db.sqlalchemy import models
from cyborg.tests import amount
from cyborg.tests.functional.conductor import base

#: How far apart the moments are that are tried.
STEP = amount.amount('CYBORG_TEST_MOMENTS', 2, 1)
NAME = 'compute-1_0000:01:00.0'


def name(bus):
    return 'compute-1_0000:%02x:00.0' % bus


class OvertakenCase(base.ConductorTestCase):

    def setUp(self):
        super().setUp()
        self.other = manager.ConductorManager()
        self.addCleanup(self.other._stop)
        self.numbers = iter(range(1, 10000))
        self.hits = 0

    def numbered(self):
        asker = context.get_admin_context()
        asker.report = context.Report(base.HOST, next(self.numbers))
        return asker

    def send(self, conductor, *devices, asker=None):
        """A report, as an agent of this release numbers it."""
        conductor.report_data(asker or self.numbered(), base.HOST,
                              list(devices))

    def outdated(self, *devices):
        """A report that may be told it is outdated, and nothing else."""
        try:
            self.send(self.manager, *devices)
        except base.EXPECTED as error:
            self.assertEqual(exception.ReportOutdated, error.exc_info[0])

    def names(self):
        """Deployables that have rows."""
        return {d.name for device in self.host().devices
                for d in device.deployables}

    def assertNothingStray(self):
        """ID-6: every provider has a row, and every row its provider."""
        self.assertEqual(self.names() | {base.HOST},
                         set(self.placement.providers()))
        for device in self.host().devices:
            for deployable in device.deployables:
                self.assertEqual(self.provider(deployable.name),
                                 deployable.rp_uuid)


class StrayTest(OvertakenCase):

    def set_up_services(self):
        # Which provider is made last is part of what these tests say.
        self.conf.set(group='placement', max_concurrent_requests=1)
        super().set_up_services()

    def overtaken_before_its_provider(self):
        self.placement.before(
            'POST /resource_providers', lambda: self.send(
                self.other, base.device(1)), skip=1)
        self.outdated(base.device(1), base.device(2))

    def test_overtaken_before_a_provider_is_made(self):
        """The newer report has one device only; no provider is left."""
        self.overtaken_before_its_provider()
        self.assertEqual({NAME}, self.names())
        self.assertNothingStray()
        self.assertLogged('INFO', 'A newer report of host compute-1')

    def test_killed_instead_of_going_on(self):
        """What nobody took back goes with the next report."""
        self.placement.fail('DELETE', status=500, times=1)
        self.overtaken_before_its_provider()
        self.placement.heal()
        self.assertLogged('WARNING', 'is left to the next one')
        self.assertIn(name(2), self.placement.providers())
        self.send(self.other, base.device(1))
        self.assertNothingStray()
        self.assertLogged('WARNING', '%s of host compute-1 belonged to no '
                          'device' % name(2))

    def stray(self, bus=5, trait='OWNER_CYBORG', units=1):
        uuid = self.placement.add_provider(
            name(bus), self.root, self.provider(name(bus)))
        self.placement.api('PUT', '/resource_classes/CUSTOM_PCI')
        self.placement.set_inventory(uuid, CUSTOM_PCI={'total': units})
        if trait:
            self.placement.set_traits(uuid, trait)
        return uuid

    def test_stray_with_allocations_is_held(self):
        """409: it stays, nothing new is placed on it, one line tells."""
        uuid = self.stray(units=2)
        consumer = self.placement.allocate(uuid, 'CUSTOM_PCI')
        for _cycle in range(3):
            self.send(self.manager, base.device(1))
            self.assertAmounts({'CUSTOM_PCI': (2, 2)}, name(5))
        text, = [m for m in self.logs.messages('WARNING') if name(5) in m]
        self.assertIn('--allocations %s' % uuid, text)
        self.placement.deallocate(consumer)
        self.send(self.manager, base.device(1))
        self.assertNothingStray()

    def test_stray_whose_device_comes(self):
        """It becomes the provider of the device."""
        consumer = self.placement.allocate(self.stray(), 'CUSTOM_PCI')
        self.send(self.manager)
        self.send(self.manager, base.device(5))
        self.assertAmounts({'CUSTOM_PCI': (1, 0)}, name(5))
        self.placement.deallocate(consumer)
        self.send(self.manager, base.device(5))
        self.assertNothingStray()

    def test_others_are_left_alone(self):
        """Without our trait, with another name's UUID, or with a row."""
        self.stray(trait=None)
        self.placement.add_provider('compute-1_else', self.root)
        self.placement.set_traits(self.placement.add_provider(
            'x', self.root), 'OWNER_CYBORG')
        self.placement.add_provider(
            'compute-2', provider_uuid=self.provider('compute-2'))
        self.report(base.device(7, host='renamed', name=name(7)),
                    host='compute-2', by=self.manager)
        self.placement.delete_provider(self.provider(name(7)))
        kept = self.stray(7)
        before = set(self.placement.providers())
        self.send(self.manager, base.device(1))
        self.assertEqual(before | {NAME}, set(self.placement.providers()))
        self.assertAmounts({'CUSTOM_PCI': (1, 0)}, name(7))
        self.assertIsNotNone(self.placement.provider(kept))

    def test_none_costs_nothing(self):
        self.send(self.manager, base.device(1))
        self.placement.forget_calls()
        self.send(self.manager, base.device(1))
        self.assertEqual(['GET'], [c.method for c in self.placement.calls])


class StrayTraitTest(OvertakenCase):
    """A trait that the newer report does not have (ID-6)."""

    def overtaken(self):
        self.send(self.other, base.device(1))
        self.placement.before(
            'PUT .*/traits$', lambda: self.send(self.other, base.device(1)))
        self.outdated(base.device(1, traits=('A', 'B')))

    def test_it_is_taken_back(self):
        self.overtaken()
        self.assertEqual({'OWNER_CYBORG', 'CUSTOM_A'},
                         self.placement.traits(self.provider(NAME)))

    def test_it_is_noted_when_placement_fails(self):
        """Whichever conductor has the next report takes it away."""
        self.placement.fail('PUT .*/traits$', skip=2, status=500)
        self.overtaken()
        self.placement.heal()
        self.assertIn('CUSTOM_B',
                      self.placement.traits(self.provider(NAME)))
        self.send(self.other, base.device(1))
        self.assertEqual({'OWNER_CYBORG', 'CUSTOM_A'},
                         self.placement.traits(self.provider(NAME)))
        self.assertEqual({'rc', 'trait0'}, {
            a.key for a in self.deployable(NAME).attributes})


class EveryMomentTest(OvertakenCase):
    """At each call to Placement, and before each transaction."""

    timeout = 900
    # In the gate each of the two has its half of the moments.
    scenarios = [('shrinks', {'newer': (3, 6), 'first': 0}),
                 ('other', {'newer': (7, 1), 'first': STEP - 1})]

    def before(self):
        return [base.device(bus) for bus in (1, 2, 3)] + [
            base.device(6, handles=base.handles(2, 6))]

    def older(self):
        """1 is missing, 2 gone, 3 changed, 4 and 5 new, 6 has more."""
        return [base.device(3, traits=('B',)), base.device(4),
                base.device(5, traits=('N',)),
                base.device(6, handles=base.handles(3, 6))]

    def now(self):
        return [base.device(bus, traits=('Z',)) for bus in self.newer]

    def settle(self):
        self.placement.heal()
        self.manager = manager.ConductorManager()
        self.addCleanup(self.manager._stop)
        self.send(self.other, *self.before())
        self.instance = self.bind(self.arq(), name=NAME, by=self.other)
        self.placement.allocate(self.provider(NAME), 'CUSTOM_PCI',
                                consumer=self.instance)

    def unsettle(self):
        self.placement.heal()
        self.other.arq_delete_by_instance_uuid(self.context, self.instance)
        self.placement.deallocate(self.instance)
        self.send(self.other)
        self.assertEqual(0, self.count(models.Device))

    def overtake(self):
        self.hits += 1
        self.send(self.other, *self.now())

    def assertNewer(self):
        wanted = {name(bus) for bus in self.newer} | {NAME}
        self.assertEqual(wanted, self.names())
        self.assertNothingStray()
        # One call may have been on its way; the next report sees what it did.
        self.send(self.other, *self.now())
        self.assertEqual(wanted, self.names())
        self.assertNothingStray()
        for bus in self.newer:
            self.assertAmounts({'CUSTOM_PCI': (1, 0)}, name(bus))
            self.assertEqual({'OWNER_CYBORG', 'CUSTOM_Z'},
                             self.placement.traits(self.provider(name(bus))))
        missing = 1 not in self.newer
        self.assertAmounts({'CUSTOM_PCI': (1, int(missing))}, NAME)
        self.assertEqual(missing, constants.MISSING_TRAIT in
                         self.placement.traits(self.provider(NAME)))
        self.assertTrue(self.handle(NAME).in_use)

    def test_at_every_call_to_placement(self):
        position = self.first
        while True:
            self.settle()
            self.hits = 0
            self.placement.before('.*', self.overtake, skip=position)
            self.outdated(*self.older())
            self.placement.heal()
            if not self.hits:
                break
            self.assertNewer()
            self.unsettle()
            position += STEP
        self.assertGreater(position, 15)

    def test_before_every_transaction(self):
        position = self.first
        while True:
            self.settle()
            self.hits = 0
            with self.pause_before_transaction(position):
                self.outdated(*self.older())
            if not self.hits:
                break
            self.assertNewer()
            self.unsettle()
            position += STEP
        self.assertGreater(position, 8)

    def pause_before_transaction(self, skip):
        """Nothing is locked yet, and nothing was read."""
        original = api._transaction
        left = [skip]

        def transaction(manager_, asker, writing):
            if not api.in_transaction(asker) and not self.hits:
                if not left[0]:
                    self.overtake()
                left[0] -= 1
            return original(manager_, asker, writing)

        return fixtures.MonkeyPatch('cyborg.db.api._transaction', transaction)


class OrderTest(OvertakenCase):
    """Which report is the older one."""

    def test_a_message_that_comes_late(self):
        """It was sent before, and arrives after: nothing is done."""
        late = self.numbered()
        self.send(self.manager, base.device(1))
        error = self.assertRaises(base.EXPECTED, self.send, self.manager,
                                  base.device(2), asker=late).exc_info[1]
        self.assertIsInstance(error, exception.ReportOutdated)
        self.assertEqual({'host': base.HOST, 'newest': 2, 'code': 409},
                         error.kwargs)
        self.assertEqual({NAME}, self.names())
        self.assertNothingStray()

    def test_the_same_message_twice(self):
        asker = self.numbered()
        for _time in range(2):
            self.send(self.manager, base.device(1), asker=asker)
        self.assertNothingStray()

    def test_without_numbers_the_order_of_beginning_counts(self):
        """As an agent of 2026.2 reports."""
        self.placement.before(
            'POST /resource_providers', lambda: self.report(
                base.device(1), by=self.other), skip=1)
        self.assertRaises(base.EXPECTED, self.report, base.device(1),
                          base.device(2), by=self.manager)
        self.assertNothingStray()
        self.report(base.device(1), base.device(2), by=self.manager)
        self.assertEqual({NAME, name(2)}, self.names())

    def test_hosts_do_not_wait_for_each_other(self):
        """Also where their numbers would be the same row."""
        places = list(report_order._places('a'))[:3]
        self.useFixture(fixtures.MonkeyPatch(
            'cyborg.db.report_order._places', lambda name: iter(places)))
        turns = [report_order.begin(self.context, host)
                 for host in ('a', 'b', 'c', 'a', 'A', 'b')]
        self.assertEqual([1, 1, 1, 2, 3, 2], [t.number for t in turns])
        self.assertEqual(3, len({turn.row_id for turn in turns}))
        for turn in turns[-2:]:
            turn.check(self.context)
        error = self.assertRaises(exception.ReportOutdated, turns[0].check,
                                  self.context)
        self.assertEqual(
            'A newer report of host a has begun, so nothing more '
            'is done for this one. Two agents that report under one host '
            'name do this to each other; else the next report repairs what '
            'is left.', error.message)


class MachinesTest(OvertakenCase):
    """Two machines report as one host, to whichever conductor answers."""

    def from_machine(self, conductor, machine):
        asker = self.numbered()
        asker.machine = machine
        self.send(conductor, base.device(1), asker=asker)

    def warnings(self):
        return [text for text in self.logs.messages('WARNING')
                if 'Two machines' in text]

    def test_when_the_last_one_reported(self):
        """ID-2: by the slower of the clocks, however long it waited."""
        clock = self.useFixture(fixture.TimeFixture())
        now = int(timeutils.utcnow_ts())
        host = objects.HostInventory
        self.assertIsNone(host.get_last_machine(self.context, base.HOST))
        for machine, ahead, ago in (('c1/b1', -7200, 7200), ('c1/b2', 0, 0),
                                    ('c1/b3', 7200, 0)):
            asker = context.get_admin_context()
            asker.report = context.Report(base.HOST, (now + ahead) * 10 ** 6)
            asker.machine = machine
            self.send(self.manager, base.device(1), asker=asker)
            self.assertEqual([machine, ago], host.get_last_machine(
                self.context, base.HOST.upper()))
        clock.advance_time_seconds(1000)
        self.assertEqual(['c1/b3', 1000], host.get_last_machine(
            self.context, base.HOST))
        # One without a number was made nobody knows when.
        asker = context.get_admin_context()
        asker.machine = 'c1/b3'
        self.send(self.manager, base.device(1), asker=asker)
        self.assertEqual(['c1/b3', 1000], host.get_last_machine(
            self.context, base.HOST))

    def test_two_over_two_conductors(self):
        """Neither conductor ever hears of both."""
        for _time in range(3):
            self.from_machine(self.manager, 'c1/b1')
            self.from_machine(self.other, 'c1/b2')
        self.assertEqual({
            'Two machines report as host compute-1 in turn, %s and %s: each '
            'removes the devices of the other. Give each a name of its own, '
            'with [DEFAULT] host and [agent] resource_provider_name.' % pair
            for pair in (('c1/b1', 'c1/b2'), ('c1/b2', 'c1/b1'))},
            set(self.warnings()))
        self.assertEqual(2, len(self.warnings()))

    def test_reboots_are_none(self):
        """However many, and whoever was told of each."""
        for boot in range(12):
            for conductor in (self.manager, self.other, self.manager):
                self.from_machine(conductor, 'c1/b%d' % boot)
            self.report(base.device(1), by=self.other)
        self.assertEqual([], self.warnings())

    def test_marks_of_whatever_length_and_letters(self):
        for mark in ('x' * 300 + '/b1', 'a b\n/\ud800', '/b3'):
            for _time in range(2):
                for machine in (mark, 'y' * 300 + '/other'):
                    self.from_machine(self.manager, machine)
        self.assertEqual(3, len(self.warnings()))
        with api.reader(self.context) as session:
            kept = session.scalar(sa.select(models.QuotaUsage.resource))
        self.assertLessEqual(len(kept), 255)

    def test_what_it_costs(self):
        """A statement when the machine changes, and nothing else."""
        self.from_machine(self.manager, 'c1/b1')
        counts = []
        for machine in ('c1/b1', 'c1/b1', 'c1/b2', 'c1/b2'):
            with self.db.count_statements() as sql:
                self.from_machine(self.manager, machine)
            counts.append(len(sql))
        self.assertEqual([0, 0, 1, 0], [n - counts[0] for n in counts])


def _in_thread(work, results):
    def run():
        results.append(work())
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


class ServersTest(OvertakenCase):
    """Turns on databases with row locks."""

    scenarios = [(name, {'database': name})
                 for name in ('mariadb', 'postgresql')]

    def test_begun_while_another_writes(self):
        """The newer one waits for the transaction, not for the report."""
        turn = report_order.begin(self.context, base.HOST)
        guarded = report_order.on_condition(self.context, turn.still)
        done = []
        with api.writer(guarded):
            waiting = _in_thread(functools.partial(
                report_order.begin, context.get_admin_context(), base.HOST),
                done)
            waiting.join(0.5)
            self.assertEqual([], done)
        waiting.join(300)
        self.assertEqual(turn.number + 1, done[0].number)
        self.assertRaises(exception.ReportOutdated, self.write, guarded)

    @staticmethod
    def write(guarded):
        with api.writer(guarded):
            pass

    def test_first_reports_at_once(self):
        done = []
        threads = [_in_thread(functools.partial(
            report_order.begin, context.get_admin_context(), 'new'), done)
            for _count in range(6)]
        for thread in threads:
            thread.join(300)
        self.assertEqual(list(range(1, 7)),
                         sorted(turn.number for turn in done))
        self.assertEqual(1, self.count(models.QuotaUsage))


load_tests = testscenarios.load_tests_apply_scenarios

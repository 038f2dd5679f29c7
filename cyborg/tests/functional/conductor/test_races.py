# SPDX-License-Identifier: Apache-2.0
"""Several conductors at one database at the same time."""

import collections
from concurrent import futures
import random
import threading

from oslo_db import exception as db_exc
import sqlalchemy as sa
import testscenarios

from cyborg.common import context
from cyborg.common import exception
from cyborg.conductor import manager
from cyborg.db import api
from cyborg.db import binding
from cyborg.db import host_changes
from cyborg.db.sqlalchemy import models
from cyborg.tests.functional.conductor import base

NAME = 'compute-1_0000:01:00.0'
OTHER = 'compute-1_0000:02:00.0'

SERVERS = [(name, {'database': name}) for name in ('mariadb', 'postgresql')]


class _Facades:
    """Another engine for each conductor, chosen by the thread's conductor."""

    def __init__(self, managers):
        self.managers = managers
        self.chosen = threading.local()

    @property
    def _mine(self):
        return self.managers[getattr(self.chosen, 'index', 0)]

    @property
    def reader(self):
        return self._mine.reader

    @property
    def writer(self):
        return self._mine.writer


class RaceCase(base.ConductorTestCase):
    """``self.conductors[0]`` and ``[1]`` share nothing but the database."""

    timeout = 200

    def setUp(self):
        super().setUp()
        second = api.new_manager(self.db.url)
        self.facades = _Facades([self.db.manager, second])
        self.patch_facade(self.facades)
        self.addCleanup(lambda: second.writer.get_engine().dispose())
        self.conductors = [self.manager, manager.ConductorManager()]
        self.addCleanup(self.conductors[1]._stop)

    def patch_facade(self, facade):
        original = api._manager
        api._manager = facade
        self.addCleanup(setattr, api, '_manager', original)

    def engines(self):
        return [m.writer.get_engine() for m in self.facades.managers]

    def together(self, *calls):
        """Run ``(conductor number, function)`` pairs at once.

        :returns: results or errors, in order.
        """
        barrier = threading.Barrier(len(calls))

        def run(index, function):
            self.facades.chosen.index = index
            barrier.wait(300)
            try:
                return function(self.conductors[index],
                                context.get_admin_context())
            except base.EXPECTED as error:
                return error.exc_info[1]

        with futures.ThreadPoolExecutor(len(calls)) as pool:
            started = [pool.submit(run, *call) for call in calls]
            return [each.result(120) for each in started]

    def binder(self, arq, name=NAME, instance=None):
        def bind(conductor, asker):
            values = {'hostname': base.HOST, 'instance_uuid': instance or arq,
                      'device_rp_uuid': self.provider(name)}
            conductor.arq_apply_patch(
                asker, {arq: [{'op': 'add', 'path': '/hostname'}]},
                {arq: values})
        return bind

    def reporter(self, *devices):
        def report(conductor, asker):
            conductor.report_data(asker, base.HOST, list(devices))
        return report

    def arqs_by_state(self):
        states = collections.defaultdict(list)
        with api.reader(self.context) as session:
            for arq in session.scalars(sa.select(models.ExtARQ)):
                states[arq.state].append(arq.attach_handle_id)
        return states

    def assertInvariants(self):
        """A handle has one ARQ at most, a Bound ARQ exactly one handle."""
        with api.reader(self.context) as session:
            held = session.execute(sa.select(
                models.ExtARQ.attach_handle_id, models.ExtARQ.state)).all()
            in_use = set(session.scalars(
                sa.select(models.AttachHandle.id).where(
                    models.AttachHandle.in_use == sa.true())))
        handles = [handle for handle, _state in held if handle is not None]
        self.assertEqual(len(handles), len(set(handles)))
        self.assertEqual(in_use, set(handles))
        for handle, state in held:
            self.assertEqual(state == 'Bound', handle is not None, state)


class BindRaceTest(RaceCase):
    """20 binds of 10 handles over two conductors (B46, BASE-5)."""

    scenarios = SERVERS

    def setUp(self):
        super().setUp()
        self.report(base.device(1, handles=base.handles(10)))
        self.arqs = [self.arq() for _count in range(20)]

    def bind_all(self):
        errors = self.together(*(
            (number % 2, self.binder(arq))
            for number, arq in enumerate(self.arqs)))
        return [type(error).__name__ for error in errors]

    def assertTenBound(self, results):
        # Who came later found none, who was slower lost one.
        self.assertEqual(10, results.count('NoneType'))
        self.assertLessEqual(set(results), {
            'NoneType', 'ResourceNotFound', 'AttachHandleTaken'})
        states = self.arqs_by_state()
        self.assertEqual(10, len(set(states['Bound'])))
        self.assertEqual([None] * 10, states['BindFailed'])
        self.assertEqual(10, sum(
            h.in_use for h in self.deployable(NAME).handles))
        self.assertInvariants()
        self.assertEqual({'completed': 10, 'failed': 10}, dict(
            collections.Counter(self.nova.statuses().values())))

    def test_twenty_binds_of_ten_handles(self):
        self.assertTenBound(self.bind_all())

    def test_with_deadlocks(self):
        """Each thread's first claim and first hand-over are deadlocks."""
        seen = set()
        lock = threading.Lock()

        def strike(conn, cursor, statement, parameters, ctx, many):
            for table in ('attach_handles', 'extended_accelerator_requests'):
                key = (threading.get_ident(), table)
                if statement.startswith('UPDATE ' + table):
                    with lock:
                        new = key not in seen
                        seen.add(key)
                    if new:
                        raise db_exc.DBDeadlock()

        for engine in self.engines():
            sa.event.listen(engine, 'before_cursor_execute', strike)
            self.addCleanup(sa.event.remove, engine,
                            'before_cursor_execute', strike)
        self.assertTenBound(self.bind_all())
        self.assertGreaterEqual(len(seen), 20)

    def test_binds_and_unbinds_at_random(self):
        """The invariants hold after many rounds of everything at once."""
        chance = random.Random(46)
        for _round in range(15):
            chosen = chance.sample(self.arqs, 12)
            states = {arq: self.arq_row(arq).state for arq in chosen}

            def unbinder(arq):
                return lambda conductor, asker: conductor.arq_apply_patch(
                    asker, {arq: [{'op': 'remove', 'path': '/x'}]}, {})

            self.together(*(
                (number % 2, self.binder(arq)
                 if states[arq] in ('Initial', 'Unbound')
                 else unbinder(arq))
                for number, arq in enumerate(chosen)))
            self.assertInvariants()

    def test_one_request_twice(self):
        """Of two binds of one ARQ one wins, and the ARQ has one handle."""
        for arq in self.arqs[:6]:
            results = self.together(
                (0, self.binder(arq)), (1, self.binder(arq, instance='i')))
            self.assertEqual({'NoneType', 'ARQBadState'}, {
                type(result).__name__ for result in results})
            self.assertEqual('Bound', self.arq_row(arq).state)
        self.assertInvariants()

    def test_one_call_twice(self):
        """Two binds that ask for the same get the same, the one handle."""
        for arq in self.arqs[:6]:
            self.assertEqual([None, None], self.together(
                (0, self.binder(arq)), (1, self.binder(arq))))
            self.assertEqual('Bound', self.arq_row(arq).state)
        self.assertInvariants()


class ReportRaceTest(RaceCase):
    """Two conductors report one host at the same time."""

    scenarios = SERVERS + [('sqlite', {'database': 'sqlite'})]

    def assertSingle(self, count):
        host = self.host()
        names = [d.deployables[0].name for d in host.devices]
        self.assertEqual(count, len(names))
        self.assertEqual(count, len(set(names)))
        self.assertEqual(count, self.count(models.AttachHandle))
        self.assertEqual(count, self.count(models.ControlpathID))
        self.assertEqual(2 * count, self.count(models.Attribute))
        for device in host.devices:
            deployable, = device.deployables
            self.assertEqual(self.provider(deployable.name),
                             deployable.rp_uuid)
            self.assertAmounts({'CUSTOM_PCI': (1, 0)}, deployable.name)

    def test_first_report_twice(self):
        """No row doubled, everything published; one may be overtaken."""
        for first in (1, 11, 21):
            devices = [base.device(bus) for bus in range(1, first + 8)]
            results = self.together((0, self.reporter(*devices)),
                                    (1, self.reporter(*devices)))
            self.assertIn(None, results)
            self.assertEqual([], [
                result for result in results if result is not None
                and not isinstance(result, exception.ReportOutdated)])
            self.assertSingle(first + 7)

    def test_reports_that_differ(self):
        """Whatever order they come in, the next report settles it."""
        self.report(*(base.device(bus) for bus in range(1, 6)))
        self.together(
            (0, self.reporter(*(base.device(b) for b in range(1, 4)))),
            (1, self.reporter(*(base.device(b) for b in range(3, 9)))))
        self.report(*(base.device(bus) for bus in range(3, 9)))
        self.report(*(base.device(bus) for bus in range(3, 9)))
        self.assertSingle(6)


    def test_trait_put_back_after_another_report_took_it(self):
        """A report that planned earlier and writes later than another one.

        Its trait was left on the provider without a row that named it, so
        that no report took it away again.
        """
        old, new = base.device(1, traits=('A',)), base.device(1, traits=())
        self.report(old, by=self.manager)
        self.placement.before('GET .*in_tree', lambda: self.report(
            new, by=self.conductors[1]))
        # Overtaken, it ends there and leaves nothing of its own.
        self.assertRaises(base.EXPECTED, self.report, old, by=self.manager)
        self.assertEqual({'OWNER_CYBORG'},
                         self.placement.traits(self.provider(NAME)))
        self.report(new, by=self.start_conductor('without memories'))
        self.assertEqual({'OWNER_CYBORG'},
                         self.placement.traits(self.provider(NAME)))
        self.assertEqual({'rc'}, {
            a.key for a in self.deployable(NAME).attributes})


class BindAgainstReportTest(RaceCase):
    """A handle is bound while a report removes its device."""

    scenarios = SERVERS + [('sqlite', {'database': 'sqlite'})]

    def setUp(self):
        super().setUp()
        self.report(base.device(1), base.device(2))

    def bind_before(self, match):
        """Bind at the moment a report sends a matching Placement call."""
        arq = self.arq()
        self.placement.before(match, lambda: self.binder(arq)(
            self.conductors[1], context.get_admin_context()))
        return arq

    def test_bound_before_the_provider_goes(self):
        """The report knows that it is gone: refused, and nothing is held.

        What Nova allocated for the bind keeps the rows until Nova frees it.
        """
        arq = self.arq()
        consumer = self.placement.allocate(self.provider(NAME), 'CUSTOM_PCI')
        refused = []

        def bind():
            refused.append(self.assertRaises(
                base.EXPECTED, self.bind, arq, name=NAME,
                by=self.conductors[1]).exc_info[1])

        self.placement.before('DELETE /resource_providers/%s'
                              % self.provider(NAME), bind)
        self.report(base.device(2), by=self.manager)
        self.assertIsInstance(refused[0], exception.BindDeviceMissing)
        self.assertEqual((), self.handle(NAME).arq_uuids)
        self.assertAmounts({'CUSTOM_PCI': (1, 1)}, NAME)
        self.placement.deallocate(consumer)
        self.report(base.device(2), by=self.manager)
        self.assertEqual(1, len(self.host().devices))

    def test_at_random(self):
        """Either the bind wins and all stays, or the removal does."""
        for _round in range(8):
            self.report(base.device(1), base.device(2), by=self.manager)
            arq = self.arq()
            self.together((0, self.reporter(base.device(2))),
                          (1, self.binder(arq)))
            state = self.arq_row(arq).state
            self.report(base.device(2), by=self.manager)
            names = [d.deployables[0].name for d in self.host().devices]
            self.assertEqual(state == 'Bound', NAME in names)
            self.assertInvariants()
            self.manager.arq_delete_by_uuid(self.context, arq)
            self.report(base.device(2), by=self.manager)
            self.assertEqual(1, len(self.host().devices))

    def test_conditions_of_removal(self):
        """What is claimed after the plan was made is not removed."""
        arq = self.arq()
        device = self.host().devices[0]
        self.bind(arq, name=NAME, by=self.manager)
        self.assertFalse(host_changes.delete_device(self.context, device.id))
        self.assertFalse(host_changes.delete_deployable(
            self.context, device.deployables[0].id))
        self.assertFalse(host_changes.delete_handle(
            self.context, self.handle(NAME).id))
        self.change(models.AttachHandle, self.handle(NAME).id, in_use=False)
        self.assertFalse(host_changes.delete_device(self.context, device.id))
        row = self.arq_row(arq)
        self.change(models.ExtARQ, row.id, attach_handle_id=None)
        # The deployable is named by the request still.
        self.assertFalse(host_changes.delete_device(self.context, device.id))
        self.assertEqual(2, self.count(models.Device))
        self.assertEqual(4, self.count(models.Attribute))
        self.change(models.ExtARQ, row.id, deployable_id=None)
        # No request at all, but the mark.
        self.change(models.AttachHandle, self.handle(NAME).id, in_use=True)
        self.assertFalse(host_changes.delete_device(self.context, device.id))
        self.assertFalse(host_changes.delete_handle(
            self.context, self.handle(NAME).id))
        self.change(models.AttachHandle, self.handle(NAME).id, in_use=False)
        self.assertTrue(host_changes.delete_device(self.context, device.id))
        self.assertTrue(host_changes.delete_device(self.context, device.id))
        self.assertEqual(1, self.count(models.Device))

    def test_text_that_changed_since_it_was_read(self):
        """REC-4: an update never overwrites what it did not see."""
        reported = base.device(1, numa_node=1)
        handle = self.handle(NAME)
        newer = handle.attach_info[:-1] + ', "managed": false}'
        self.placement.before('GET', lambda: self.change(
            models.AttachHandle, handle.id, attach_info=newer))
        self.report(reported, base.device(2), by=self.manager)
        self.assertEqual(newer, self.handle(NAME).attach_info)
        self.report(reported, base.device(2), by=self.manager)
        self.assertIn('"managed": false, "numa_node": 1',
                      self.handle(NAME).attach_info)


class ReleaseRaceTest(RaceCase):

    scenarios = SERVERS

    def test_binding_is_claimed_once(self):
        """The guard is the database's: two claims of one free handle."""
        self.report(base.device(1))
        requests = [binding.Request(self.arq(), base.HOST,
                                    self.provider(NAME), 'i')
                    for _count in range(2)]

        def claim(request):
            return lambda conductor, asker: binding.claim(asker, [request])

        def run(index, request):
            try:
                return claim(request)(None, context.get_admin_context())
            except Exception as error:
                return error

        results = self.together(*(
            (index, lambda conductor, asker, index=index: run(
                index, requests[index])) for index in range(2)))
        self.assertEqual(1, sum(isinstance(r, list) for r in results))
        self.assertInvariants()


load_tests = testscenarios.load_tests_apply_scenarios

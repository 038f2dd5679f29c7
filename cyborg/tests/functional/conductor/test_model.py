# SPDX-License-Identifier: Apache-2.0
"""Devices come, go and change at random; a model predicts what is left."""

import dataclasses
import uuid

import hypothesis
from hypothesis import stateful
from hypothesis import strategies as st

from cyborg.common import exception
from cyborg.tests import amount
from cyborg.tests.functional.conductor import base

BUSES = (1, 2)
MARK = 'CUSTOM_CYBORG_MISSING'
EXAMPLES = amount.amount('CYBORG_TEST_EXAMPLES', 4, 30)


def name(bus):
    return '%s_0000:%02x:00.0' % (base.HOST, bus)


@dataclasses.dataclass
class Row:
    """What should be stored of one device.

    :ivar handle: UUID of its handle once it was seen
    """

    vendor: str
    trait: str
    managed: bool
    handle: str | None = None
    arq: str | None = None
    consumer: str | None = None
    missing: bool = False


@dataclasses.dataclass(frozen=True)
class Shown:
    """What the host shows at an address."""

    vendor: str
    trait: str
    managed: bool


class Machine(stateful.RuleBasedStateMachine):
    """REC-9, MIS-1 to MIS-7 over any history."""

    def __init__(self, case):
        super().__init__()
        self.case = case
        self.shown: dict[int, Shown] = {}
        self.rows: dict[int, Row] = {}

    # What happens to the host

    @stateful.rule(bus=st.sampled_from(BUSES),
                   vendor=st.sampled_from(('10de', '8086')),
                   trait=st.sampled_from('AB'), managed=st.booleans())
    def plug(self, bus, vendor, trait, managed):
        self.shown[bus] = Shown(vendor, trait, managed)

    @stateful.precondition(lambda self: self.shown)
    @stateful.rule(data=st.data())
    def pull(self, data):
        del self.shown[data.draw(st.sampled_from(sorted(self.shown)))]

    # What users do

    @stateful.precondition(lambda self: self.rows)
    @stateful.rule(data=st.data())
    def allocate_and_bind(self, data):
        bus = data.draw(st.sampled_from(sorted(self.rows)))
        row = self.rows[bus]
        arq = self.case.arq()
        if row.arq or row.consumer or row.missing:
            # Placement has nothing to give, and neither has the database
            # if there is a request already.
            self.case.assertEqual(0, self.free_units(bus))
            if row.arq:
                self.case.assertRaises(
                    exception.ResourceNotFound, self.case.bind, arq,
                    name=name(bus))
            self.case.conductor.arq_delete_by_uuid(self.case.context, arq)
            return
        row.consumer = str(uuid.uuid4())
        self.case.placement.allocate(self.case.provider(name(bus)),
                                     'CUSTOM_PCI', consumer=row.consumer)
        self.case.bind(arq, name=name(bus))
        row.arq = arq

    @stateful.precondition(lambda self: self.bound())
    @stateful.rule(data=st.data())
    def delete_request(self, data):
        self.release(data.draw(st.sampled_from(self.bound())))

    @stateful.precondition(lambda self: self.held())
    @stateful.rule(data=st.data())
    def deallocate(self, data):
        self.free(data.draw(st.sampled_from(self.held())))

    def bound(self):
        return [bus for bus, row in self.rows.items() if row.arq]

    def held(self):
        """Where only Placement knows of an allocation any more."""
        return [bus for bus, row in self.rows.items()
                if row.consumer and not row.arq]

    def release(self, bus):
        self.case.conductor.arq_delete_by_uuid(
            self.case.context, self.rows[bus].arq)
        self.rows[bus].arq = None

    def free(self, bus):
        self.case.placement.deallocate(self.rows[bus].consumer)
        self.rows[bus].consumer = None

    # What the service does

    @stateful.precondition(lambda self: self.rows)
    @stateful.rule()
    def restart(self):
        """Nothing a conductor remembers is needed."""
        self.case.manager = self.case.start_conductor(uuid.uuid4().hex)

    @stateful.rule(fault=st.none() | st.sampled_from((
        {'status': 500}, {'status': None}, {'status': None,
                                            'delivered': True},
        {'status': 409, 'code': 'placement.concurrent_update'})),
        position=st.integers(0, 12))
    def report(self, fault, position):
        if fault:
            self.case.placement.fail('.*', skip=position, **fault)
            try:
                self.send()
            except base.EXPECTED:
                pass
            self.case.placement.heal()
        self.send()
        self.predict()
        self.compare()
        # And once more: nothing is left to do.
        self.case.placement.forget_calls()
        self.send()
        self.case.assertEqual(set(), {
            call.method for call in self.case.placement.calls}
            - {'GET', 'DELETE'})
        self.compare()

    def send(self):
        self.case.report(*(
            base.device(bus, vendor=shown.vendor, traits=(shown.trait,),
                        managed=shown.managed)
            for bus, shown in self.shown.items()), by=self.case.manager)

    def predict(self):
        for bus in BUSES:
            shown, row = self.shown.get(bus), self.rows.get(bus)
            if row is None:
                if shown:
                    self.rows[bus] = Row(*dataclasses.astuple(shown))
            elif shown is None or (row.arq and shown.vendor != row.vendor):
                row.missing = True
                if not row.arq and not row.consumer:
                    del self.rows[bus]
            else:
                row.missing = False
                row.vendor, row.trait = shown.vendor, shown.trait

    def compare(self):
        case = self.case
        stored = {device.deployables[0].name: device
                  for device in case.host().devices}
        case.assertEqual({name(bus) for bus in self.rows}, set(stored))
        case.assertEqual({base.HOST, *stored},
                         set(case.placement.providers()))
        for bus, row in self.rows.items():
            device = stored[name(bus)]
            handle, = device.deployables[0].handles
            row.handle = row.handle or handle.uuid
            case.assertEqual(
                (row.vendor, row.handle, bool(row.arq),
                 (row.arq,) if row.arq else ()),
                (device.vendor, handle.uuid, handle.in_use,
                 handle.arq_uuids))
            case.assertIn('"managed": %s' % str(row.managed).lower(),
                          handle.attach_info)
            case.assertAmounts({'CUSTOM_PCI': (1, int(row.missing))},
                               name(bus))
            case.assertEqual(
                {'OWNER_CYBORG', 'CUSTOM_' + row.trait}
                | ({MARK} if row.missing else set()),
                case.placement.traits(case.provider(name(bus))))

    def free_units(self, bus):
        provider = self.case.provider(name(bus))
        (total, reserved), = self.case.placement.amounts(provider).values()
        used = self.case.placement.usages(provider)['CUSTOM_PCI']
        return max(0, total - reserved - used)

    def teardown(self):
        """Everything is released: nothing is left."""
        self.case.placement.heal()
        for bus in self.bound():
            self.release(bus)
        for bus in self.held():
            self.free(bus)
        self.shown.clear()
        self.send()
        self.case.assertEqual((), self.case.host().devices)
        self.case.assertEqual({base.HOST},
                              set(self.case.placement.providers()))


class ModelTest(base.ConductorTestCase):

    timeout = 600

    def test_any_history(self):
        self.conf.set(group='placement', connect_retries=0)
        settings = hypothesis.settings(
            max_examples=EXAMPLES, stateful_step_count=30, deadline=None,
            database=None, print_blob=False, suppress_health_check=list(
                hypothesis.HealthCheck))
        stateful.run_state_machine_as_test(lambda: Machine(self),
                                           settings=settings)

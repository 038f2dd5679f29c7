# SPDX-License-Identifier: Apache-2.0
"""PERF-5: nothing is taken for unchanged where a whole report would act.

The world changes at random behind an agent that sends digests, and two
conductors that answer. Whenever one of them says that a report is known, the
whole report is carried out by any of them, and must change nothing; a report
that is not known brings all in line.
"""

import contextlib
import uuid

import hypothesis
from hypothesis import stateful
from hypothesis import strategies as st

from cyborg.api import availability
from cyborg.common import exception
from cyborg.db.sqlalchemy import models
from cyborg.inventory import digest
from cyborg.objects import inventory_values
from cyborg.placement import client
from cyborg.tests import amount
from cyborg.tests.functional.conductor import base
from cyborg.tests.functional.conductor import test_digests

EXAMPLES = amount.amount('CYBORG_TEST_DIGESTS', 6, 80)
STEPS = 10
BUSES = (1, 2)


class Agent:
    """As ``cyborg.agent.last_report``: what it keeps between reports."""

    def __init__(self, machine):
        self.machine = machine
        self.held = None


class Machine(stateful.RuleBasedStateMachine):

    def __init__(self, case):
        super().__init__()
        self.case = case
        case.devices = []
        self.shown = {}
        self.agents = [Agent('compute-1/1'), Agent('compute-1/2')]
        self.conductors = [case.manager, case.start_conductor(
            uuid.uuid4().hex)]
        self.placement = client.PlacementClient()

    # The host

    def plug(self, draw):
        self.shown[draw(st.sampled_from(BUSES))] = {
            'vendor': draw(st.sampled_from(('10de', '8086'))),
            'traits': (draw(st.sampled_from('AB')),)}

    def pull(self, draw):
        if self.shown:
            del self.shown[draw(st.sampled_from(sorted(self.shown)))]

    # Users and operators

    def deployables(self):
        return [d for device in self.case.stored().devices
                for d in device.deployables if d.rp_uuid]

    def bind(self, draw):
        free = [d for d in self.deployables() if not d.allocated]
        if not free:
            return
        chosen = draw(st.sampled_from(free))
        arq = self.case.arq()
        with contextlib.suppress(exception.CyborgException, AssertionError):
            if draw(st.booleans()):
                self.case.placement.allocate(chosen.rp_uuid, 'CUSTOM_PCI',
                                             consumer=arq)
            self.case.bind(arq, name=chosen.name)

    def arqs(self):
        return sorted({arq for d in self.deployables()
                       for arq in d.arq_uuids})

    def delete(self, draw):
        for arq in self.arqs()[:1]:
            self.case.conductor.arq_delete_by_uuid(self.case.context, arq)
            if draw(st.booleans()):
                with contextlib.suppress(AssertionError):
                    # It may never have had any.
                    self.case.placement.deallocate(arq)

    def set_disabled(self, draw):
        if not self.deployables():
            return
        device = draw(st.sampled_from(self.case.stored().devices))
        fails = draw(st.sampled_from((None, None, 'traits', 'inventories')))
        if fails:
            self.case.placement.fail('PUT .*' + fails, status=500)
        with contextlib.suppress(exception.CyborgException):
            draw(st.sampled_from((availability.disable, availability.enable))
                 )(self.case.context, self.placement, device.uuid)
        self.case.placement.heal()

    # By hand

    def change_row(self, draw):
        if not self.deployables():
            return
        model, values = draw(st.sampled_from((
            (models.Device, {'vendor': '1af4'}),
            (models.Device, {'std_board_info': None}),
            (models.Device, {'status': 'maintaining'}),
            (models.Device, {'status': 'enabled'}),
            (models.Deployable, {'num_accelerators': 3}),
            (models.Attribute, {'value': 'CUSTOM_HAND'}),
            (models.AttachHandle, {'in_use': True}),
            (models.AttachHandle, {'in_use': False}))))
        d = draw(st.sampled_from(self.deployables()))
        row = {models.Device: d.device_id, models.Deployable: d.id,
               models.Attribute: d.attributes and d.attributes[-1].id,
               models.AttachHandle: d.handles and d.handles[0].id}[model]
        if row:
            self.case.change(model, row, **values)

    def drift(self, draw):
        if not self.deployables():
            return
        placement = self.case.placement
        how = draw(st.sampled_from(
            ('traits', 'inventory', 'reserved', 'gone', 'stray')))
        uuid_ = draw(st.sampled_from(self.deployables())).rp_uuid
        with contextlib.suppress(AssertionError, KeyError):
            if how == 'traits':
                placement.set_traits(uuid_, 'OWNER_CYBORG', 'CUSTOM_THEIRS')
            elif how == 'inventory':
                placement.set_inventory(uuid_, CUSTOM_PCI={'total': 4})
            elif how == 'reserved':
                placement.set_reserved(uuid_, 'CUSTOM_PCI', 1)
            elif how == 'gone':
                placement.delete_provider(uuid_)
            else:
                name = '%s_0000:09:00.0' % base.HOST
                placement.add_provider(name, self.case.root,
                                       self.case.provider(name))

    # The service

    def restart(self, draw):
        self.conductors[draw(st.integers(0, 1))] = self.case.start_conductor(
            uuid.uuid4().hex)

    def restart_agent(self, draw):
        self.agents[draw(st.integers(0, 1))].held = None

    changes = (plug, plug, pull, bind, bind, delete, set_disabled,
               change_row, change_row, drift, drift, restart, restart_agent)

    @stateful.initialize()
    def begin(self):
        self.shown[1] = {'vendor': '10de', 'traits': ('A',)}

    @stateful.rule(data=st.data(), changed=st.lists(
        st.sampled_from(changes), max_size=2), reports=st.lists(st.tuples(
            st.sampled_from((0, 0, 0, 0, 1)), st.integers(0, 1),
            st.integers(0, 1)), min_size=1, max_size=3))
    def live(self, data, changed, reports):
        for change in changed:
            change(self, data.draw)
        for report in reports:
            self.report(*report)

    def report(self, agent, ask, tell):
        who = self.agents[agent]
        devices = [base.device(bus, **shown)
                   for bus, shown in sorted(self.shown.items())]
        found = digest.of_found(inventory_values.discovered_devices(devices))
        known = who.held and who.held[0] == found and self.conductors[
            ask].report_digest(self.case.asker(who.machine), base.HOST,
                               *who.held)
        before = self.world()
        self.case.devices = devices
        stored = self.case.send(self.conductors[tell], who.machine)
        who.held = found, digest.of_stored(stored)
        if known:
            self.case.known += 1
            self.case.assertEqual(before, self.world())

    def world(self):
        """All that a report can change and somebody can see."""
        placement = self.case.placement
        return self.case.stored(), {
            name: (placement.amounts(uuid_), placement.traits(uuid_))
            for name, uuid_ in placement.providers().items()}

    def teardown(self):
        """Two reports of nobody's device; the next example begins anew."""
        for arq in self.arqs():
            self.case.conductor.arq_delete_by_uuid(self.case.context, arq)
            with contextlib.suppress(AssertionError):
                self.case.placement.deallocate(arq)
        for d in self.deployables():
            for handle in d.handles:
                self.case.change(models.AttachHandle, handle.id,
                                 in_use=False)
        self.case.devices = []
        self.case.send(self.conductors[0])


class ModelTest(test_digests.DigestCase):

    timeout = 900

    def test_any_history(self):
        self.conf.set(group='placement', connect_retries=0)
        self.known = 0
        stateful.run_state_machine_as_test(
            lambda: Machine(self), settings=hypothesis.settings(
                max_examples=EXAMPLES, stateful_step_count=STEPS,
                deadline=None, database=None, print_blob=False,
                # To shrink a history takes longer than any test may.
                phases=(hypothesis.Phase.generate,),
                suppress_health_check=list(hypothesis.HealthCheck)))
        # Histories in which nothing is ever known would show nothing.
        self.assertGreater(self.known, 0)

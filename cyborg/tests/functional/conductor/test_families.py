# SPDX-License-Identifier: Apache-2.0
"""One piece of hardware behind several handles (ID-1, ID-3).

The PF is on bus 1, its VFs are on buses 2 and 3.
"""

import json
import threading

import fixtures
import sqlalchemy as sa
import testscenarios

from cyborg.common import context
from cyborg.common import exception
from cyborg.db import binding
from cyborg.db import host_changes
from cyborg.db.sqlalchemy import models
from cyborg.objects import inventory_values
from cyborg.tests.functional.conductor import base
from cyborg.tests.functional.conductor import test_races


def name(bus):
    return 'compute-1_0000:%02x:00.0' % bus


def pf(**facts):
    return base.device(1, **facts)


def vf(bus, **facts):
    return base.device(bus, product='1eb9', physfn=1, **facts)


class Rows:
    """What earlier releases, or agents, left in the database."""

    def report_apart(self, *devices):
        """All are stored: nothing tells that they are relatives."""
        boards = [device.std_board_info for device in devices]
        for device in devices:
            device.std_board_info = None
        self.report(*devices)
        for device, board in zip(devices, boards, strict=True):
            device.std_board_info = board
            self.set_board(device)

    def set_board(self, device):
        bus = json.loads(device.controlpath_id.cpid_info)['bus']
        row, = [d for d in self.host().devices
                if d.deployables[0].name == name(int(bus, 16))]
        self.change(models.Device, row.id,
                    std_board_info=device.std_board_info)

    def names(self):
        return [d.name for device in self.host().devices
                for d in device.deployables]


class PlanTest(Rows, base.ConductorTestCase):
    """What a report makes of it, whoever reports."""

    def test_vfs_go_before_their_pf(self):
        """f02, where the agent is not one that looks after it."""
        self.report(pf(), vf(2), vf(3))
        self.assertEqual([name(2), name(3)], self.names())
        text, = [m for m in self.logs.messages('WARNING') if 'taken' in m]
        self.assertEqual(
            'Device 0000:01:00.0 of host compute-1 is not taken over: its '
            'virtual functions 0000:02:00.0, 0000:03:00.0 are offered.', text)
        self.report(pf())
        self.assertEqual([name(1)], self.names())

    def test_vfs_enabled_after_the_pf_was_bound(self):
        self.report(pf())
        arq = self.arq()
        self.bind(arq, name=name(1))
        self.report(pf(), vf(2), vf(3))
        self.assertEqual([name(1)], self.names())
        self.unbind(arq)
        self.report(pf(), vf(2), vf(3))
        self.assertEqual([name(2), name(3)], self.names())

    def test_a_rule_that_changes_to_the_pf(self):
        """While one VF is allocated, whether it is reported or not."""
        self.report(vf(2), vf(3))
        arq = self.arq()
        self.bind(arq, name=name(2))
        for devices in ([pf(), vf(2)], [pf()], [pf(), vf(2), vf(3)]):
            self.report(*devices)
            self.assertNotIn(name(1), self.names(), devices)
            self.assertTrue(self.handle(name(2)).allocated)
        self.report(pf())
        self.unbind(arq)
        self.report(pf())
        self.assertEqual([name(1)], self.names())

    def test_a_vf_that_waits_for_its_removal(self):
        """ID-4: the kernel has dropped its link to the PF already."""
        self.report(vf(2))
        self.bind(self.arq(), name=name(2))
        before = self.host()
        self.report(pf(), base.device(2, product='1eb9'))
        self.assertEqual(before, self.host())

    def test_rows_of_both_from_2026_2(self):
        """The VFs stay; the PF leaves with its provider."""
        self.report_apart(pf(), vf(2), vf(3))
        self.report(pf(), vf(2), vf(3))
        self.assertEqual([name(2), name(3)], self.names())
        self.assertIsNone(self.placement.provider(self.provider(name(1))))

    def test_rows_of_both_and_a_guest_with_one(self):
        for mine in (2, 1):
            with self.subTest(mine=mine):
                self.report()
                self.report_apart(pf(), vf(2))
                arq = self.arq()
                self.bind(arq, name=name(mine))
                self.report(pf(), vf(2), vf(3))
                self.assertEqual(
                    {1: [name(1)], 2: [name(2), name(3)]}[mine],
                    self.names())
                self.unbind(arq)

    def test_both_allocated_by_2026_2(self):
        """Nothing is taken away, and both guests' trouble is told of."""
        self.report_apart(pf(), vf(2))
        arqs = [self.arq(), self.arq()]
        for arq, bus in zip(arqs, (1, 2), strict=True):
            handle = self.handle(name(bus))
            self.change(models.AttachHandle, handle.id, in_use=True)
            row = self.arq_row(arq)
            self.change(models.ExtARQ, row.id, state='Bound',
                        attach_handle_id=handle.id)
        before = self.host()
        for _report in range(2):
            self.report(pf(), vf(2), vf(3))
        self.assertEqual(before, self.host())
        text, = self.logs.messages('ERROR')
        for word in ('0000:01:00.0', '0000:02:00.0', 'compute-1',
                     'delete the instance'):
            self.assertIn(word, text)
        self.change(models.ExtARQ, self.arq_row(arqs[0]).id, state='Unbound',
                    attach_handle_id=None)
        self.change(models.AttachHandle, self.handle(name(1)).id,
                    in_use=False)
        self.report(pf(), vf(2), vf(3))
        self.assertEqual([name(2), name(3)], self.names())
        self.assertIn('only one side is allocated', self.logs.messages(
            'INFO')[-3] + ' '.join(self.logs.messages('INFO')))

    def test_a_function_under_another_name(self):
        """ID-1: whatever a driver or a host is called now."""
        self.report(base.device(1))
        arq = self.arq()
        self.bind(arq, name=name(1))
        renamed = base.device(1, name='COMPUTE-1_0000:01:00.0')
        before = self.host()
        self.report(renamed)
        self.assertEqual(before, self.host())
        self.assertAmounts({'CUSTOM_PCI': (1, 0)}, name(1))
        self.assertEqual([], self.logs.messages('WARNING'))
        self.unbind(arq)
        self.report(renamed)
        self.assertEqual(['COMPUTE-1_0000:01:00.0'], self.names())

    def test_another_driver_with_an_allocated_function(self):
        """ID-1: beside the deployable that a guest has it of."""
        card = base.device(1, handles=[base.handle(**base.address(1)),
                                       base.handle(**base.address(2))])
        self.report(card)
        self.bind(self.arq(), self.arq(), name=name(1))
        self.report(base.device(2))
        self.assertEqual([name(1)], self.names())
        self.assertIn('Device 0000:02:00.0 of host compute-1 is not taken '
                      'over: it is allocated under the name %s.' % name(1),
                      self.logs.messages('WARNING'))

    def test_two_drivers_with_one_function(self):
        """Its control path may be another's: a card's first function."""
        card = base.device(1, handles=[base.handle(**base.address(1)),
                                       base.handle(**base.address(2))])
        self.report(card, base.device(2))
        self.assertEqual([name(1)], self.names())

    def test_functions_of_one_card_are_no_family(self):
        card = base.device(1, handles=[base.handle(**base.address(1)),
                                       base.handle(**base.address(2))])
        self.report(card)
        arqs = [self.arq(), self.arq()]
        self.bind(*arqs, name=name(1))
        self.report(card)
        self.assertEqual(2, len(self.deployable(name(1)).handles))


class ClaimTest(Rows, base.ConductorTestCase):
    """A bind whose Placement allocation is older than what happened."""

    def refused(self, bus):
        arq = self.arq()
        error = self.assertRaises(exception.BindFunctionShared, self.bind,
                                  arq, name=name(bus))
        self.assertEqual('BindFailed', self.arq_row(arq).state)
        self.assertFalse(self.handle(name(bus)).allocated)
        return error.message

    def test_a_pf_whose_vf_is_allocated(self):
        self.report_apart(pf(), vf(2), vf(3))
        self.bind(self.arq(), name=name(3))
        self.assertIn('a guest has its virtual function 0000:03:00.0',
                      self.refused(1))
        self.bind(self.arq(), name=name(2))

    def test_a_vf_whose_pf_is_allocated(self):
        self.report_apart(pf(), vf(2), vf(3))
        arq = self.arq()
        self.bind(arq, name=name(1))
        self.assertIn('a guest has its physical function 0000:01:00.0',
                      self.refused(2))
        self.unbind(arq)
        self.bind(self.arq(), name=name(2))

    def test_both_in_one_set(self):
        self.report_apart(pf(), vf(2))
        arqs = [self.arq(), self.arq()]
        fields = {arq: {'hostname': base.HOST, 'instance_uuid': arq,
                        'device_rp_uuid': self.provider(name(bus))}
                  for arq, bus in zip(arqs, (1, 2), strict=True)}
        self.assertRaises(
            exception.BindFunctionShared, self.conductor.arq_apply_patch,
            self.context, {arq: [{'op': 'add', 'path': '/hostname'}]
                           for arq in arqs}, fields)
        self.assertEqual(['BindFailed'] * 2,
                         [self.arq_row(arq).state for arq in arqs])

    def test_the_intel_drivers_pf_and_vfs(self):
        """One device, its control path the PF; in 2026.2's rows, too."""
        device = pf(handles=[base.handle(**base.address(1, 2))],
                    name='os-host_0000:01:02.0')
        self.report(device)
        row, = self.host().devices
        # It was offered itself before its VFs were enabled.
        with self.db.engine.begin() as connection:
            values = {'num_accelerators': 1, 'device_id': row.id}
            deployable = connection.execute(
                sa.insert(models.Deployable).values(
                    uuid='d' * 36, name='pf', rp_uuid='p' * 36,
                    **values)).lastrowid
            connection.execute(sa.insert(models.AttachHandle).values(
                uuid='a' * 36, deployable_id=deployable, in_use=True,
                cpid_id=row.controlpath.id, attach_type='PCI',
                attach_info=base.text(base.address(1))))
        arq = self.arq()
        error = self.assertRaises(exception.BindFunctionShared, self.bind,
                                  arq, name='os-host_0000:01:02.0')
        self.assertIn('physical function 0000:01:00.0', error.message)

    def test_one_function_in_two_rows(self):
        """ID-1: rows of one host under two names, whatever letter case."""
        self.report(base.device(1))
        self.placement.add_provider('COMPUTE-1x')
        with self.db.engine.begin() as connection:
            old, = self.host().devices
            device = connection.execute(sa.insert(models.Device).values(
                uuid='e' * 36, hostname='COMPUTE-1', type='PCI',
                vendor=old.vendor, model=old.model,
                status='enabled')).lastrowid
            path = connection.execute(sa.insert(models.ControlpathID).values(
                uuid='c' * 36, device_id=device, cpid_type='PCI',
                cpid_info=old.controlpath.cpid_info)).lastrowid
            deployable = connection.execute(
                sa.insert(models.Deployable).values(
                    uuid='d' * 36, name='COMPUTE-1_0000:01:00.0',
                    num_accelerators=1, device_id=device)).lastrowid
            connection.execute(sa.insert(models.AttachHandle).values(
                uuid='a' * 36, deployable_id=deployable, cpid_id=path,
                in_use=True, attach_type='PCI',
                attach_info='{"domain": "0", "bus": "1", "device": "0", '
                '"function": "0"}'))
        self.assertIn('the same function under another name',
                      self.refused(1))

    def test_statements_do_not_grow(self):
        self.report(*(vf(bus) for bus in range(2, 40)))
        counts = []
        for bus in (2, 3, 4, 20):
            arq = self.arq()
            with self.db.count_statements() as sql:
                self.bind(arq, name=name(bus))
            counts.append(len(sql))
        self.assertEqual(1, len(set(counts)), counts)
        self.assertLessEqual(counts[0], 15)


class SimultaneousTest(Rows, test_races.RaceCase):
    """Two conductors claim a PF and one of its VFs at the same moment."""

    scenarios = test_races.SERVERS

    def test_one_of_them_gets_it(self):
        self.report_apart(pf(), vf(2), vf(3))
        for _round in range(12):
            arqs = [self.arq(), self.arq(), self.arq()]
            results = self.together(*(
                (number % 2, self.binder(arq, name(number + 1)))
                for number, arq in enumerate(arqs)))
            bound = {number for number, arq in enumerate(arqs)
                     if self.arq_row(arq).state == 'Bound'}
            self.assertTrue(bound, results)
            if 0 in bound:
                self.assertEqual({0}, bound, results)
            self.unbind(*(arqs[number] for number in bound))


class InsertedTest(Rows, test_races.RaceCase):
    """The PF comes, and is bound, while the bind of a VF stands still.

    It has read which handles there are; MariaDB goes on showing it that.
    """

    scenarios = test_races.SERVERS

    def test_one_of_them_gets_it(self):
        self.report(vf(2), vf(3))
        arqs = [self.arq(), self.arq()]
        original, others = binding._candidates, []

        def looked(*args):
            found = original(*args)
            if not others:
                others.append(threading.Thread(target=meanwhile, daemon=True))
                others[0].start()
                others[0].join(3)
            return found

        def meanwhile():
            self.facades.chosen.index = 1
            asker = context.get_admin_context()
            # Whoever stores it, as 2026.2 did, beside its VFs.
            host_changes.insert_devices(
                asker, base.HOST, inventory_values.discovered_devices([pf()]))
            host_changes.set_provider_uuids(
                asker, {name(1): self.provider(name(1))}, base.HOST)
            try:
                self.binder(arqs[1], name(1))(self.conductors[1], asker)
            except base.EXPECTED as error:
                refusals.append(type(error.exc_info[1]))

        refusals = []
        with fixtures.MonkeyPatch('cyborg.db.binding._candidates', looked):
            self.together((0, self.binder(arqs[0], name(2))))
        others[0].join(60)
        self.assertEqual([exception.BindFunctionShared], refusals)
        self.assertEqual(['Bound', 'BindFailed'],
                         [self.arq_row(arq).state for arq in arqs])


load_tests = testscenarios.load_tests_apply_scenarios

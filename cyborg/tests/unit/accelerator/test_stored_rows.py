# SPDX-License-Identifier: Apache-2.0
"""Rows that the conductor of 2026.2 kept of the vendor drivers (BASE-1).

The same host again changes nothing, free or allocated (REC-2); then the
hardware changes as it did there.
"""

import dataclasses
import json
import types

from oslo_utils import importutils

from cyborg.agent import holdings
from cyborg.inventory import assemble
from cyborg.inventory import plan as planner
from cyborg.objects import inventory_values
from cyborg.tests import base
from cyborg.tests.fixtures import recorded
from cyborg.tests.unit.accelerator import test_vendor_cases

#: What a plan says without changing anything.
REMARKS = {'hostname', 'discovered', 'present', 'shared', 'faults'}
#: Reported by a driver that is gone.
DROPPED = 'ascend-one-chip-twice'
#: Mediated devices that the recorded host has.
MDEV = '5a1c6f0e-1d1b-4b0e-8f0a-00000000000%d'


def persisted(rows: dict, *, allocated: bool = False):
    """The rows of a recording as the planner takes them."""
    def records(table, **more):
        return [types.SimpleNamespace(**{
            **row, 'uuid': '%s-%d' % (table, row['id']), 'arq_uuids': (),
            **more}) for row in rows[table]]

    handles = records(
        'attach_handles', **({'in_use': 1} if allocated else {}))
    for number, row in enumerate(
            [row for row in handles if row.attach_type == 'MDEV'][:3], 1):
        row.uuid = MDEV % number
    return assemble.persisted_host(types.SimpleNamespace(
        hostname='compute-1', devices=records('devices'),
        controlpaths=records('controlpath_ids'),
        deployables=records('deployables'),
        attributes=records('attributes'),
        attach_handles=handles))


def changes(plan) -> dict:
    """The fields of a plan that make somebody do something."""
    return {field.name: getattr(plan, field.name)
            for field in dataclasses.fields(plan)
            if field.name not in REMARKS and getattr(plan, field.name)}


class StoredRowsTest(base.TestCase):

    def plan(self, case_id, stored, *, told=True, seed=0):
        case = recorded.cases()[case_id]
        with recorded.RecordedHost(self.conf, case, seed):
            driver = importutils.import_object(
                'cyborg.accelerator.drivers.'
                + test_vendor_cases.DRIVERS[case['driver']])
            driver.init_host()
            if told:
                driver.hold(holdings.of(stored))
                driver.recall(stored)
            found = driver.discover()
        return planner.plan(inventory_values.discovered_devices(found),
                            stored)

    def sequences(self):
        for name, steps in recorded.stored_rows().items():
            if name != DROPPED:
                yield name, steps

    def test_same_report_changes_nothing(self):
        checked = 0
        for name, steps in self.sequences():
            for allocated in (False, True):
                for told in (False, True):
                    if name == 'sriov-gpu' and told and not allocated:
                        continue  # below
                    with self.subTest(name, allocated=allocated, told=told):
                        stored = persisted(steps[-1]['rows'],
                                           allocated=allocated)
                        self.assertEqual({}, changes(self.plan(
                            steps[-1]['report'], stored, told=told,
                            seed=checked)))
                    checked += 1
        self.assertGreaterEqual(checked, 50)

    def test_free_pf_goes_for_its_vfs(self):
        """ID-3: 2026.2 offered a GPU and its virtual functions."""
        rows = recorded.stored_rows()['sriov-gpu'][-1]['rows']
        found = changes(self.plan('gpu-23', persisted(rows)))
        self.assertEqual({'removed_devices'}, set(found))
        device, = found['removed_devices']
        self.assertEqual(['compute-1_0000:41:00.0'],
                         [each.name for each in device.deployables])

    def test_virtual_functions_come(self):
        """qat-pf-then-two-pfs-with-vfs"""
        rows = recorded.stored_rows()['qat-pf-then-two-pfs-with-vfs'][0][
            'rows']
        free = self.plan('qat-05', persisted(rows))
        self.assertEqual(['compute-1_0000:3d:00.0'], [
            record.deployable.name for record in free.removed_deployables])
        self.assertTrue(free.new_deployables)
        given = self.plan('qat-05', persisted(rows, allocated=True))
        self.assertEqual((), given.removed_deployables)
        self.assertEqual(['compute-1_0000:3d:00.0'], [
            record.deployable.name for record in given.retained])
        # ID-3: a guest has the card.
        self.assertEqual((), given.new_deployables)

    def test_gpu_becomes_virtual_ones(self):
        """pgpu-then-vgpu, gpu-29: not while a guest has it whole."""
        rows = recorded.stored_rows()['pgpu-then-vgpu'][0]['rows']
        free = self.plan('gpu-07', persisted(rows))
        # Three of the 16 are somebody else's.
        self.assertEqual(13, len(free.new_handles))
        self.assertEqual(1, len(free.removed_handles))
        self.logs.clear()
        self.assertEqual({}, changes(self.plan(
            'gpu-07', persisted(rows, allocated=True))))
        self.assertLogged(
            'WARNING', 'is configured for virtual GPUs of type nvidia-222, '
            'but stays as a whole GPU as long as it is allocated so')

    def test_virtual_gpus_become_one(self):
        """vgpu-then-pgpu: their guests keep them."""
        rows = recorded.stored_rows()['vgpu-then-pgpu'][0]['rows']
        free = self.plan('gpu-02', persisted(rows))
        self.assertEqual(1, len(free.new_handles))
        self.assertEqual(16, len(free.removed_handles))
        given = changes(self.plan('gpu-02', persisted(rows, allocated=True)))
        self.assertEqual({'retained'}, set(given))

    def test_card_that_lost_its_driver(self):
        """intel-fpga-pf-then-stub"""
        steps = recorded.stored_rows()['intel-fpga-pf-then-stub']
        for allocated in (False, True):
            stored = persisted(steps[0]['rows'], allocated=allocated)
            self.assertEqual({}, changes(self.plan('fpg-02', stored)))

    def test_leftovers_of_a_dropped_driver(self):
        """A row without handle, provider or attribute does no harm."""
        rows = recorded.stored_rows()[DROPPED][-1]['rows']
        found = changes(self.plan('gpu-02', persisted(rows)))
        self.assertEqual({'new_devices', 'removed_devices'}, set(found))

    def test_network_card_that_a_guest_has(self):
        """nic-20: it stays as stored, mapping and all."""
        steps = recorded.stored_rows()['nic-pf']
        case = recorded.cases()[steps[-1]['report']]
        self.assertIn('net/', json.dumps(case['sysfs']))
        for allocated in (False, True):
            stored = persisted(steps[-1]['rows'], allocated=allocated)
            self.assertEqual({}, changes(self.plan('nic-20', stored)))

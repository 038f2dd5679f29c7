# SPDX-License-Identifier: Apache-2.0
"""CLEAN-21"""

import dataclasses

from cyborg.nvme import baseline
from cyborg.nvme import errors
from cyborg.nvme import records
from cyborg.tests import base
from cyborg.tests.unit.nvme import base as nvme_base

ONE = records.Namespace(1, 1000, 1000, 0, records.BlockFormat(512))
TWO = dataclasses.replace(ONE, nsid=2)
SMALL = dataclasses.replace(ONE, blocks=10, capacity=10)
LARGE_BLOCKS = dataclasses.replace(
    ONE, blocks=125, capacity=125, lbaf=1, block=records.BlockFormat(4096))
LOOSE = dataclasses.replace(ONE, attached=False)
PROTECTED = dataclasses.replace(ONE, write_protected=True)


class LayoutTest(base.TestCase):

    def test_differences_and_the_steps_to_mend_them(self):
        for found, text, steps in (
                ((ONE, TWO), '', []),
                ((ONE,), 'namespace 2 is gone',
                 ['create namespace 2', 'attach namespace 2']),
                ((ONE, TWO, dataclasses.replace(ONE, nsid=5)),
                 'namespace 5 was added', ['delete namespace 5']),
                ((SMALL, TWO), 'namespace 1 has 10 blocks of 512 bytes, and '
                 '1000 of 512 bytes were recorded',
                 ['delete namespace 1', 'create namespace 1',
                  'attach namespace 1']),
                ((LARGE_BLOCKS, TWO), 'namespace 1 has 125 blocks of 4096 '
                 'bytes, and 1000 of 512 bytes were recorded',
                 ['format namespace 1']),
                ((LOOSE, TWO), 'namespace 1 is not attached',
                 ['attach namespace 1']),
                ((PROTECTED, TWO), 'namespace 1 is write-protected',
                 ['unprotect namespace 1']),
                ((dataclasses.replace(ONE, dps=1), TWO),
                 'namespace 1 has other protection settings',
                 ['format namespace 1']),
                ((dataclasses.replace(ONE, nmic=1), TWO),
                 'sharing of namespace 1 is changed',
                 ['delete namespace 1', 'create namespace 1',
                  'attach namespace 1']),
                ((), 'namespace 1 is gone; namespace 2 is gone',
                 ['create namespace 1', 'attach namespace 1',
                  'create namespace 2', 'attach namespace 2'])):
            self.assertEqual(text, '; '.join(
                baseline.layout_differences((ONE, TWO), found)))
            self.assertEqual(steps, [str(step) for step in
                                     baseline.before_erase((ONE, TWO),
                                                           found)])

    def test_what_was_lifted_is_given_back(self):
        recorded = (dataclasses.replace(PROTECTED, attached=False), TWO)
        self.assertEqual(
            ['unprotect namespace 1', 'attach namespace 1'],
            [str(step) for step in baseline.before_erase(recorded,
                                                         recorded)])
        self.assertEqual(
            ['protect namespace 1', 'detach namespace 1'],
            [str(step) for step in baseline.after_erase(recorded)])

    def test_the_recorded_one_needs_nothing(self):
        self.assertEqual((), baseline.before_erase((ONE, TWO), (ONE, TWO)))
        self.assertEqual((), baseline.after_erase((ONE, TWO)))


class ApplyTest(nvme_base.DiskTestCase):

    def test_what_the_disk_cannot_do_is_said_before_anything_is_done(self):
        port = self.plug(oacs=0x2, nwpc=0)
        port.hold()
        disk = self.controller(port)
        identity = disk.identify()
        self.assertEqual(
            'NVMe disk 0000:01:00.0 (serial S1): it is not as it was '
            'recorded: it cannot unprotect namespace 1; it cannot delete '
            'namespace 1.', self.refused(
                errors.Changed, baseline.apply, disk, identity,
                (baseline.Step('format', ONE),
                 baseline.Step('unprotect', ONE),
                 baseline.Step('delete', ONE)), lambda: None))

    def test_another_id_than_the_recorded_one(self):
        port = self.plug(size=2048)
        port.hold()
        disk = self.controller(port)
        disk.delete_namespace(1, lambda: None)
        baseline.settle(disk)
        error = self.assertRaises(
            errors.Changed, baseline.apply, disk, disk.identify(),
            (baseline.Step('create', dataclasses.replace(SMALL, nsid=3,
                                                         blocks=2)),),
            lambda: None)
        self.assertIn('the namespace made for 3 got the id 1', str(error))

    def test_every_field_that_tells_disks_apart(self):
        """CLEAN-15"""
        known = records.Identity(1, 2, 'S', 'M', 'F', subnqn='n')
        baseline.check_same_disk('d', known, dataclasses.replace(
            known, firmware='G', oacs=3))
        for field, value in (('serial', 'T'), ('model', 'N'), ('vid', 9),
                             ('ssvid', 9), ('subnqn', 'm')):
            error = self.assertRaises(
                errors.WrongDisk, baseline.check_same_disk, 'd', known,
                dataclasses.replace(known, **{field: value}))
            self.assertIn('its %s is %s' % (field, value), str(error))

# SPDX-License-Identifier: Apache-2.0

from cyborg import conf
from cyborg.pci import classes
from cyborg.tests import base


class ClassesTest(base.TestCase):

    def test_nvme_is_excluded_whatever_its_interface(self):
        """DSC-4"""
        for code in (0x010800, 0x010802, 0x0108ff):
            self.assertTrue(classes.excluded(code))
            self.assertTrue(classes.stateful(code))

    def test_others_are_not(self):
        for code in (0x010601, 0x010900, 0x020000, 0x030200, 0x120000,
                     0x080100, 0):
            self.assertFalse(classes.excluded(code), hex(code))

    def test_the_set_is_no_option(self):
        names = [opt.name for module in conf.MODULES
                 for opts in module.list_opts().values() for opt in opts]
        self.assertIn('allow_unsafe_devices', names)
        self.assertEqual([], [name for name in names if 'class' in name])

    def test_names(self):
        self.assertEqual('Non-Volatile memory controller',
                         classes.name(0x010802))
        self.assertEqual('3D controller', classes.name(0x030200))
        self.assertEqual('Mass storage controller', classes.name(0x01ab00))
        self.assertEqual('Unassigned class', classes.name(0xffff00))
        self.assertEqual('Class aabb', classes.name(0xaabb00))

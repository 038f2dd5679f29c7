# SPDX-License-Identifier: Apache-2.0

import hypothesis
from hypothesis import strategies as st

from cyborg.pci import uevent
from cyborg.tests import base

LINES = (b'DRIVER=igb', b'DRIVER=vfio-pci', b'PCI_CLASS=20000',
         b'PCI_ID=8086:154C', b'PCI_ID=10DE:1EB8', b'PCI_SUBSYS_ID=8086:0000',
         b'PCI_SLOT_NAME=0000:3b:00.0', b'PCI_SLOT_NAME=', b'MODALIAS=pci:v',
         b'', b'\xff=\x00')


class UeventTest(base.TestCase):

    def test_as_the_kernel_writes_it(self):
        self.assertEqual(
            uevent.Summary('8086', '154c', 0x020000, 'igb'), uevent.parse(
                b'DRIVER=igb\nPCI_CLASS=20000\nPCI_ID=8086:154C\n'
                b'PCI_SUBSYS_ID=8086:0000\nPCI_SLOT_NAME=0000:3b:00.0\n'
                b'MODALIAS=pci:v00008086\n'))

    def test_a_driver_below_the_address(self):
        self.assertEqual('igb', uevent.parse(
            b'PCI_CLASS=20000\nPCI_ID=8086:154C\n'
            b'PCI_SLOT_NAME=0000:3b:00.0\nDRIVER=igb\n').driver)

    @hypothesis.settings(max_examples=2000)
    @hypothesis.given(st.lists(st.sampled_from(LINES), max_size=8),
                      st.booleans())
    def test_the_address_makes_no_difference(self, lines, ended):
        """DSC-10: in whatever order, complete or not."""
        data = b'\n'.join(lines) + (b'\n' if ended else b'')
        # What is remembered, against a look at the whole text.
        self.assertEqual(uevent._summary.__wrapped__(data),
                         uevent.parse(data))

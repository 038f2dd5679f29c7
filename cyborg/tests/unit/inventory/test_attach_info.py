# SPDX-License-Identifier: Apache-2.0
"""Attach information, read once (REC-2)."""

import json

import hypothesis
from hypothesis import strategies as st

from cyborg.inventory import attach_info
from cyborg.inventory import identity
from cyborg.inventory import uuids
from cyborg.pci import address as pci_address
from cyborg.tests import base

WHERE = pci_address.PciAddress(0, 0x3b, 0, 1)


def text(**more):
    return json.dumps({**WHERE.fields(), **more}, sort_keys=True)


def read(*args, **more):
    return attach_info.AttachInfo.read(*args or (text(**more),))


class AddressTest(base.TestCase):

    def test_any_number_of_digits_and_case(self):
        for info in ('{"domain": "0", "bus": "3B", "device": "0", '
                     '"function": "1"}', text()):
            self.assertEqual(WHERE, read(info).address)

    def test_what_is_no_address(self):
        """What int() would take, and hexadecimal digits are not."""
        for value, reason in (
                ('0x3b', '"0x3b" under "bus" is no hexadecimal number up to '
                 'ff'),
                (' 3b', '" 3b" under "bus" is no hexadecimal number up to '
                 'ff'),
                ('3_b', '"3_b" under "bus" is no hexadecimal number up to '
                 'ff'),
                ('\u0663', '"\u0663" under "bus" is no hexadecimal number '
                 'up to ff'),
                ('', '"" under "bus" is no hexadecimal number up to ff'),
                ('100', '"100" under "bus" is no hexadecimal number up to '
                 'ff'),
                (3, 'no text under "bus"'), (None, 'no text under "bus"')):
            info = read(bus=value)
            error = self.assertRaises(identity.InvalidInfo,
                                      getattr, info, 'address')
            self.assertEqual(reason, error.reason)
            # Its settings are readable all the same.
            self.assertEqual(attach_info.Settings(), info.settings)
            self.assertEqual(info.text, attach_info.describe(info.text))

    def test_described_as_linux_writes_it(self):
        self.assertEqual('0000:3b:00.1', attach_info.describe(text()))
        self.assertEqual('no JSON', attach_info.describe('no JSON'))


class KeyTest(base.TestCase):

    def test_settings_do_not_name_a_handle(self):
        self.assertEqual(read().key('PCI'), read(
            managed=False, stateful=True, numa_node=1).key('TEST_PCI'))

    def test_second_mediated_device_of_a_function(self):
        """Type and mark tell them apart, and from the function itself."""
        keys = {read(asked_type=kind, vgpu_mark=mark).key('MDEV')
                for kind in ('nvidia-35', 'nvidia-36') for mark in 'ab'}
        self.assertEqual(4, len(keys | {read().key('MDEV')}) - 1)
        self.assertNotIn(read().key('PCI'), keys)

    def test_mark_that_is_no_text(self):
        """One such handle is damaged, and ends no report."""
        for name in ('asked_type', 'vgpu_mark'):
            error = self.assertRaises(identity.InvalidInfo, read(
                **{name: ['x']}).key, 'MDEV')
            self.assertEqual('"%s" is ["x"] and must be text' % name,
                             error.reason)

    def test_uuids_of_rows_are_what_they_were(self):
        """Rows of earlier reports are found by UUID again (REC-2)."""
        self.assertEqual('9946c1c7-4a03-501e-925f-53fb71a73998',
                         uuids.handle('deployable', read().key('PCI')))
        self.assertEqual(
            '721c1062-296a-583b-969b-ce65c25291a7',
            uuids.device('c1', identity.controlpath_key('PCI', text())))


class MergeTest(base.TestCase):

    SETTINGS = st.fixed_dictionaries({}, optional={
        'managed': st.booleans(), 'stateful': st.booleans(),
        'numa_node': st.none() | st.integers(0, 3),
        'physical_network': st.sampled_from(('a', 'b'))})

    @hypothesis.given(SETTINGS, SETTINGS, st.booleans(), st.booleans())
    def test_merged(self, old, new, managed, others):
        """REC-2: effective values change, equal ones keep their form."""
        before, wanted = read(**old), read(**new)
        after = read(before.merged(
            wanted, take_managed=managed, take_others=others))
        self.assertEqual(before.address, after.address)
        self.assertEqual((wanted if managed else before).settings.managed,
                         after.settings.managed)
        self.assertEqual(wanted.settings.stateful, after.settings.stateful)
        self.assertEqual(wanted.settings.numa_node, after.settings.numa_node)
        self.assertEqual((wanted if others else before).others, after.others)
        if after.settings == before.settings and (
                after.others == before.others):
            self.assertEqual(before.text, after.text)

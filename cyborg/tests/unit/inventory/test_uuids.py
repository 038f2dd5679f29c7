# SPDX-License-Identifier: Apache-2.0
"""UUIDs of rows follow from what the rows stand for."""

import unittest
import uuid

from cyborg.inventory import identity
from cyborg.inventory import uuids


class UuidTest(unittest.TestCase):

    def test_same_address_in_any_form(self):
        keys = {identity.controlpath_key('PCI', text) for text in (
            '{"domain": "0000", "bus": "0a", "device": "00", '
            '"function": "1"}',
            '{"function":"1","device":"0","bus":"A","domain":"0"}')}
        self.assertEqual(1, len({uuids.device('h', key) for key in keys}))

    def test_all_differ(self):
        key = ('PCI', (0, 1, 0, 0))
        below = uuids.deployable('h', key, 'n')
        made = [uuids.device('h', key), uuids.device('h2', key),
                uuids.device('h', ('PCI', (0, 1, 0, 1))),
                uuids.controlpath('h', key), below,
                uuids.deployable('h', key, 'n2'),
                uuids.attribute(below, 'rc'), uuids.attribute(below, 't'),
                uuids.attribute(below, 't', 1),
                uuids.attribute(below, 't', 2),
                uuids.handle(below, key),
                uuids.handle(below, ('MDEV', (0, 1, 0, 0), 'a', 'b'))]
        self.assertEqual(len(made), len(set(made)))
        for text in made:
            self.assertEqual(text, str(uuid.UUID(text)))

    def test_they_never_change(self):
        """Rows that an earlier version stored must be met again."""
        key = ('PCI', (0, 1, 0, 0))
        self.assertEqual(EXPECTED, uuids.device('h', key))


EXPECTED = '9584a177-7cf3-53c0-85d3-12f61b7d6c57'

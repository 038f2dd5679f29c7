# SPDX-License-Identifier: Apache-2.0
"""PERF-5: no two inventories have one digest."""

import dataclasses

from cyborg.inventory import digest
from cyborg.inventory import values
from cyborg.tests import base

HANDLE = values.DiscoveredHandle('PCI', '{"bus": "01"}')
DEPLOYABLE = values.DiscoveredDeployable(
    'name', 1, 'driver', (('rc', 'A'), ('trait0', 'B')), (HANDLE,))
DEVICE = values.DiscoveredDevice(
    'PCI', 'cpid', 'GPU', 'vendor', 'model', 'board', 'other', 'available',
    False, (DEPLOYABLE,))
STORED = values.PersistedHost('compute-1', (values.PersistedDevice(
    1, 'u', 'compute-1', 'GPU', 'vendor', 'model', 'b', 'v', 'enabled', 's',
    values.PersistedControlPath(1, 'c', 1, 'PCI', 'cpid'),
    (values.PersistedDeployable(
        2, 'd', 1, 'name', 1, 'driver', 'rp',
        (values.PersistedAttribute(3, 'a', 'rc', 'A'),),
        (values.PersistedHandle(4, 'h', 2, 1, 'PCI', '{}', False, ('q',)),),
        ('q',)),)),))


def variants(record):
    """The record with one value of it, at any depth, changed."""
    for field in dataclasses.fields(record):
        for value in others(getattr(record, field.name)):
            yield dataclasses.replace(record, **{field.name: value})


def others(value):
    if dataclasses.is_dataclass(value):
        yield None
        yield from variants(value)
    elif isinstance(value, tuple):
        yield ()
        yield value + value
        for place, each in enumerate(value):
            for other in others(each):
                yield (*value[:place], other, *value[place + 1:])
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield value + 1
    else:
        yield from (None, '', str(value) + ' ')


class DigestTest(base.TestCase):

    def test_each_value_counts(self):
        for of, record in ((lambda each: digest.of_found([each]), DEVICE),
                           (digest.of_stored, STORED)):
            found = [of(each) for each in variants(record)]
            self.assertGreater(len(found), 40)
            self.assertNotIn(of(record), found)
            self.assertEqual(len(set(found)), len({
                repr(each) for each in variants(record)}))

    def test_order_and_number_count(self):
        second = dataclasses.replace(DEVICE, vendor='x')
        self.assertEqual(4, len({digest.of_found(found) for found in (
            [], [DEVICE], [DEVICE, second], [second, DEVICE])}))

    def test_texts_are_kept_apart(self):
        self.assertEqual(4, len({digest.of_texts(*texts) for texts in (
            ('a', 'b'), ('ab',), ('a', None), ('a', 'None'))}))

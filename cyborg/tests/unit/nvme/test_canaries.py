# SPDX-License-Identifier: Apache-2.0
"""CLEAN-20"""

import json

import hypothesis
from hypothesis import strategies

from cyborg.nvme import canaries
from cyborg.nvme import errors
from cyborg.nvme import plain
from cyborg.nvme import records
from cyborg.tests import base

SEED = '0123456789abcdef' * 2


def namespace(nsid=1, blocks=4096, size=512, **facts):
    return records.Namespace(nsid, blocks, blocks, 0,
                             records.BlockFormat(size), **facts)


class PlanTest(base.TestCase):

    def plan(self, *namespaces, samples=64, seed=SEED):
        return canaries.plan('d', seed, namespaces, samples)

    @hypothesis.given(
        strategies.integers(1, 1 << 40), strategies.sampled_from(
            [512, 4096, 16384]), strategies.integers(1, 300))
    def test_places(self, blocks, size, samples):
        one = namespace(blocks=blocks, size=size)
        places = self.plan(one, samples=samples).places
        self.assertEqual(len(places), len(set(places)))
        self.assertEqual(0, places[0].offset)
        for place in places:
            self.assertEqual(0, place.offset % size)
            self.assertEqual(0, place.length % size)
            self.assertLessEqual(place.offset + place.length, one.size)
        slots = one.size // places[0].length
        self.assertEqual(min(max(samples, 2), slots), len(places))
        # The last block that a canary fits into.
        self.assertEqual((slots - 1) * places[0].length, places[-1].offset)

    def test_every_namespace(self):
        places = self.plan(namespace(1), namespace(7), samples=3).places
        self.assertEqual([1] * 3 + [7] * 3, [each.nsid for each in places])

    def test_the_same_seed_and_another(self):
        one = namespace(blocks=1 << 30)
        self.assertEqual(self.plan(one), self.plan(one))
        self.assertNotEqual(self.plan(one).places,
                            self.plan(one, seed='f' * 32).places)

    def test_a_journal_can_keep_it(self):
        plan = self.plan(namespace())
        text = json.dumps(plain.to_plain(plan))
        self.assertEqual(plan, plain.from_plain(canaries.Canaries,
                                                json.loads(text)))

    def test_nothing_to_verify_is_an_error(self):
        for namespaces in (
                (), (namespace(attached=False),),
                (namespace(), records.Namespace(
                    2, 8, 8, 0, records.BlockFormat(512, 8),
                    extended=True))):
            error = self.assertRaises(errors.NothingToVerify, self.plan,
                                      *namespaces)
            self.assertEqual(
                'NVMe disk d: it has no namespace that can be written and '
                'read, so no erase can be verified. Create and attach one, '
                'or let the recorded layout be restored.', str(error))


class SurvivingTest(base.TestCase):

    def test_one_sector_is_enough(self):
        before = canaries.content(SEED, canaries.Place(1, 0, 4096))
        for sector in range(8):
            start = sector * 512
            found = bytearray(4096)
            found[start:start + 512] = before[start:start + 512]
            self.assertEqual(start, canaries.surviving(bytes(found), before))
        self.assertIsNone(canaries.surviving(bytes(4096), before))
        self.assertIsNone(canaries.surviving(b'\xff' * 4096, before))

    def test_no_two_sectors_are_alike(self):
        sectors = set()
        for offset in (0, 4096):
            data = canaries.content(SEED, canaries.Place(1, offset, 4096))
            sectors |= {data[start:start + 512]
                        for start in range(0, 4096, 512)}
        self.assertEqual(16, len(sectors))

    def test_a_port_that_gives_less(self):
        class Port:
            def read(self, nsid, offset, length):
                return bytes(length - 1)

        plan = canaries.plan('d', SEED, (namespace(),), 2)
        self.assertRaises(errors.ShortTransfer, canaries.verify, 'd', Port(),
                          plan)

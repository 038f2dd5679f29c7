# SPDX-License-Identifier: Apache-2.0
"""PERF-5: what counts of a host's providers."""

import dataclasses

from cyborg.placement import client
from cyborg.placement import tree_print
from cyborg.tests import base

ROOT = client.Provider('r', 'compute-1', 5, None, 'r')
CHILD = client.Provider('c', 'compute-1_1', 7, 'r', 'r')


class TreePrintTest(base.TestCase):

    def test_what_counts(self):
        before = tree_print.of([ROOT, CHILD])
        self.assertEqual(before, tree_print.of([CHILD, ROOT]))
        self.assertEqual(before, tree_print.of(
            [dataclasses.replace(ROOT, generation=6), CHILD]))
        for changed in ([ROOT], [CHILD], [
                dataclasses.replace(ROOT, name='compute-2'), CHILD]):
            self.assertNotEqual(before, tree_print.of(changed))
        for change in ({'generation': 8}, {'name': 'x'}, {'uuid': 'x'},
                       {'parent': 'x'}):
            self.assertNotEqual(before, tree_print.of(
                [ROOT, dataclasses.replace(CHILD, **change)]))

    def test_an_answer_is_parsed_once(self):
        prints, parsed = tree_print.Prints(), []

        def parse():
            parsed.append(1)
            return [ROOT]

        one = prints.of_answer('r', b'1', parse)
        self.assertEqual(one, prints.of_answer('r', b'1', parse))
        self.assertEqual(1, len(parsed))
        prints.of_answer('other', b'1', parse)
        prints.of_answer('r', b'2', parse)
        prints.of_answer('r', b'1', parse)
        self.assertEqual(4, len(parsed))

# SPDX-License-Identifier: Apache-2.0
"""DOC-1: the tests that the page of kinds names are there."""

import importlib
import re

from cyborg.tests import base
from cyborg.tests.fixtures import pages

PAGE = 'contributor/kinds.rst'
_NAME = re.compile(
    r'``((?:unit|functional|peers|upgrade)\.[A-Za-z0-9_.]+)``')


class KindsPageTest(base.TestCase):

    def setUp(self):
        super().setUp()
        pages.blocks(PAGE)  # skips where there is no clone
        self.text = (pages.SOURCE / PAGE).read_text()

    def test_twelve_kinds_with_a_test_each(self):
        rows = re.split(r'\n   \* - (?=\d+\. )', self.text)[1:]
        self.assertEqual(list(range(1, 13)),
                         [int(row.partition('.')[0]) for row in rows])
        for row in rows:
            self.assertTrue(_NAME.findall(row), row)

    def test_the_named_tests_exist(self):
        for name in _NAME.findall(self.text):
            self.assertIsNotNone(_found(name), name)


def _found(name: str):
    """The module, class or method of that name; None if there is none."""
    words = ['cyborg', 'tests', *name.split('.')]
    for length in range(len(words), 2, -1):
        try:
            found = importlib.import_module('.'.join(words[:length]))
        except ModuleNotFoundError:
            continue
        for word in words[length:]:
            found = getattr(found, word, None)
        return found
    return None

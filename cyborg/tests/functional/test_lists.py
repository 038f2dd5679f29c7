# SPDX-License-Identifier: Apache-2.0
"""The lists of tests that a step of ``tools/run-tests`` runs or leaves out."""

import pathlib
import re
import unittest

import testtools

from cyborg.conf import default

ROOT = pathlib.Path(default.PACKAGE_PARENT)
LISTS = ROOT / 'tools' / 'config'


def _names(suite) -> list[str]:
    """Ids as stestr lists them, scenarios included."""
    if isinstance(suite, unittest.TestCase):
        return [suite.id()]
    return [name for part in suite for name in _names(part)]


@testtools.skipUnless(LISTS.exists(), 'only in a clone')
class ListsTest(testtools.TestCase):

    def test_each_line_names_a_test(self):
        """One that names none leaves out nothing, or runs nothing.

        So did all lines that named a scenario of a class whose scenarios
        came into being only when it ran.
        """
        names = _names(unittest.TestLoader().discover(
            str(ROOT / 'cyborg/tests'), top_level_dir=str(ROOT)))
        idle = []
        for path in sorted(LISTS.glob('tests-*.txt')):
            for line in path.read_text().splitlines():
                pattern = line.split('#')[0].strip()
                if pattern and not any(
                        re.search(pattern, name) for name in names):
                    idle.append('%s: %s' % (path.name, pattern))
        self.assertEqual([], idle)

# SPDX-License-Identifier: Apache-2.0
"""Which reports have a line of their own in the log of a conductor."""

import dataclasses
import itertools
import logging

from cyborg.conductor.report import tally
from cyborg.tests import base

SAME = tally.Counts(discovered=2, new=0, changed=0, removed=0, retained=1,
                    returned=0, refused=0, failed=0)


class TallyTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.now = 0
        self.tally = tally.Tally(lambda: self.now)

    def level(self, **changes) -> str:
        return logging.getLevelName(self.tally.level(
            'c1', dataclasses.replace(SAME, **changes)))

    def test_the_first_and_what_changed_something(self):
        self.assertEqual(['INFO', 'DEBUG', 'DEBUG'],
                         [self.level() for _time in range(3)])
        for name in ('new', 'changed', 'removed', 'returned', 'failed'):
            for _time in range(2):
                self.assertEqual('INFO', self.level(**{name: 1}), name)
            # Nothing has changed since.
            self.assertEqual('DEBUG', self.level(), name)
        for name in ('discovered', 'retained', 'refused'):
            self.assertEqual('INFO', self.level(**{name: 5}), name)
            self.assertEqual('DEBUG', self.level(**{name: 5}), name)

    def test_a_day_of_three_hosts(self):
        self.logs.clear()
        levels = []
        for minute, host in itertools.product(range(24 * 60),
                                              ('c1', 'c2', 'c3')):
            self.now = minute * 60
            levels.append(self.tally.level(host, SAME))
        self.assertEqual(3, levels.count(logging.INFO))
        lines = self.logs.messages('INFO')
        self.assertEqual(23, len(lines))
        self.assertEqual(['%d reports of 3 hosts in the last 60 minutes '
                          'changed nothing.' % count for count in (178, 180)],
                         lines[:2])

    def test_nothing_to_tell(self):
        self.now = tally.INTERVAL
        self.assertEqual('INFO', self.level())
        self.assertEqual([], self.logs.messages('INFO'))

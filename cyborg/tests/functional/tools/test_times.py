# SPDX-License-Identifier: Apache-2.0
"""The times by which the tests are shared out to workers."""

import pathlib

from stestr.repository import file as repository

from cyborg.tests import base
from cyborg.tests.functional.tools import test_proof


class TimesTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.times = test_proof.module('test_times.py')
        self.root = pathlib.Path(self.temp_dir())
        self.file = self.root / 'times'

    def known(self, *names):
        return repository.RepositoryFactory().open(
            str(self.root)).get_test_times(names)['known']

    def test_loaded_and_printed(self):
        self.file.write_text('20 a.B.c(mariadb)\n3 a.B.d\n1 a.B.e\n')
        self.times.load(self.root, self.file)
        self.assertEqual({'a.B.c(mariadb)': 20, 'a.B.d': 3},
                         self.known('a.B.c(mariadb)', 'a.B.d', 'a.B.f'))
        self.assertEqual(
            ['20 a.B.c(mariadb)', '3 a.B.d'], self.times.slow(
                self.root, ['a.B.d', 'a.B.c(mariadb)', 'a.B.e', '']))

    def test_what_was_measured_here_stays(self):
        self.file.write_text('20 a.B.c\n')
        self.times.load(self.root, self.file)
        self.file.write_text('5 a.B.c\n')
        self.times.load(self.root, self.file)
        self.assertEqual({'a.B.c': 20}, self.known('a.B.c'))

    def test_ours_are_read(self):
        self.times.load(self.root, self.times.TIMES)

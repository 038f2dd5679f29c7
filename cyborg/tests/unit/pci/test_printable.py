# SPDX-License-Identifier: Apache-2.0

from cyborg.pci import printable
from cyborg.tests import base


class PrintableTest(base.TestCase):

    def test_what_can_be_shown_stays(self):
        for text in ('', 'ens1f0', 'Größe', '网卡', '0000:3b:00.0'):
            self.assertEqual(text, printable.printable(text))

    def test_what_cannot_be_shown_is_escaped(self):
        for text, shown in (
                ('\x1b[2J', r'\x1b[2J'), ('a\nb', r'a\nb'),
                ('\0', r'\x00'), ('\udcff', r'\udcff'),
                ('\u202e', r'\u202e'), ('\ufeff', r'\ufeff')):
            self.assertEqual(shown, printable.printable(text))
            printable.printable(text).encode('ascii')

    def test_lengths(self):
        self.assertEqual('a b', printable.one_line(' a \n\t b '))
        self.assertEqual('x' * 200 + '...', printable.one_line('x' * 10**6))
        self.assertEqual('x' * 80 + '...', printable.name('x' * 81))
        self.assertEqual("'%s...'" % ('x' * 80), printable.quoted('x' * 81))

# SPDX-License-Identifier: Apache-2.0
"""Which machine this is (ID-2)."""

import pathlib

from cyborg.agent import machine
from cyborg.tests import base

OWN = 'c1/0a'


class AnotherTest(base.TestCase):

    def test_whether_a_report_was_another_machines(self):
        """Only for sure: a device that is offered twice costs more."""
        for own, up, last, ago, expected in (
                (OWN, 5000, 'c1/0b', 100, True),
                (OWN, 401, 'c1/0b', 100, True),
                # Its clock may be five minutes slow.
                (OWN, 400, 'c1/0b', 100, False),
                # This machine's own, before it was booted.
                (OWN, 5000, 'c1/0b', 6000, False),
                # Under another name.
                (OWN, 5000, 'c2/0a', 100, False),
                (OWN, 5000, OWN, 100, False),
                (None, 5000, 'c1/0b', 100, False),
                (OWN, None, 'c1/0b', 100, False),
                # No boot in it.
                (OWN, 5000, 'c1', 100, False)):
            self.assertEqual(expected, machine.is_another(
                own, up, last, ago), (own, up, last, ago))


class ReadTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.root = pathlib.Path(self.temp_dir())
        (self.root / 'proc/sys/kernel/random').mkdir(parents=True)

    def uptime(self, text):
        (self.root / 'proc/uptime').write_bytes(text)
        return machine.uptime(str(self.root / 'sys'))

    def test_uptime(self):
        self.assertEqual(120.5, self.uptime(b'120.50 300.1\n'))
        for text in (b'', b'x', b'\xff'):
            self.assertIsNone(self.uptime(text))
        self.assertIsNone(machine.uptime('/nowhere/sys'))

    def test_mark(self):
        path = self.root / 'proc/sys/kernel/random/boot_id'
        path.write_text('0a\n')
        self.assertTrue(machine.mark(str(self.root / 'sys')).endswith('/0a'))
        path.write_text('\n')
        self.assertIsNone(machine.mark(str(self.root / 'sys')))
        self.assertIsNone(machine.mark('/nowhere/sys'))

# SPDX-License-Identifier: Apache-2.0
"""CLEAN-34: what is sent is checked once more where privilege is."""

import dataclasses

from cyborg.nvme import errors
from cyborg.nvme import records
from cyborg.nvme import safety
from cyborg.nvme import structures
from cyborg.tests import base

NAMESPACE = records.Namespace(1, 8, 8, 0, records.BlockFormat(512))
FORMAT = structures.format_nvm(1, NAMESPACE, 1, 0, 1000)


class SafetyTest(base.TestCase):

    def refusal(self, command, data=b''):
        return str(self.assertRaises(
            errors.UnsafeCommand, safety.check, '0000:01:00.0',
            command if isinstance(command, bytes) else command.pack(), data))

    def test_what_we_send_passes(self):
        for command, data in (
                (structures.identify(1), b''),
                (structures.get_log_page(0x81), b''),
                (structures.sanitize(2), b''), (structures.sanitize(3), b''),
                (structures.sanitize(4), b''), (FORMAT, b''),
                structures.create_namespace(NAMESPACE),
                (structures.delete_namespace(1), bytes(4096)),
                structures.attach_namespace(1, 0),
                structures.attach_namespace(1, 0, attach=False),
                (structures.write_protection(1, protect=True), b'')):
            self.assertEqual(command, safety.check('d', command.pack(), data))

    def test_what_we_never_send_does_not(self):
        change = dataclasses.replace
        for command, text in (
                (change(FORMAT, cdw10=0), 'Format NVM with SES 0, which '
                 'erases nothing'),
                (change(FORMAT, cdw10=3 << 9), 'Format NVM with SES 3'),
                (change(FORMAT, nsid=0xffffffff), 'of namespace ffffffff'),
                (change(FORMAT, nsid=0), 'of namespace 0'),
                (structures.Command(0x84, cdw10=1), 'Sanitize with SANACT 1'),
                (structures.Command(0x84, cdw10=0), 'Sanitize with SANACT 0'),
                (structures.Command(0x84, cdw10=5), 'Sanitize with SANACT 5'),
                (structures.Command(0x84, cdw10=0xa), 'unrestricted'),
                (structures.Command(0x11), 'admin command 11 (not one'),
                (structures.Command(0x00), 'admin command 00 (not one'),
                (structures.Command(0xc1), 'admin command c1 (not one'),
                (structures.Command(0x09, 1, cdw10=0x07), 'of feature 07'),
                (structures.Command(0x09, 1, cdw10=0x84, cdw11=3),
                 'cannot be lifted'),
                (structures.Command(0x0d, 0xffffffff, cdw10=1),
                 'of namespace ffffffff'),
                (structures.Command(0x0d, 1, cdw10=2), 'with SEL 2'),
                (structures.Command(0x06, data_len=8192),
                 'with 8192 bytes of data')):
            self.assertIn(text, self.refusal(command))

    def test_data_is_as_long_as_said(self):
        command, data = structures.create_namespace(NAMESPACE)
        self.assertIn('with 4095 bytes of data where 4096 are said',
                      self.refusal(command, data[1:]))

    def test_the_whole_text(self):
        self.assertEqual(
            'NVMe disk 0000:01:00.0: a malformed command (a command has 72 '
            'bytes, not 1) is never sent.', self.refusal(b'x'))

# SPDX-License-Identifier: Apache-2.0
"""CLEAN-4, CLEAN-17: wrong entries of [cleaner] device_spec."""

import testtools

from cyborg.cleaner import exceptions
from cyborg.cleaner import selection

_SHOWN = '[cleaner] device_spec of host h is not valid:\n'
#: entry -> the whole text after the first line.
WRONG = {
    '{': 'entry 1, {: at $: not JSON: Expecting property name enclosed in '
         'double quotes at line 1 column 2',
    '{"vendor": "144d"}':
        'entry 1, {"vendor": "144d"}: at $.vendor: unknown key "vendor" '
        '(valid: vendor_id, product_id, address, devname, managed, '
        'clear_action, clear_strategy), did you mean "vendor_id"?',
    '{"vendor_id": "144d", "clear_action": "shred"}':
        'entry 1, {"vendor_id": "144d", "clear_action": "shred"}: at '
        '$.clear_action: "shred" must be one of auto, sanitize, zero',
    '{"vendor_id": "144d", "clear_strategy": 1}':
        'entry 1, {"vendor_id": "144d", "clear_strategy": 1}: at '
        '$.clear_strategy: 1 must be one of auto, crypto, block',
    '[{"vendor_id": "144d", "clear_action": "zero", '
    '"clear_strategy": "block"}]':
        'entry 1, {"vendor_id": "144d", "clear_action": "zero", '
        '"clear_strategy": "block"}: at $[0]: clear_action zero overwrites '
        'the disk, which clear_strategy block excludes; leave clear_strategy '
        'out',
    '{"address": "0000:81.0.0"}': None,
    '{"vendor_id": ""}': None,
}


class SelectionTest(testtools.TestCase):

    def test_wrong_entries(self):
        for entry, text in WRONG.items():
            error = self.assertRaises(exceptions.CleanerConfigInvalid,
                                      selection.rules, 'h', [entry])
            if text is None:
                self.assertIn('entry 1, ' + entry, error.message)
            else:
                self.assertEqual(_SHOWN + text, error.message)

    def test_all_faults_are_told_at_once(self):
        error = self.assertRaises(exceptions.CleanerConfigInvalid,
                                  selection.rules, 'h', ['{', '[1'])
        self.assertIn('entry 1', error.message)
        self.assertIn('entry 2', error.message)

    def test_nothing_is_selected_unasked(self):
        error = self.assertRaises(exceptions.CleanerWithoutRules,
                                  selection.rules, 'h', [])
        self.assertEqual(
            '[cleaner] device_spec of host h is empty, so there is nothing to '
            'clean. Name the NVMe disks that Nova hands out, with the rules '
            'of its [pci] device_spec.', error.message)

    def test_keys_of_clearing_are_kept(self):
        rule, = selection.rules('h', [
            '{"vendor_id": "144d", "clear_strategy": "crypto"}']).rules
        self.assertIn('"clear_strategy": "crypto"', rule.text)

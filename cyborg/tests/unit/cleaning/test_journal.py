# SPDX-License-Identifier: Apache-2.0
"""CLEAN-25: entries as text, and back."""

import json

import testtools

from cyborg.cleaning import journal
from cyborg.cleaning import records
from cyborg.cleaning import states
from cyborg.nvme import canaries
from cyborg.nvme import records as nvme_records
from cyborg.tests.unit.cleaning import builders

FULL = builders.entry(
    states.State.CLEANING, reason=states.FREED, was=states.State.DIRTY,
    baseline=nvme_records.Baseline(
        nvme_records.Identity(1, 2, 'SN1', 'Model 1', 'FW'),
        (nvme_records.Namespace(1, 8, 8, 0, nvme_records.BlockFormat(512)),)),
    binding=nvme_records.Binding('nvme'), method='block sanitize', scdw10=2,
    canaries=canaries.Canaries('0' * 32, (canaries.Place(1, 0, 4096),)),
    began=1.5, seconds=2.5)


class JournalTest(testtools.TestCase):

    def test_there_and_back(self):
        for entry in (FULL, builders.entry(states.State.SEALED)):
            self.assertEqual(entry, journal.load(journal.dump(entry)))

    def test_damaged_files(self):
        """Every text in full."""
        good = json.loads(journal.dump(FULL))
        half = journal.dump(FULL)[:-100]
        changed = {**good, 'entry': {**good['entry'], 'clean': True}}

        def with_entry(**values):
            body = {**good['entry'], **values}
            return json.dumps({**good, 'entry': body, 'checksum':
                               journal._checksum(body)}).encode()

        for data, text in (
                (b'', 'it is no JSON'), (half, 'it is no JSON'),
                (b'\xff', 'it is no JSON'), (b'[' * 100000, 'it is no JSON'),
                (b'[]', 'it is no object'),
                (b'{}', 'its version is null, and 1 is expected'),
                (b'{"version": 2}', 'its version is 2, and 1 is expected'),
                (json.dumps(changed).encode(), 'its checksum is wrong'),
                (with_entry(state='lost'),
                 'Entry.state must be one of sealed, in_use, dirty, cleaning, '
                 'verifying, releasing, error, held, '
                 "absent, not 'lost'"),
                (with_entry(colour='red'), "Entry has the unknown field "
                 "'colour'")):
            error = self.assertRaises(journal.DamagedEntry, journal.load,
                                      data)
            self.assertEqual(text, str(error))

    def test_file_names_tell_the_disk(self):
        """And leave the directory never."""
        for serial, model in (('SN1', 'Model 1'), ('../../etc', 'a/b'),
                              ('@x', 'y'), ('ü', '%'), ('.', '..')):
            name = journal.file_name(serial, model, '0000:81:00.0')
            self.assertNotIn('/', name)
            self.assertEqual((serial, model, ''), journal.disk_of(name))
        name = journal.file_name('', '', '0000:81:00.0')
        self.assertEqual(('', '', '0000:81:00.0'), journal.disk_of(name))
        long = journal.file_name('S' * 20, 'ü' * 40, '0000:81:00.0')
        self.assertLess(len(long), 255)

    def test_an_entry_has_a_name_for_people(self):
        self.assertEqual('0000:81:00.0 (serial SN1)', FULL.label)
        self.assertEqual('0000:81:00.0 (serial unknown)', records.Entry(
            '', '', '0000:81:00.0', states.State.HELD).label)

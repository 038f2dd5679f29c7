# SPDX-License-Identifier: Apache-2.0

import json

from cyborg.nvme import errors
from cyborg.nvme import plain
from cyborg.nvme import records
from cyborg.tests import base

BASELINE = records.Baseline(
    records.Identity(1, 2, 'S1', 'M', '1.0', mdts=4096),
    (records.Namespace(1, 8, 8, 0, records.BlockFormat(512),
                       controllers=(0, 3)),),
    records.Firmware(1, 0, ('1.0', '')), records.Health(4, 7))


class RecordTest(base.TestCase):

    def test_there_and_back_through_json(self):
        for record in (
                BASELINE, records.SanitizeLog(
                    records.SanitizeStatus.RUNNING, 0.5),
                records.Facts('0000:01:00.0', True, uses=(
                    records.Use('mount', '/srv on nvme0n1'),))):
            text = json.dumps(plain.to_plain(record))
            self.assertEqual(record, plain.from_plain(type(record),
                                                      json.loads(text)))

    def test_a_damaged_one_is_named_by_its_place(self):
        """CLEAN-25: never a default in place of broken data."""
        def damaged(change):
            value = plain.to_plain(BASELINE)
            change(value)
            return value

        for change, text in (
                (lambda v: v.pop('identity'),
                 "Baseline lacks the field 'identity'"),
                (lambda v: v['identity'].update(serial=7),
                 'Baseline.identity.serial must be a text, not 7'),
                (lambda v: v['identity'].update(vid='x'),
                 "Baseline.identity.vid must be a whole number, not 'x'"),
                (lambda v: v['identity'].update(vid=True),
                 'Baseline.identity.vid must be a whole number, not True'),
                (lambda v: v['namespaces'][0].update(attached=1),
                 'Baseline.namespaces[0].attached must be true or false, '
                 'not 1'),
                (lambda v: v.update(namespaces='all'),
                 "Baseline.namespaces must be a list, not 'all'"),
                (lambda v: v.update(health=None),
                 'Baseline.health must be an object, not None'),
                (lambda v: v.update(colour='red'),
                 "Baseline has the unknown field 'colour'")):
            error = self.assertRaises(plain.BrokenRecord, plain.from_plain,
                                      records.Baseline, damaged(change))
            self.assertEqual(text, str(error))
        error = self.assertRaises(
            plain.BrokenRecord, plain.from_plain, records.SanitizeLog,
            {'status': 9}, 'journal of S1')
        self.assertEqual('journal of S1.status must be one of 0, 1, 2, 3, 4, '
                         'not 9', str(error))


class ErrorTest(base.TestCase):

    def test_errors_keep_what_they_know(self):
        for error in (
                errors.InUse('d', (records.Use('swap', '/dev/x'),)),
                errors.CommandFailed('d', 'Format NVM', 0x4002),
                errors.NoMethod('d', 'auto', 'auto', (('a', 'b'),)),
                errors.DiskFailed('d', 'reading', OSError(5, 'x'))):
            value = json.loads(json.dumps(plain.error_to_plain(error)))
            found = plain.error_from_plain(value)
            self.assertIs(type(error), type(found))
            self.assertEqual((str(error), vars(error)),
                             (str(found), vars(found)))

    def test_an_unknown_class(self):
        error = self.assertRaises(plain.BrokenRecord, plain.error_from_plain,
                                  {'class': 'SystemExit', 'text': 'x'})
        self.assertEqual("the error has the unknown class 'SystemExit'",
                         str(error))

# SPDX-License-Identifier: Apache-2.0

import dataclasses
import itertools

import hypothesis
from hypothesis import strategies

from cyborg.nvme import errors
from cyborg.nvme import methods
from cyborg.nvme import records
from cyborg.tests import base

M = methods.Method
ABLE = records.Identity(1, 1, 'S1', 'M', '1', oacs=0xa, fna=0x4,
                        sanicap=0x7)
WHOLE = (records.Namespace(1, 8, 8, 0, records.BlockFormat(512)),)
LOOSE = (*WHOLE, dataclasses.replace(WHOLE[0], nsid=2, attached=False))


class ChooseTest(base.TestCase):
    """CLEAN-17"""

    def choose(self, action='auto', strategy='auto', namespaces=WHOLE,
               **changes):
        return methods.choose('0000:01:00.0', dataclasses.replace(
            ABLE, **changes), namespaces, action, strategy)

    def test_the_best_that_the_disk_can(self):
        for changes, expected in (
                ({}, M.CRYPTO_SANITIZE),
                ({'sanicap': 0x6}, M.BLOCK_SANITIZE),
                ({'sanicap': 0x4}, M.CRYPTO_FORMAT),
                ({'sanicap': 0}, M.CRYPTO_FORMAT),
                ({'sanicap': 0, 'fna': 0}, M.BLOCK_FORMAT)):
            self.assertIs(expected, self.choose(**changes))

    def test_narrowed_by_the_entry(self):
        for action, strategy, sanicap, expected in (
                ('auto', 'crypto', 7, M.CRYPTO_SANITIZE),
                ('auto', 'block', 7, M.BLOCK_SANITIZE),
                ('auto', 'crypto', 2, M.CRYPTO_FORMAT),
                ('auto', 'block', 1, M.BLOCK_FORMAT),
                ('sanitize', 'auto', 7, M.CRYPTO_SANITIZE),
                ('sanitize', 'block', 7, M.BLOCK_SANITIZE),
                ('zero', 'auto', 7, M.OVERWRITE_SANITIZE)):
            self.assertIs(expected, self.choose(action, strategy,
                                                sanicap=sanicap))

    def refusal(self, *args, **changes):
        return str(self.assertRaises(errors.NoMethod, self.choose, *args,
                                     **changes))

    def test_what_it_cannot_do_is_an_error(self):
        self.assertEqual(
            'NVMe disk 0000:01:00.0: with clear_action sanitize and '
            'clear_strategy crypto it cannot be erased: crypto sanitize: not '
            'among its abilities (SANICAP 00000002). Choose others in its '
            'entry of device_spec; nothing weaker is done by itself.',
            self.refusal('sanitize', 'crypto', sanicap=2))
        self.assertEqual(
            'NVMe disk 0000:01:00.0: with clear_action auto and '
            'clear_strategy auto it cannot be erased: crypto sanitize: not '
            'among its abilities (SANICAP 00000000); block sanitize: not '
            'among its abilities (SANICAP 00000000); format with '
            'cryptographic erase: it has no Format NVM command (OACS 0000); '
            'format with user data erase: it has no Format NVM command (OACS '
            '0000). Choose others in its entry of device_spec; nothing '
            'weaker is done by itself.', self.refusal(sanicap=0, oacs=0))
        self.assertIn('overwrite sanitize: not among its abilities',
                      self.refusal('zero', sanicap=3))

    def test_a_format_must_reach_all(self):
        """CLEAN-18: nothing detached, nothing in no namespace."""
        self.assertIn('a format does not reach namespaces that are not '
                      'attached (2)', self.refusal(sanicap=0,
                                                   namespaces=LOOSE))
        self.assertIn('a format does not reach the 4096 bytes that are in no '
                      'namespace', self.refusal(sanicap=0, unvmcap=4096))
        self.assertIs(M.CRYPTO_SANITIZE, self.choose(
            namespaces=LOOSE, unvmcap=4096))

    def test_values_that_mean_nothing(self):
        for action, strategy, text in (
                ('none', 'auto', "clear_action must be one of auto, "
                 "sanitize, zero, not 'none'"),
                ('auto', 'zero', "clear_strategy must be one of auto, "
                 "crypto, block, not 'zero'"),
                ('zero', 'block', 'clear_action zero overwrites the disk, '
                 'which clear_strategy block excludes; leave clear_strategy '
                 'out')):
            error = self.assertRaises(methods.InvalidClearing,
                                      methods.asked_for, action, strategy)
            self.assertEqual(text, str(error))

    @hypothesis.given(
        strategies.integers(0, 0xffffffff), strategies.integers(0, 0xffff),
        strategies.integers(0, 0xff), strategies.integers(0, 1 << 40),
        strategies.sampled_from([WHOLE, LOOSE]))
    def test_never_another_than_asked_for(self, sanicap, oacs, fna, unvmcap,
                                          namespaces):
        able = dataclasses.replace(ABLE, sanicap=sanicap, oacs=oacs, fna=fna,
                                   unvmcap=unvmcap)
        for action, strategy in itertools.product(methods.ACTIONS,
                                                  methods.STRATEGIES):
            try:
                found = methods.choose('d', able, namespaces, action,
                                       strategy)
            except methods.InvalidClearing:
                continue
            except errors.NoMethod as error:
                self.assertEqual(len(methods.asked_for(action, strategy)),
                                 len(error.refusals))
                continue
            self.assertIn(found, methods.asked_for(action, strategy))
            if found.sanitizes:
                self.assertIn(found.sanact, (2, 3, 4))
            else:
                self.assertIn(found.ses, (1, 2))
                self.assertEqual((WHOLE, 0), (namespaces, unvmcap))

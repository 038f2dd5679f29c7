# SPDX-License-Identifier: Apache-2.0
"""What a rule selected in 2026.2 it still selects (CFG-2).

``device-spec-cases.json`` records the released matcher. Unknown keys, and
values that were tolerated and make no sense, are errors now. Where the
released service did otherwise than its matcher could, the case expects what
the service did: ``released_matcher`` holds the rest.
"""

import json
import os

from cyborg.pci import address
from cyborg.pci import device_spec
from cyborg.pci import selection
from cyborg.pci import sysfs
from cyborg.tests import base

CASES = os.path.join(os.path.dirname(__file__), 'device-spec-cases.json')
#: Cases with a key that 2026.2 tolerated, which the specification refuses.
UNKNOWN_KEYS = {'spec-102', 'spec-154', 'spec-155', 'spec-157', 'spec-158',
                'spec-159', 'spec-165'}
#: The id "1_0de": Python alone takes it for a number, so that 2026.2 matched
#: it, which is what the case records. The specification ("Configuration and
#: discovery") has invalid values rejected with an error that names the entry,
#: and no lspci, sysfs or manual writes an id like that; so it is an error, and
#: the case stays listed here instead of being met.
INVALID_IDS = {'spec-032'}
#: An address above 16 bits is one now, and is never offered (DSC-8).
NOT_ADDRESSABLE = 'spec-186'


def load():
    with open(CASES) as stream:
        return json.load(stream)['cases']


def number(case):
    return '-'.join(case['id'].split('-')[:2])


def net_names(case, where):
    """Interfaces of the host that stand on a function."""
    return tuple(name for name, fact in case['sysfs'].get('net', {}).items()
                 if fact['address'] == where)


def outcome(case):
    """``match``, or the stage at which an error is raised."""
    try:
        spec = device_spec.load(case['specs'])
    except device_spec.InvalidDeviceSpec:
        return 'parse'
    wanted = case['device']
    parent = wanted['parent_addr']
    try:
        device = sysfs.PciDevice(
            address.PciAddress.parse(wanted['address']), wanted['vendor_id'],
            wanted['product_id'], 0x030200,
            physfn=address.PciAddress.parse(parent) if parent else None,
            net_names=net_names(case, wanted['address']))
    except address.InvalidPciAddress:
        return 'match'
    return any(rule.matches(device) for rule in spec.rules)


class RecordedMatchTest(base.TestCase):

    def test_recorded_cases(self):
        checked = 0
        for case in load():
            expect = case['expect']
            if number(case) in (
                    UNKNOWN_KEYS | INVALID_IDS | {NOT_ADDRESSABLE}):
                continue
            expected = (expect['error']['stage'] if 'error' in expect
                        else expect['match'])
            with self.subTest(case=case['id']):
                self.assertEqual(expected, outcome(case), case['specs'])
            checked += 1
        self.assertGreaterEqual(checked, 130)

    def test_unknown_keys_and_invalid_ids_are_errors(self):
        """Bug 2167145, CFG-2"""
        refused = UNKNOWN_KEYS | INVALID_IDS
        found = [case for case in load() if number(case) in refused]
        self.assertEqual(len(refused), len(found))
        for case in found:
            self.assertEqual('parse', outcome(case), case['id'])

    def test_a_domain_above_16_bits_is_not_offered(self):
        case = next(c for c in load() if number(c) == NOT_ADDRESSABLE)
        device = sysfs.PciDevice(
            address.PciAddress.parse(case['device']['address']), '10de',
            '1eb8', 0x030200)
        verdict, = selection.select(
            [device], device_spec.load(case['specs']).rules, (), False)
        self.assertEqual('not-addressable', verdict.outcome)

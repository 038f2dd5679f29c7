# SPDX-License-Identifier: Apache-2.0
"""The rules in install/upgrade.rst: refused before, accepted after."""

import json
import re

from cyborg.pci import device_spec
from cyborg.tests import base
from cyborg.tests.fixtures import pages

ROW = re.compile(r'\* - ``(\{.*?\})``\n +- ``(\{.*?\})``\n')


class RulesTest(base.TestCase):

    def test_rules_that_no_longer_validate(self):
        """DOC-1, CFG-2"""
        pages.blocks('install/upgrade.rst')  # or skip
        text = (pages.SOURCE / 'install/upgrade.rst').read_text()
        rows = ROW.findall(text)
        self.assertEqual(7, len(rows))
        for before, after in rows:
            self.assertRaises(device_spec.InvalidDeviceSpec,
                              device_spec.load, [before])
            self.assertEqual(1, len(device_spec.load([after]).rules))
            # Only the keys and values that 2026.2 passed over are refused.
            kept = json.loads(after).items() & json.loads(before).items()
            device_spec.load([json.dumps(dict(kept))])

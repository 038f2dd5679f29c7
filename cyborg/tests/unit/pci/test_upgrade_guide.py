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
        self.assertEqual(4, len(rows))
        for before, after in rows:
            self.assertRaises(device_spec.InvalidDeviceSpec,
                              device_spec.load, [before])
            self.assertEqual(1, len(device_spec.load([after]).rules))
            # 2026.2 took it: without the keys it passed over it is valid.
            known = {key: value for key, value in json.loads(before).items()
                     if key in ('vendor_id', 'product_id', 'address',
                                'devname')}
            device_spec.load([json.dumps(known)])

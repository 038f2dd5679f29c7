# SPDX-License-Identifier: Apache-2.0
"""The rules in install/upgrade.rst: refused before, accepted after."""

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

# SPDX-License-Identifier: Apache-2.0
"""The pages of the vendor drivers: what profiles ask for is reported."""

import json
import re

from oslo_utils import importutils

from cyborg.api.schemas import device_profiles
from cyborg.conf import opts
from cyborg.objects import inventory_values
from cyborg.tests import base
from cyborg.tests.fixtures import pages
from cyborg.tests.fixtures import recorded
from cyborg.tests.unit.accelerator import test_vendor_cases

FOLDER = 'admin/drivers'
#: The recorded hosts that the profiles of a page are for, in their order.
CASES = {'nvidia-gpu': ('gpu-02', 'gpu-07'), 'intel-nic': ('nic-04',),
         'intel-qat': ('qat-05',), 'xilinx-fpga': ('xil-04',),
         'inspur-fpga': ('ifp-02',), 'intel-fpga': ('fpg-04',)}
DRIVERS = {name.replace('_', '-').removesuffix('-driver'): name
           for name in test_vendor_cases.DRIVERS}


class DriverPagesTest(base.TestCase):

    def examples(self):
        """(name of the driver, recorded case, profile)"""
        for page, name in DRIVERS.items():
            blocks = pages.blocks('%s/%s.rst' % (FOLDER, page),
                                  language='json')
            for block, case in zip(blocks, CASES[page], strict=True):
                profile, = json.loads(block.text)
                yield name, recorded.cases()[case], profile

    def discover(self, case):
        with recorded.RecordedHost(self.conf, case):
            driver = importutils.import_object(
                'cyborg.accelerator.drivers.'
                + test_vendor_cases.DRIVERS[case['driver']])
            driver.init_host()
            return inventory_values.discovered_devices(driver.discover())

    def test_profiles_ask_for_what_is_reported(self):
        seen = set()
        for name, case, profile in self.examples():
            self.assertEqual(name, case['driver'])
            group, = profile['groups']
            wanted = {key.partition(':')[2] for key in group}
            offered = [{value for _key, value in deployable.attributes}
                       for device in self.discover(case)
                       for deployable in device.deployables]
            self.assertTrue(any(wanted <= values for values in offered),
                            (case['id'], wanted, offered))
            seen.add(name)
        self.assertEqual(set(DRIVERS.values()), seen)

    def test_profiles_are_valid(self):
        for _name, _case, profile in self.examples():
            device_profiles.parse_create([profile])

    def test_table_has_every_driver(self):
        text = (pages.SOURCE / FOLDER / 'index.rst').read_text()
        for page, name in DRIVERS.items():
            self.assertIn(':doc:`%s <%s>`' % (name, page), text)

    def test_recognised_ids_are_those_of_the_code(self):
        text = (pages.SOURCE / FOLDER / 'index.rst').read_text()
        for name, path in test_vendor_cases.DRIVERS.items():
            row = text[text.index(name):].partition('   * - ')[0]
            match = importutils.import_class(
                'cyborg.accelerator.drivers.' + path).match
            for vendor, product in getattr(match, 'pairs', ()):
                self.assertIn('%s:%s' % (vendor, product), row)
            for code in getattr(match, 'subclasses', ()):
                self.assertIn('%04x' % code, row)

    def test_options_on_the_pages_are_known(self):
        known = {option.dest for _group, options in opts.list_opts()
                 for option in options}
        for page in DRIVERS:
            text = (pages.SOURCE / FOLDER / (page + '.rst')).read_text()
            for name in re.findall(r'``\[\w+\] (\w+)``', text):
                self.assertIn(name, known)

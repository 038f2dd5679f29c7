# SPDX-License-Identifier: Apache-2.0

import gzip
import os

from cyborg.pci import ids
from cyborg.tests import base

LIST = """\
# a comment
1bd4  Inspur Electronic Information Industry Co., Ltd.
\t1003  NS8600G2 NVMe SSD
\t\t1bd4 0001  a board, not a device
\t1004  Another [with brackets]
8086  Intel Corporation

C 01  Mass storage controller
\t08  Non-Volatile memory controller
"""


class NamesTest(base.TestCase):

    def write(self, name='pci.ids', text=LIST):
        path = os.path.join(self.temp_dir(), name)
        opener = gzip.open if name.endswith('.gz') else open
        with opener(path, 'wb') as stream:
            stream.write(text if isinstance(text, bytes) else text.encode())
        return path

    def test_as_lspci_prints(self):
        """drv-31, drv-32: known, unknown device, unknown vendor"""
        wanted = {
            ('1bd4', '1003'): 'Inspur Electronic Information Industry Co., '
                              'Ltd. NS8600G2 NVMe SSD',
            ('1bd4', '1004'): 'Inspur Electronic Information Industry Co., '
                              'Ltd. Another [with brackets]',
            ('8086', '0a54'): 'Intel Corporation Device',
            ('ffff', '0001'): 'Device',
            ('1bd4', '0001'): 'Inspur Electronic Information Industry Co., '
                              'Ltd. Device',
        }
        for name in ('pci.ids', 'pci.ids.gz'):
            self.assertEqual(wanted, ids.describe(
                wanted, ['/nowhere/pci.ids', self.write(name)]))

    def test_a_host_without_the_list(self):
        self.assertEqual({('8086', '0a54'): 'Device'},
                         ids.describe([('8086', '0a54')], ['/nowhere']))

    def test_an_unreadable_list_leads_to_the_next(self):
        broken = self.write('pci.ids.gz')
        with open(broken, 'wb') as stream:
            stream.write(b'not gzip')
        self.assertEqual(
            {('8086', '0a54'): 'Intel Corporation Device'},
            ids.describe([('8086', '0a54')], [broken, self.write()]))

    def test_bytes_that_are_no_text(self):
        path = self.write(text=b'8086  Int\xffel\n')
        self.assertEqual({('8086', '0a54'): 'Int\ufffdel Device'},
                         ids.describe([('8086', '0a54')], [path]))

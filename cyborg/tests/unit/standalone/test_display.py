# SPDX-License-Identifier: Apache-2.0

import json
import re
import shlex

from cyborg.cmd import pci_rows
from cyborg.standalone import display
from cyborg.tests import base

ROWS = [('0000:21:00.1', '1d0f:efa1', 'Processing accelerators', '-',
         'VF of 0000:21:00.0', '0', '11', 'offered', 'rule 1')]


class TestDisplay(base.TestCase):

    def lines(self, rows=ROWS, offered=1, drivers=('pci_driver',),
              example=None):
        return list(display.devices(
            pci_rows.HEADINGS, rows, host='h', sysfs='/sys',
            offered=offered, drivers=drivers, example=example))

    def test_columns_stand_below_their_headings(self):
        heading, row = list(display.table(pci_rows.HEADINGS, ROWS))
        for name, cell in (('Address', '0000:21:00.1'), ('NUMA', '0'),
                           ('Verdict', 'offered')):
            self.assertEqual(heading.index(name), row.index(
                cell, heading.index(name)))
        self.assertNotIn('rule 1', row)

    def test_nothing_offered_tells_how_to(self):
        text = '\n'.join(self.lines(
            offered=0, drivers=['fake_driver'],
            example='{"address": "0000:21:00.1"}'))
        self.assertIn('0 of 1 offered.', text)
        self.assertIn("--device-spec '{\"address\": \"0000:21:00.1\"}'", text)
        self.assertIn('The fake driver offers', text)

    def test_host_without_pci_devices(self):
        lines = self.lines(rows=[], offered=0)
        self.assertIn('0 of 0 offered.', lines)
        self.assertEqual('Nothing of a machine is handed out unasked.',
                         lines[-1])

    def test_offered_needs_no_advice(self):
        text = '\n'.join(self.lines())
        self.assertNotIn('--device-spec', text)
        self.assertNotIn('fake driver', text)

    def test_every_command_is_complete(self):
        for line in display.commands('http://127.0.0.1:1', 'FPGA', None):
            self.assertTrue(line.startswith(
                'openstack --os-auth-type none --os-endpoint '
                'http://127.0.0.1:1 accelerator '), line)

    def test_bind_is_one_word_of_json_to_a_shell(self):
        line, = (line for line in display.commands(
            'http://127.0.0.1:1', 'FPGA', display.bind_body('h', 'p', 'i'))
            if line.startswith('curl '))
        body = shlex.split(re.sub(r'\$\(.*?\)', 'ARQ', line))[-1]
        self.assertEqual({'ARQ': [
            {'op': 'add', 'path': '/hostname', 'value': 'h'},
            {'op': 'add', 'path': '/device_rp_uuid', 'value': 'p'},
            {'op': 'add', 'path': '/instance_uuid', 'value': 'i'}]},
            json.loads(body))

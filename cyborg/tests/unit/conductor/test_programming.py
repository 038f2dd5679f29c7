# SPDX-License-Identifier: Apache-2.0
"""Which device profiles ask for an FPGA to be programmed."""

import json
import types

from cyborg.common import exception
from cyborg.conductor import programming
from cyborg.tests import base


def row(group, number=0, profile=None):
    return types.SimpleNamespace(
        ExtARQ=types.SimpleNamespace(uuid='arq',
                                     device_profile_group_id=number),
        profile_name='dp', profile_json=profile or json.dumps(
            {'groups': [group]}))


class JobTest(base.TestCase):

    def test_jobs(self):
        for group, job in (
                ({'resources:FPGA': '1', 'accel:bitstream_id': 'b'},
                 programming.Job('b', None)),
                ({'resources:FPGA': '1', 'accel:function_id': 'f'},
                 programming.Job(None, 'f')),
                ({'resources:FPGA': '1'}, None),
                ({'resources:PGPU': '1', 'accel:bitstream_id': 'b'}, None),
                ({'resources:PGPU': '1', 'resources:FPGA': '1',
                  'accel:bitstream_id': 'b'}, None),
                ({'trait:T': 'required'}, None), ({}, None)):
            self.assertEqual({'arq': job} if job else {},
                             programming.jobs([row(group)]), group)

    def test_both(self):
        error = self.assertRaises(
            exception.BitstreamAmbiguous, programming.jobs,
            [row({'resources:FPGA': '1', 'accel:bitstream_id': 'b',
                  'accel:function_id': 'f'})])
        for word in ('arq', 'dp', 'Group 0'):
            self.assertIn(word, error.message)

    def test_damaged_profiles(self):
        for damaged in (row({}, 3), row({}, profile='nonsense'),
                        row({}, profile='[]')):
            self.assertEqual({}, programming.jobs([damaged]))

    def test_trait(self):
        self.assertEqual(
            'CUSTOM_FPGA_FUNCTION_ID_INTEL_A_1',
            programming.function_trait('intel', 'a-1'))

# SPDX-License-Identifier: Apache-2.0
"""The driver that the developers' guide shows works as it stands."""

import pathlib
import re
import textwrap

import testtools

from cyborg import objects
from cyborg.conf import default
from cyborg.tests import base

GUIDE = (pathlib.Path(default.PACKAGE_PARENT) /
         'doc/source/contributor/drivers.rst')
BLOCK = re.compile(r'\.\. code-block:: python\n((?: {3}[^\n]*\n|\n)+)')


@testtools.skipUnless(GUIDE.exists(), 'only in a clone')
class GuideTest(base.TestCase):

    def test_example_discovers_one_device(self):
        objects.register_all()
        source = textwrap.dedent(BLOCK.search(GUIDE.read_text())[1])
        names = {}
        exec(compile(source, str(GUIDE), 'exec'), names)
        device, = names['AcmeDriver']().discover()
        data = device.obj_to_primitive()['cyborg_object.data']
        self.assertEqual('PCI', data['type'])
        deployable, = data['deployable_list']
        deployable = deployable['cyborg_object.data']
        self.assertEqual('compute-1_0000:3b:00.0', deployable['name'])
        handle, = deployable['attach_handle_list']
        self.assertEqual(
            '{"bus": "3b", "device": "00", "domain": "0000", '
            '"function": "0"}', handle['cyborg_object.data']['attach_info'])

# SPDX-License-Identifier: Apache-2.0
"""What tests of NVMe disks share."""

from cyborg.nvme import baseline
from cyborg.nvme import controller
from cyborg.nvme import errors
from cyborg.tests import base
from cyborg.tests.fixtures import nvme as nvme_fixture

ADDRESS = '0000:01:00.0'
SECRET = b'a secret of the first guest!\n' * 200
#: Commands that only look.
LOOKS = {'Identify', 'Get Log Page', 'Get Features'}


class DiskTestCase(base.TestCase):
    """One simulated host; ``plug`` puts a disk into it."""

    def setUp(self):
        super().setUp()
        self.another_host()

    def another_host(self):
        self.disks = self.useFixture(nvme_fixture.Disks())
        self.world = self.disks.world

    def plug(self, address=ADDRESS, serial='S1', **facts):
        self.world.add(address, serial, **facts)
        return self.world.host().port(address)

    def controller(self, port):
        return controller.Controller(port)

    def recorded(self, port):
        return baseline.record(controller.Controller(port).inventory())

    def refused(self, cls, call, *args, address=ADDRESS):
        """The error; nothing was sent or written that changes anything."""
        before = self.world.touched(address)
        error = self.assertRaises(cls, call, *args)
        self.assertIsInstance(error, errors.NvmeError)
        self.assertEqual(before, self.world.touched(address))
        return str(error)

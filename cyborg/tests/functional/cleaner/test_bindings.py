# SPDX-License-Identifier: Apache-2.0
"""CLEAN-22: whatever becomes of a cleaning, the disk gets its driver back."""

from cyborg.nvme import records
from cyborg.tests.functional.cleaner import base

ONE = base.ONE
VFIO = records.Binding('vfio-pci', 'vfio-pci')


class BindingTest(base.CleanerTestCase):
    """A disk that stands at vfio-pci between its guests."""

    def setUp(self):
        super().setUp()
        world = self.host.world
        world.unbind(ONE)
        world.override(ONE, 'vfio-pci')
        world.probe(ONE)
        self.assertEqual(VFIO, self.binding())
        self.host.start()

    def binding(self):
        return self.host.world.host().port(ONE).facts().binding

    def test_cleaned(self):
        self.host.look()
        self.assertOffered()
        self.assertEqual(VFIO, self.binding())

    def test_not_erased(self):
        self.host.world.break_(ONE, lies=True)
        self.host.look()
        self.assertReserved('error', 'not erased')
        self.assertEqual(VFIO, self.binding())

    def test_not_given_to_a_driver_while_it_is_mounted(self):
        """Refused while it changes hands, and told."""
        world = self.host.world
        seen = []

        def mount(stage, call):
            if (stage, call) == ('after', 'Sanitize'):
                world.mount('nvme0n1', '/srv')
                seen.append(call)

        self.host.stop()
        self.host.on_call = mount
        world.break_(ONE, lies=True)
        self.host.start()
        self.host.look()
        self.assertEqual(['Sanitize'], seen)
        self.assertEqual('nvme', self.binding().driver)
        self.assertLogged('WARNING', 'mount: /srv on nvme0n1')

# SPDX-License-Identifier: Apache-2.0
"""A PCI device of Cyborg through the life of a server.

For example a UART of pci-sim that is offered with ``managed: false``.
"""

from tempest import config
from tempest.common import utils
from tempest.lib import decorators
import testtools

from cyborg_tempest_plugin.common import expectations
from cyborg_tempest_plugin.tests.scenario import driver_lifecycle_base
from cyborg_tempest_plugin.tests.scenario import manager

CONF = config.CONF


class TestPCIDriverLifecycle(driver_lifecycle_base.DriverLifecycleMixin,
                             manager.ScenarioTest):

    attach_handle_type = 'PCI'

    @classmethod
    def skip_checks(cls):
        super().skip_checks()
        for name in ('device_profile_name', 'vendor_id', 'product_id'):
            if not getattr(CONF.cyborg_pci, name):
                raise cls.skipException('[cyborg_pci] %s is not set' % name)

    def profile_name(self):
        return CONF.cyborg_pci.device_profile_name

    def expected_managed(self):
        return CONF.cyborg_pci.expected_managed

    def guest_device(self):
        return (expectations.pci_id(CONF.cyborg_pci.vendor_id),
                expectations.pci_id(CONF.cyborg_pci.product_id))

    @decorators.idempotent_id('1f6ef53b-9c65-4af9-b42f-c23389f7b529')
    @decorators.attr(type='smoke')
    @utils.services('compute', 'network')
    def test_create_delete_server_with_pci_driver_device(self):
        """The shortest life."""
        self.through()

    @decorators.idempotent_id('33412e4d-61b9-4cbd-80e0-e03c0dc296cc')
    @utils.services('compute', 'network')
    @testtools.skipUnless(CONF.validation.run_validation,
                          'needs a shell in the guest')
    def test_guest_reboot_with_pci_driver_device(self):
        """The guest boots itself anew."""
        self.assertKept(self.through(self.guest_reboot))

    @decorators.idempotent_id('2da4cd2d-1a58-4347-8f51-98b65e3b853a')
    @utils.services('compute', 'network')
    def test_soft_reboot_server_with_pci_driver_device(self):
        """The hypervisor asks the guest to boot anew."""
        self.assertKept(self.through(self.reboot('SOFT')))

    @decorators.idempotent_id('2da914ba-7dd6-45fa-a604-e23e0bcecd59')
    @utils.services('compute', 'network')
    def test_hard_reboot_server_with_pci_driver_device(self):
        """The guest is made anew from what Nova and Cyborg know."""
        self.assertKept(self.through(self.reboot('HARD')))

    @decorators.idempotent_id('b33d085c-8e97-41c1-8eef-6e31adbe06df')
    @utils.services('compute', 'network')
    @testtools.skipUnless(CONF.compute_feature_enabled.pause,
                          'the hypervisor cannot pause')
    def test_pause_unpause_server_with_pci_driver_device(self):
        """A guest that stands still keeps its device."""
        self.assertKept(self.through(self.pause_unpause))

    @decorators.idempotent_id('0f74175e-6f02-4769-8f9e-339a57a136a4')
    @utils.services('compute', 'network', 'image')
    @testtools.skipUnless(CONF.compute_feature_enabled.snapshot,
                          'the hypervisor makes no snapshots')
    def test_snapshot_server_with_pci_driver_device(self):
        """An image of the disk has nothing to do with the device."""
        self.assertKept(self.through(self.snapshot))

    @decorators.idempotent_id('f6193834-bd47-4d81-8f5b-b84aabddd7e9')
    @utils.services('compute', 'network', 'image')
    @testtools.skipUnless(CONF.compute_feature_enabled.snapshot,
                          'the hypervisor makes no snapshots')
    def test_backup_server_with_pci_driver_device(self):
        """The same for an image that is one of a row."""
        self.assertKept(self.through(self.backup))

    @decorators.idempotent_id('efab040d-3003-4758-8ded-32a8e9f992bf')
    @utils.services('compute', 'network')
    def test_lock_unlock_server_with_pci_driver_device(self):
        """A lock is for callers, not for devices."""
        self.assertKept(self.through(self.lock_unlock))

    @decorators.idempotent_id('1b5baf1e-b97d-48cf-8ee7-b3e99b407b4c')
    @utils.services('compute', 'network')
    def test_rebuild_server_with_pci_driver_device(self):
        """A new disk, the same device."""
        self.assertKept(self.through(self.rebuild))

    @decorators.idempotent_id('4d695479-afd5-45f2-a0bd-35a0fe20c1d2')
    @utils.services('compute', 'network', 'image')
    @testtools.skipUnless(CONF.compute_feature_enabled.shelve,
                          'shelving is not enabled')
    def test_shelve_unshelve_server_with_pci_driver_device(self):
        """The requests of a server that was offloaded are new ones."""
        self.through(self.shelve_unshelve)

    @decorators.idempotent_id('3b1f0a52-6f43-4a0e-8a55-0d5d5f1f6f81')
    @utils.services('compute', 'network')
    def test_stop_start_server_with_pci_driver_device(self):
        """A guest that is off keeps its device for when it is on again."""
        self.assertKept(self.through(self.stop_start))

    @decorators.idempotent_id('3b1f0a52-6f43-4a0e-8a55-0d5d5f1f6f82')
    @testtools.skipUnless(CONF.compute_feature_enabled.rescue,
                          'the hypervisor cannot rescue')
    @utils.services('compute', 'network')
    def test_rescue_unrescue_server_with_pci_driver_device(self):
        """The guest that was rescued has its device again."""
        self.assertKept(self.through(self.rescue_unrescue))

    def assertKept(self, before_and_after):
        before, after = before_and_after
        self.assertEqual(before, after)

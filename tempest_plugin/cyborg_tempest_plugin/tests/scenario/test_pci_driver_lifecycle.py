# SPDX-License-Identifier: Apache-2.0
"""A PCI device of Cyborg through the life of a server.

For example a UART of pci-sim that is offered with ``managed: false``.
"""

from tempest import config
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

    @decorators.idempotent_id('8f6f2f4e-43c5-4a7a-9d0b-6f3a4e9b1a01')
    def test_create_delete_server_with_pci_driver_device(self):
        self.through()

    @decorators.idempotent_id('8f6f2f4e-43c5-4a7a-9d0b-6f3a4e9b1a02')
    @testtools.skipUnless(CONF.validation.run_validation,
                          'needs a shell in the guest')
    def test_guest_reboot_with_pci_driver_device(self):
        self.assertKept(self.through(self.guest_reboot))

    @decorators.idempotent_id('8f6f2f4e-43c5-4a7a-9d0b-6f3a4e9b1a03')
    def test_soft_reboot_server_with_pci_driver_device(self):
        self.assertKept(self.through(self.reboot('SOFT')))

    @decorators.idempotent_id('8f6f2f4e-43c5-4a7a-9d0b-6f3a4e9b1a04')
    def test_hard_reboot_server_with_pci_driver_device(self):
        self.assertKept(self.through(self.reboot('HARD')))

    @decorators.idempotent_id('8f6f2f4e-43c5-4a7a-9d0b-6f3a4e9b1a05')
    @testtools.skipUnless(CONF.compute_feature_enabled.pause,
                          'the hypervisor cannot pause')
    def test_pause_unpause_server_with_pci_driver_device(self):
        self.assertKept(self.through(self.pause_unpause))

    @decorators.idempotent_id('8f6f2f4e-43c5-4a7a-9d0b-6f3a4e9b1a06')
    @testtools.skipUnless(CONF.compute_feature_enabled.snapshot,
                          'the hypervisor makes no snapshots')
    def test_snapshot_server_with_pci_driver_device(self):
        self.assertKept(self.through(self.snapshot))

    @decorators.idempotent_id('8f6f2f4e-43c5-4a7a-9d0b-6f3a4e9b1a07')
    @testtools.skipUnless(CONF.compute_feature_enabled.snapshot,
                          'the hypervisor makes no snapshots')
    def test_backup_server_with_pci_driver_device(self):
        self.assertKept(self.through(self.backup))

    @decorators.idempotent_id('8f6f2f4e-43c5-4a7a-9d0b-6f3a4e9b1a08')
    def test_lock_unlock_server_with_pci_driver_device(self):
        self.assertKept(self.through(self.lock_unlock))

    @decorators.idempotent_id('8f6f2f4e-43c5-4a7a-9d0b-6f3a4e9b1a09')
    def test_rebuild_server_with_pci_driver_device(self):
        self.assertKept(self.through(self.rebuild))

    @decorators.idempotent_id('8f6f2f4e-43c5-4a7a-9d0b-6f3a4e9b1a10')
    @testtools.skipUnless(CONF.compute_feature_enabled.shelve,
                          'shelving is not enabled')
    def test_shelve_unshelve_server_with_pci_driver_device(self):
        # The requests of a server that was offloaded are new ones.
        self.through(self.shelve_unshelve)

    def assertKept(self, before_and_after):
        before, after = before_and_after
        self.assertEqual(before, after)

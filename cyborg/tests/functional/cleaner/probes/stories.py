# SPDX-License-Identifier: Apache-2.0
"""Nova itself, with our cleaner beside it: runs with Nova's own interpreter.

``stories.py PYTHON PEER`` in Nova's source tree. Real Nova services, real
Placement, real versioned notifications; libvirt's PCI devices are Nova's fake
ones, and the disk behind them is the peer's simulated one.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
from unittest import mock
from wsgiref import simple_server

from nova import monkey_patch

monkey_patch.patch()

from nova import exception  # noqa: E402
from nova.tests.fixtures import libvirt as fakelibvirt  # noqa: E402
from nova.tests.functional.api import client  # noqa: E402
from nova.tests.functional.libvirt import test_pci_in_placement as nova_pci  # noqa: E402
from placement import deploy  # noqa: E402

PYTHON, PEER = sys.argv[1:3]
ADDRESS = '0000:81:00.0'


class _Quiet(simple_server.WSGIRequestHandler):
    def log_message(self, *args):
        pass


class Stories(nova_pci.PlacementPCIReportingTests):

    microversion = 'latest'
    ADMIN_API = True

    def setUp(self):
        # Nova's options in the groups where they belong.
        self.flags(notification_format='versioned', group='notifications')
        self.flags(pci_in_placement=True, group='filter_scheduler')
        super().setUp()
        self.notifications = self.notifier
        self.heard = 0
        self.spec = [{'vendor_id': fakelibvirt.PCI_VEND_ID,
                      'product_id': fakelibvirt.PCI_PROD_ID}]
        once = 'one_time_use' in self.id()
        self.configure(**({'one_time_use': 'true'} if once else {}))
        self.flags(group='pci', alias=self._to_list_of_json_str([
            {'vendor_id': fakelibvirt.PCI_VEND_ID,
             'product_id': fakelibvirt.PCI_PROD_ID, 'name': 'nvme'}]))
        self.flavor = self._create_flavor(
            extra_spec={'pci_passthrough:alias': 'nvme:1'})
        if 'number_of_vfs' in self.id():
            self.spec = [{'vendor_id': fakelibvirt.PCI_VEND_ID,
                          'product_id': fakelibvirt.VF_PROD_ID}]
            self.configure()
            self.start_compute(hostname='compute1', pci_info=self.vfs(4))
            self._start_peer()
            return
        self.start_compute(hostname='compute1', pci_info=self.devices(1))
        self._start_peer()
        self.assertState(self.do('look'), 'sealed', 'verified', reserved=0)

    def configure(self, **tags):
        self.flags(group='pci', device_spec=self._to_list_of_json_str(
            [dict(entry, **tags) for entry in self.spec]))

    @staticmethod
    def devices(number):
        return fakelibvirt.HostPCIDevicesInfo(
            num_pci=number, num_pfs=0, num_vfs=0)

    @staticmethod
    def vfs(number):
        return fakelibvirt.HostPCIDevicesInfo(
            num_pci=0, num_pfs=1, num_vfs=number)

    def _start_peer(self):
        application = deploy.loadapp(self.placement.conf_fixture.conf
                                     if hasattr(self.placement,
                                                'conf_fixture')
                                     else self.placement_fixture.conf_fixture
                                     .conf)

        def as_administrator(environ, start_response):
            environ['HTTP_X_AUTH_TOKEN'] = 'admin'
            return application(environ, start_response)

        server = simple_server.make_server('127.0.0.1', 0, as_administrator,
                                           handler_class=_Quiet)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.shutdown)
        place = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, place, True)
        self.peer = subprocess.Popen(
            [PYTHON, '-W', 'ignore', PEER, place,
             'http://127.0.0.1:%d' % server.server_port],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.peer.wait, 30)
        self.addCleanup(self.peer.stdin.close)

    def do(self, what, **arguments):
        self.peer.stdin.write(json.dumps({'do': what, **arguments}) + '\n')
        self.peer.stdin.flush()
        return json.loads(self.peer.stdout.readline())

    def forward(self, *only):
        """Let the listener hear what Nova sent since the last time.

        :returns: the event types that were sent.
        """
        sent = self.notifications.versioned_notifications[self.heard:]
        self.heard += len(sent)
        for each in sent:
            if not only or each['event_type'] in only:
                if each['priority'] in ('INFO', 'ERROR'):
                    self.do('hear', event=each['event_type'],
                            content=each['payload'],
                            priority=each['priority'])
        return [each['event_type'] for each in sent]

    @property
    def reserved(self):
        rps = self._get_all_rps_in_a_tree(self.compute_rp_uuids['compute1'])
        rp = next((rp for rp in rps
                   if rp['name'] == 'compute1_' + ADDRESS), None)
        if rp is None:
            return None
        inventory, = self._get_provider_inventory(rp['uuid']).values()
        return inventory['reserved']

    def assertState(self, seen, state, reason, **others):
        self.assertEqual((state, reason), (seen['state'], seen['reason']))
        for name, value in others.items():
            self.assertEqual(value, self.reserved if name == 'reserved'
                             else seen[name], name)

    def boot(self, **others):
        server = self._create_server(flavor_id=self.flavor, networks=[],
                                     **others)
        self.assertEqual('', self.do('start_guest')['before'])
        return server

    def used(self, **others):
        server = self.boot(**others)
        self.forward()
        self.assertState(self.do('look'), 'in_use', 'allocated', reserved=1)
        return server

    def test_the_story_of_the_document(self):
        """CLEAN-1, CLEAN-6, CLEAN-28"""
        server = self.boot()
        self.assertEqual(0, self.reserved)
        self.assertIn('instance.create.start', self.forward(
            'instance.create.start'))
        # The listener alone has reserved it.
        self.assertEqual(1, self.reserved)
        self.assertState(self.do('look'), 'in_use', 'allocated',
                         consumer=server['id'])
        self.do('end_guest')
        self._delete_server(server)
        self.assertIn('instance.delete.end', self.forward())
        self.assertState(self.do('look'), 'sealed', 'verified', reserved=0,
                         secret=False)
        self.boot()

    def test_one_time_use(self):
        """CLEAN-12"""
        server = self.boot()
        self.assertEqual(1, self.reserved)
        self.assertState(self.do('look'), 'in_use', 'allocated')
        self.do('end_guest')
        self._delete_server(server)
        self.assertEqual(1, self.reserved)
        self.assertState(self.do('look'), 'sealed', 'verified', reserved=0,
                         secret=False)

    def test_delete_end_while_allocated(self):
        """CLEAN-3, CLEAN-14: nothing destructive, the state as before."""
        server = self.used()
        sent = next(each for each in
                    self.notifications.versioned_notifications
                    if each['event_type'] == 'instance.create.end')
        before = self.do('state')['touched']
        self.do('hear', event='instance.delete.end', content=sent['payload'],
                priority='INFO')
        self.assertState(self.do('look'), 'in_use', 'allocated', reserved=1,
                         secret=True, touched=before)
        self.assertEqual('ACTIVE', self.api.get_server(
            server['id'])['status'])

    def test_compute_is_down_and_the_guest_runs_on(self):
        """CLEAN-13, CLEAN-14: a local delete."""
        server = self.used()
        before = self.do('state')['touched']
        self.computes['compute1'].stop()
        service = self.api.get_services(binary='nova-compute')[0]
        self.api.put_service(service['id'], {'forced_down': True})
        self.api.delete_server(server['id'])
        self._wait_until_deleted(server)
        self.assertIn('instance.delete.end', self.forward())
        self.assertState(self.do('look'), 'dirty', 'freed', reserved=1,
                         secret=True, touched=before)
        self.do('end_guest')
        self.assertState(self.do('look'), 'sealed', 'verified', reserved=0,
                         secret=False)

    def _made_anew(self, change, back):
        server = self.used()
        # The guest of a local delete: the disk is dirty and may not be
        # touched yet.
        self._delete_server(server)
        self.assertState(self.do('look'), 'dirty', 'freed', reserved=1)
        change()
        back()
        self.assertEqual(0, self.reserved)
        self.assertState(self.do('look'), 'dirty', 'reservation lost',
                         reserved=1, secret=True)
        self.do('end_guest')
        self.assertState(self.do('look'), 'sealed', 'verified', reserved=0,
                         secret=False)

    def test_made_anew_as_the_device_was_absent(self):
        """CLEAN-9"""
        self._made_anew(
            lambda: self.restart_compute_service(
                'compute1', pci_info=self.devices(0),
                keep_hypervisor_state=False),
            lambda: self.restart_compute_service(
                'compute1', pci_info=self.devices(1),
                keep_hypervisor_state=False))

    def test_made_anew_as_its_rule_was_gone(self):
        """CLEAN-9"""
        def without():
            self.flags(group='pci', device_spec=[])
            self.restart_compute_service('compute1')

        def again():
            self.configure()
            self.restart_compute_service('compute1')

        self._made_anew(without, again)

    def test_made_anew_as_its_class_changed(self):
        """CLEAN-9, CLEAN-5: whatever the class."""
        def other():
            self.configure(resource_class='CUSTOM_NVME')
            self.restart_compute_service('compute1')

        self._made_anew(other, lambda: None)

    def test_made_anew_as_the_number_of_vfs_changed(self):
        """CLEAN-9, CLEAN-4: VFs are counted on their PF's provider."""
        self.assertState(self.do('look'), 'dirty', 'unknown disk',
                         reserved=4, touched=0)
        self.restart_compute_service('compute1', pci_info=self.vfs(2),
                                     keep_hypervisor_state=False)
        self.assertEqual(0, self.reserved)
        self.assertState(self.do('look'), 'dirty', 'reservation lost',
                         reserved=2, touched=0)

    def test_a_delete_that_fails(self):
        """CLEAN-3, CLEAN-14: delete.end is sent, and all is as before."""
        server = self.used()
        before = self.do('state')['touched']
        self.computes['compute1'].stop()
        service = self.api.get_services(binary='nova-compute')[0]
        self.api.put_service(service['id'], {'forced_down': True})
        with mock.patch('nova.network.neutron.API.deallocate_for_instance',
                        side_effect=exception.PortNotFound(port_id='x')):
            error = self.assertRaises(client.OpenStackApiException,
                                      self.api.delete_server, server['id'])
        self.assertEqual(500, error.response.status_code)
        self.assertIn('instance.delete.end', self.forward())
        self.assertState(self.do('look'), 'in_use', 'allocated', reserved=1,
                         secret=True, touched=before)
        self.assertEqual('ACTIVE', self.api.get_server(
            server['id'])['status'])

    def test_a_failed_start(self):
        """CLEAN-11: the device may have been used."""
        with mock.patch('nova.virt.libvirt.driver.LibvirtDriver.spawn',
                        side_effect=exception.BuildAbortException(
                            instance_uuid='x', reason='test')):
            self._create_server(flavor_id=self.flavor, networks=[],
                                expected_state='ERROR')
        self.do('start_guest')
        self.do('end_guest')
        self.assertIn('instance.create.error', self.forward())
        self.assertState(self.do('look'), 'sealed', 'verified', reserved=0,
                         secret=False)

    def test_shelve_and_unshelve(self):
        """The allocation decides."""
        self.flags(shelved_offload_time=-1)
        server = self.used()
        self.api.post_server_action(server['id'], {'shelve': {}})
        self._wait_for_state_change(server, 'SHELVED')
        self.forward()
        self.assertState(self.do('look'), 'in_use', 'allocated', reserved=1)
        self.do('end_guest')
        self.api.post_server_action(server['id'], {'shelveOffload': {}})
        self._wait_for_state_change(server, 'SHELVED_OFFLOADED')
        self.forward()
        self.assertState(self.do('look'), 'sealed', 'verified', reserved=0,
                         secret=False)
        self.api.post_server_action(server['id'], {'unshelve': None})
        self._wait_for_state_change(server, 'ACTIVE')
        self.forward()
        self.assertState(self.do('look'), 'in_use', 'allocated', reserved=1)

    def test_resize_and_confirm(self):
        """A migration's consumer is a use; no delete.end ever comes."""
        self.start_compute(hostname='compute2', pci_info=self.devices(1))
        server = self.used(host='compute1')
        self.do('end_guest')
        larger = self._create_flavor(
            memory_mb=1024, extra_spec={'pci_passthrough:alias': 'nvme:1'})
        with mock.patch('nova.virt.libvirt.driver.LibvirtDriver.'
                        'migrate_disk_and_power_off', return_value='{}'):
            server = self._resize_server(server, larger)
        self.assertEqual('compute2', server['OS-EXT-SRV-ATTR:host'])
        self.forward()
        self.assertState(self.do('look'), 'in_use', 'allocated', reserved=1,
                         secret=True)
        self._confirm_resize(server)
        self.forward()
        self.assertState(self.do('look'), 'sealed', 'verified', reserved=0,
                         secret=False)

    def test_soft_delete_and_restore(self):
        self.flags(reclaim_instance_interval=300)
        server = self.used()
        before = self.do('state')['touched']
        self.api.delete_server(server['id'])
        self._wait_for_state_change(server, 'SOFT_DELETED')
        self.forward()
        self.do('end_guest')
        self.assertState(self.do('look'), 'in_use', 'allocated', reserved=1,
                         secret=True, touched=before)
        self.api.post_server_action(server['id'], {'restore': {}})
        self._wait_for_state_change(server, 'ACTIVE')
        self.forward()
        self.assertState(self.do('look'), 'in_use', 'allocated', reserved=1,
                         secret=True, touched=before)

    def test_no_notification_at_all(self):
        """CLEAN-3"""
        server = self.boot()
        self.assertState(self.do('look'), 'in_use', 'allocated', reserved=1)
        self.do('end_guest')
        self._delete_server(server)
        self.assertState(self.do('look'), 'sealed', 'verified', reserved=0,
                         secret=False)


def load_tests(loader, standard, pattern):
    """Those here alone, without what the base class would test."""
    suite = unittest.TestSuite()
    for name in sorted(vars(Stories)):
        if name.startswith('test_') and (
                not sys.argv[3:] or name in sys.argv[3:]):
            suite.addTest(Stories(name))
    return suite


if __name__ == '__main__':
    result = unittest.TextTestRunner(verbosity=2).run(
        load_tests(None, None, None))
    sys.exit(not result.wasSuccessful())

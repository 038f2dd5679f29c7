# SPDX-License-Identifier: Apache-2.0
"""What a server with a device goes through, for any kind of device."""

import time

from tempest import config
from tempest.common import compute
from tempest.common import waiters
from tempest.lib import exceptions

from cyborg_tempest_plugin.common import expectations

CONF = config.CONF
PAUSE = 2


class DriverLifecycleMixin:
    """Boots, checks and deletes; a subclass names device and profile.

    :cvar attach_handle_type: of the device
    """

    attach_handle_type: str

    def profile_name(self) -> str:
        raise NotImplementedError

    def expected_managed(self) -> bool | None:
        return None

    def guest_device(self) -> tuple[str, str]:
        """Vendor and product that the guest shows, as in its sysfs."""
        raise NotImplementedError

    # Steps

    def boot(self):
        """An active server with its device, checked."""
        server, self.keypair = self.boot_with(self.profile_name())
        self.check(server)
        return server

    def check(self, server):
        """The request is bound as it must be, and the guest has the device.

        :returns: UUIDs of the accelerator requests
        """
        arqs = self.requests_of(server['id'])
        self.assertEqual(1, len(arqs), arqs)
        # What is listed and what is shown have to agree.
        shown = self.accelerators.get_accelerator_request(arqs[0]['uuid'])
        for arq in (arqs[0], shown):
            self.assertEqual([], expectations.problems(
                arq, self.attach_handle_type, self.microversion,
                self.expected_managed()))
        if CONF.validation.run_validation:
            self.assertIn(self.guest_device(), self.guest_devices(server))
        return [arq['uuid'] for arq in arqs]

    def guest_devices(self, server):
        """Vendor and product of each PCI device of the guest."""
        shell = self.get_remote_client(
            self.get_server_ip(server),
            private_key=self.keypair['private_key'], server=server)
        output = shell.exec_command(
            'for d in /sys/bus/pci/devices/*; do '
            'echo $(cat $d/vendor) $(cat $d/device); done')
        return [tuple(line.split()) for line in output.splitlines()]

    def delete(self, server):
        """Delete the server; its accelerator requests go with it."""
        self.servers_client.delete_server(server['id'])
        waiters.wait_for_server_termination(self.servers_client, server['id'])
        self.wait_for_no_requests(server['id'])

    def wait(self, server, status='ACTIVE'):
        waiters.wait_for_server_status(self.servers_client, server['id'],
                                       status)

    # Ways through the life of a server

    def through(self, *steps):
        """Boot, take the steps, check, delete."""
        server = self.boot()
        before = self.check(server)
        for step in steps:
            step(server)
        after = self.check(server)
        self.delete(server)
        return before, after

    def guest_reboot(self, server):
        shell = self.get_remote_client(
            self.get_server_ip(server),
            private_key=self.keypair['private_key'], server=server)
        before = shell.exec_command('cat /proc/sys/kernel/random/boot_id')
        try:
            shell.exec_command('sudo reboot')
        except exceptions.SSHExecCommandFailed:
            pass
        deadline = time.monotonic() + CONF.validation.ssh_timeout
        while time.monotonic() < deadline:
            time.sleep(PAUSE)
            try:
                if before != shell.exec_command(
                        'cat /proc/sys/kernel/random/boot_id'):
                    return
            except (exceptions.SSHTimeout,
                    exceptions.SSHExecCommandFailed):
                continue
        raise exceptions.TimeoutException(
            'the guest of %s did not boot again' % server['id'])

    def reboot(self, kind):
        def step(server):
            self.servers_client.reboot_server(server['id'], type=kind)
            self.wait(server)
        return step

    def pause_unpause(self, server):
        self.servers_client.pause_server(server['id'])
        self.wait(server, 'PAUSED')
        self.servers_client.unpause_server(server['id'])
        self.wait(server)

    def stop_start(self, server):
        self.servers_client.stop_server(server['id'])
        self.wait(server, 'SHUTOFF')
        self.servers_client.start_server(server['id'])
        self.wait(server)

    def rescue_unrescue(self, server):
        self.servers_client.rescue_server(server['id'])
        self.wait(server, 'RESCUE')
        self.servers_client.unrescue_server(server['id'])
        self.wait(server)

    def lock_unlock(self, server):
        self.servers_client.lock_server(server['id'])
        self.servers_client.unlock_server(server['id'])

    def snapshot(self, server):
        self.create_server_snapshot(server)

    def backup(self, server):
        response = self.servers_client.create_backup(
            server['id'], name='backup-' + server['id'], backup_type='daily',
            rotation=1)
        image = response.get('image_id') or response.response[
            'location'].rsplit('/', 1)[1]
        self.addCleanup(self.image_client.delete_image, image)
        waiters.wait_for_image_status(self.image_client, image, 'active')

    def rebuild(self, server):
        self.rebuild_server(server['id'])

    def shelve_unshelve(self, server):
        compute.shelve_server(self.servers_client, server['id'],
                              force_shelve_offload=True)
        self.servers_client.unshelve_server(server['id'])
        self.wait(server)

# SPDX-License-Identifier: Apache-2.0

import errno
import json
import os
import uuid

import fixtures
from oslo_privsep import comm

from cyborg import privsep
from cyborg.agent import manager
from cyborg.agent import mdev
from cyborg.common import exception
from cyborg.inventory import values
from cyborg.privsep import mdev as privileged
from cyborg.tests import base

PARENT = '0000:3b:00.0'


class TestMdev(base.TestCase):
    """Contract, rpc.md: create_vgpu_mdev and remove_vgpu_mdev."""

    def setUp(self):
        super().setUp()
        self.sysfs = self.temp_dir()
        self.conf.set('pci', sysfs_path=self.sysfs)
        privsep.sys_admin_pctxt.set_client_mode(False)
        self.addCleanup(privsep.sys_admin_pctxt.set_client_mode, True)
        self.create_file = self._file(
            'class/mdev_bus', PARENT, 'mdev_supported_types', 'nvidia-35',
            'create')
        self.uuid = str(uuid.uuid4())
        self.manager = manager.AgentManager([])

    def _file(self, *parts):
        path = os.path.join(self.sysfs, *parts)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        open(path, 'w').close()
        return path

    def create(self, address=PARENT, kind='nvidia-35', handle=None):
        self.manager.create_vgpu_mdev(self.context, address, kind,
                                      handle or self.uuid)

    def remove(self, handle=None):
        self.manager.remove_vgpu_mdev(self.context, PARENT, 'nvidia-35',
                                      handle or self.uuid)

    def read(self, path):
        with open(path) as stream:
            return stream.read()

    def test_create(self):
        self.create(PARENT.upper())
        self.assertEqual(self.uuid, self.read(self.create_file))

    def test_create_again_after_a_lost_answer(self):
        """B55"""
        self._file('bus/mdev/devices', self.uuid, 'remove')
        self.create()
        self.assertEqual('', self.read(self.create_file))

    def test_unknown_type_names_those_on_offer(self):
        error = self.assertRaises(exception.InvalidVGPUType, self.create,
                                  kind='nvidia-99')
        self.assertIn('nvidia-99 (of 0000:3b:00.0 on host compute-1, which '
                      'offers: nvidia-35)', error.message)

    def test_device_without_types(self):
        error = self.assertRaises(exception.InvalidVGPUType, self.create,
                                  address='0000:3b:00.1')
        self.assertIn('which offers: none', error.message)

    def test_arguments_cannot_leave_sysfs(self):
        self.assertRaises(exception.PciDeviceWrongAddressFormat, self.create,
                          address='../../etc')
        self.assertRaises(exception.InvalidUUID, self.create, handle='../x')
        self.assertRaises(exception.InvalidVGPUType, self.create,
                          kind='../../x')
        self.assertRaises(exception.InvalidUUID, self.remove, handle='../x')

    def test_no_uuid(self):
        """gpu-37"""
        for uuid_ in (None, ''):
            self.assertRaises(
                exception.AttachHandleUUIDNeeded,
                self.manager.create_vgpu_mdev, self.context, PARENT,
                'nvidia-35', uuid_)

    def test_privileged_side_trusts_nobody(self):
        for arguments in (('../..', 'nvidia-35', self.uuid),
                          (PARENT, '..', self.uuid),
                          (PARENT, 'nvidia-35', 'x')):
            self.assertRaises(ValueError, privileged.create, self.sysfs,
                              *arguments)
        self.assertRaises(ValueError, privileged.remove, self.sysfs, '..')

    def test_refusals_of_the_kernel(self):
        for number, text in ((errno.ENOSPC, 'no instance of that type is'),
                             (errno.EBUSY, 'it is in use'),
                             (errno.EIO, 'Input/output error')):
            with fixtures.MonkeyPatch('os.write', _refusing(number)):
                error = self.assertRaises(exception.MdevFailed, self.create)
            self.assertIn('Mediated device %s (create, parent 0000:3b:00.0 '
                          'of host compute-1): %s' % (self.uuid, text),
                          error.message)

    def test_remove(self):
        path = self._file('bus/mdev/devices', self.uuid, 'remove')
        self.remove(self.uuid.upper())
        self.assertEqual('1', self.read(path))

    def test_remove_what_is_gone(self):
        """B55"""
        self.remove()

    def leaving(self):
        """Off the list, and below its parent as long as it is open."""
        os.makedirs(os.path.join(
            self.sysfs, 'bus/pci/devices', PARENT, self.uuid))

    def test_remove_what_is_being_removed(self):
        """The kernel waits for the guest, and the second call must not say
        that all is well."""
        self.leaving()
        for address in (PARENT, PARENT.upper()):
            error = self.assertRaises(
                exception.MdevFailed, self.manager.remove_vgpu_mdev,
                self.context, address, 'nvidia-35', self.uuid)
            self.assertIn('it is in use', error.message)

    def test_create_what_is_being_removed(self):
        self.leaving()
        with fixtures.MonkeyPatch('os.write', _refusing(errno.EEXIST)):
            error = self.assertRaises(exception.MdevFailed, self.create)
        self.assertIn('(create, parent 0000:3b:00.0 of host compute-1): it '
                      'still is in use and will be removed', error.message)

    def test_remove_refused(self):
        self._file('bus/mdev/devices', self.uuid, 'remove')
        with fixtures.MonkeyPatch('os.write', _refusing(errno.EBUSY)):
            error = self.assertRaises(exception.MdevFailed, self.remove)
        self.assertIn('(remove, parent 0000:3b:00.0 of host compute-1): it '
                      'is in use', error.message)

    def broken_helper(self):
        """As sudo does that asks for a password."""
        self.conf.set('cyborg_sys_admin', helper_command='false')
        privsep.sys_admin_pctxt.set_client_mode(True)

    def test_helper_does_not_start(self):
        self._file('bus/mdev/devices', self.uuid, 'remove')
        other = str(uuid.uuid4())
        self.broken_helper()
        for call, handle in ((self.create, other), (self.remove, self.uuid)):
            error = self.assertRaises(exception.PrivilegedHelperFailed, call,
                                      handle=handle)
            self.assertIn('The privileged helper of host compute-1 does not '
                          'work: privsep helper command exited non-zero (1).',
                          error.message)
            self.assertIn('[cyborg_sys_admin] helper_command', error.message)

    def test_helper_does_not_answer(self):
        self._file('bus/mdev/devices', self.uuid, 'remove')
        other = str(uuid.uuid4())
        for call, handle in ((self.create, other), (self.remove, self.uuid)):
            with fixtures.MonkeyPatch('os.write', _silent):
                error = self.assertRaises(exception.PrivilegedHelperFailed,
                                          call, handle=handle)
            self.assertIn('does not work: PrivsepTimeout.', error.message)

    def test_restore_without_a_helper(self):
        """After a reboot: told once, and the host goes on."""
        self.broken_helper()
        handle = values.PersistedHandle(
            4, self.uuid, 3, 2, 'MDEV', json.dumps({
                'domain': '0000', 'bus': '3b', 'device': '00',
                'function': '0', 'asked_type': 'nvidia-35'}), True, ('ARQ',))
        host = values.PersistedHost('compute-1', (values.PersistedDevice(
            1, 'D', 'compute-1', 'GPU', '10de', '{}', deployables=(
                values.PersistedDeployable(
                    3, 'R', 1, 'name', 1, handles=(handle,)),)),))
        restorer = mdev.Restorer()
        for _report in range(2):
            restorer.look(host)
        warning, = self.logs.messages('WARNING')
        self.assertIn('Mediated device %s of accelerator request ARQ is gone '
                      'and cannot be created again yet: The privileged '
                      'helper of host compute-1' % self.uuid, warning)
        privsep.sys_admin_pctxt.set_client_mode(False)
        restorer.look(host)
        self.assertEqual(self.uuid, self.read(self.create_file))


def _refusing(number):
    def write(*args):
        raise OSError(number, os.strerror(number))
    return write


def _silent(*args):
    raise comm.PrivsepTimeout()

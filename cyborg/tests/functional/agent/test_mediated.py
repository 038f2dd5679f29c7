# SPDX-License-Identifier: Apache-2.0
"""Virtual GPUs of a host: bind, unbind, reboot, and those of others.

The test is the kernel: it makes and removes the devices that are asked for.
"""

import os
import shutil
import threading

import fixtures
import webtest

from cyborg import privsep
from cyborg.agent import mdev
from cyborg.privsep import mdev as privileged
from cyborg.tests import base
from cyborg.tests.fixtures import services

GPU = '0000:3b:00.0'
KIND = 'nvidia-222'
FOREIGN = '5a1c6f0e-1d1b-4b0e-8f0a-000000000001'


class Kernel(fixtures.Fixture):
    """The mediated devices of one GPU."""

    def __init__(self, tree, total: int):
        super().__init__()
        self.root, self.total = tree.path, total
        self.parent = os.path.join(self.root, 'bus/pci/devices', GPU)
        self.types = os.path.join(self.parent, 'mdev_supported_types', KIND)
        self.open = {}

    def _setUp(self):
        self.load()
        os.makedirs(os.path.join(self.root, 'class/mdev_bus'))
        os.symlink(os.path.realpath(self.parent), os.path.join(
            self.root, 'class/mdev_bus', GPU))
        write = os.write

        def written(descriptor, data):
            path = os.readlink('/proc/self/fd/%d' % descriptor)
            if path.endswith('/create') and path.startswith(self.root[:5]):
                self.create(data.decode())
            elif path.endswith('/remove'):
                self.remove(os.path.basename(os.path.dirname(path)))
            return write(descriptor, data)

        self.useFixture(fixtures.MonkeyPatch('os.write', written))

    def load(self):
        """The vendor's driver is there."""
        os.makedirs(os.path.join(self.types, 'devices'))
        for name, text in (('name', 'GRID T4-1B'), ('create', '')):
            with open(os.path.join(self.types, name), 'w') as stream:
                stream.write(text)
        self._count()

    def create(self, uuid):
        place = os.path.join(self.root, 'bus/mdev/devices', uuid)
        os.makedirs(place)
        open(os.path.join(place, 'remove'), 'w').close()
        os.symlink(place, os.path.join(self.types, 'devices', uuid))
        self._count()

    def remove(self, uuid):
        """Off the list at once, away when no guest has it open."""
        os.unlink(os.path.join(self.types, 'devices', uuid))
        shutil.rmtree(os.path.join(self.root, 'bus/mdev/devices', uuid))
        if uuid in self.open:
            os.mkdir(os.path.join(self.parent, uuid))
            self.open[uuid].wait()
            os.rmdir(os.path.join(self.parent, uuid))
        self._count()

    def begin_guest(self, uuid):
        self.open[uuid] = threading.Event()
        self.addCleanup(self.open[uuid].set)

    def end_guest(self, uuid):
        self.open.pop(uuid).set()

    def reboot(self):
        for uuid in self.devices():
            self.remove(uuid)

    def devices(self):
        return sorted(os.listdir(os.path.join(self.types, 'devices')))

    def _count(self):
        with open(os.path.join(self.types, 'available_instances'),
                  'w') as stream:
            stream.write('%d\n' % (self.total - len(self.devices())))


class MediatedTest(base.TestCase):

    def setUp(self):
        super().setUp()
        privsep.sys_admin_pctxt.set_client_mode(False)
        self.addCleanup(privsep.sys_admin_pctxt.set_client_mode, True)
        self.cloud = self.useFixture(
            services.InOneProcess(self.conf, self.logs))
        self.cloud.plug(GPU, product=0x1eb8)
        self.kernel = self.useFixture(Kernel(self.cloud.tree, 4))
        path = os.path.join(self.temp_dir(), 'cyborg.conf')
        with open(path, 'w') as stream:
            stream.write('[gpu_devices]\nenabled_vgpu_types = %s\n'
                         '[vgpu_%s]\ndevice_addresses = %s\n'
                         % (KIND, KIND, GPU.upper()))
        self.conf.load_files(path)
        self.cloud.configure('agent', enabled_drivers=['nvidia_gpu_driver'])
        self.cloud.api.post_json('/v2/device_profiles', [{
            'name': self.profile, 'groups': [{
                'resources:VGPU': '1',
                'trait:CUSTOM_NVIDIA_1EB8_T4_1B': 'required'}]}])
        self.cloud.profile = self.profile
        self.cloud.start_agent()

    profile = 'vgpu'

    def bind(self):
        return self.cloud.bind_provider(self.cloud.provider(GPU), 'VGPU')

    def handle(self, arq):
        return self.cloud.arq(arq)['attach_handle_info']

    def handles(self):
        return [handle for device in self.cloud.stored().devices
                for deployable in device.deployables
                for handle in deployable.handles]

    def used(self):
        return sorted(h.uuid for h in self.handles() if h.allocated)

    def amounts(self):
        return self.cloud.placement.amounts(self.cloud.provider(GPU))['VGPU']

    def test_bind_and_unbind(self):
        self.assertEqual((4, 0), self.amounts())
        arq = self.bind()
        self.assertEqual(self.used(), self.kernel.devices())
        self.assertEqual(KIND, self.handle(arq)['asked_type'])
        self.cloud.report()
        self.assertEqual((4, 0), self.amounts())
        self.cloud.unbind(arq)
        self.assertEqual([], self.kernel.devices())
        self.assertEqual([], self.used())

    def test_unbind_under_guests(self):
        """The state is not UnbindFailed, which no database can store.

        The calls wait as long as a guest runs for neither it nor others.
        """
        self.patch(privileged, 'PATIENCE', 0.2)
        arqs = [self.bind() for _number in range(4)]
        handles = [self.cloud.arq(arq)['attach_handle_uuid'] for arq in arqs]
        for handle in handles[:3]:
            self.kernel.begin_guest(handle)
        for arq, handle in [*zip(arqs[:3], handles[:3], strict=True)] * 2:
            error = self.assertRaises(webtest.AppError, self.cloud.unbind,
                                      arq)
            self.assertIn('503', str(error))
            self.assertIn(
                'Accelerator request %s keeps its device, since host '
                'compute-1 did not release it: Mediated device %s (remove, '
                'parent %s of host compute-1): it is in use. End the guest '
                'that has it. Repeat the request once that is settled.' % (
                    arq, handle, GPU), str(error))
            self.assertEqual(('Bound', handle), (
                self.cloud.arq(arq)['state'],
                self.cloud.arq(arq)['attach_handle_uuid']))
        self.cloud.unbind(arqs.pop())
        self.assertEqual(sorted(handles[:3]), self.used())
        for handle in handles[:3]:
            self.kernel.end_guest(handle)
        for arq in arqs:
            self.cloud.unbind(arq)
        self.assertEqual(([], []), (self.used(), self.kernel.devices()))

    def test_reboot(self):
        arqs = [self.bind(), self.bind()]
        before, stored = self.kernel.devices(), self.cloud.stored()
        self.assertEqual(2, len(before))
        self.cloud.stop_agent()
        self.kernel.reboot()
        self.cloud.start_agent()
        self.assertEqual(before, self.kernel.devices())
        self.assertEqual(stored, self.cloud.stored())
        for arq in arqs:
            self.cloud.unbind(arq)
        self.assertEqual([], self.kernel.devices())

    def test_reboot_with_a_late_driver(self):
        """What can't be made yet is made by a later report."""
        self.bind()
        before, stored = self.kernel.devices(), self.cloud.stored()
        self.cloud.stop_agent()
        self.kernel.reboot()
        away = self.kernel.types + '.away'
        os.rename(self.kernel.types, away)
        self.cloud.start_agent()
        self.cloud.report()
        self.assertEqual(1, len([
            text for text in self.logs.messages('WARNING')
            if 'is gone and cannot be created again yet' in text]))
        # Not there to be handed out, and nothing of the guest's is lost.
        self.assertEqual(self.used(), before)
        os.rename(away, self.kernel.types)
        self.cloud.report()
        self.assertEqual(before, self.kernel.devices())
        self.assertEqual(stored, self.cloud.stored())

    def test_reboot_without_a_helper(self):
        """It is told once, and stops no report of the host."""
        arqs = [self.bind(), self.bind()]
        before = self.kernel.devices()
        self.cloud.stop_agent()
        self.kernel.reboot()
        self.break_helper()
        self.cloud.plug('0000:3c:00.0', product=0x1eb8)
        self.cloud.start_agent()
        self.cloud.report()
        self.assertIsNotNone(self.cloud.provider('0000:3c:00.0'))
        self.assertEqual(1, len([
            text for text in self.logs.messages('WARNING')
            if 'is gone and cannot be created again yet' in text]))
        self.assertEqual(before, self.used())
        privsep.sys_admin_pctxt.set_client_mode(False)
        self.cloud.report()
        self.assertEqual(before, self.kernel.devices())
        self.break_helper()
        error = self.assertRaises(webtest.AppError, self.cloud.unbind,
                                  arqs[0])
        self.assertIn('did not release it: The privileged helper of host ',
                      str(error))
        self.assertEqual(before, self.used())

    def break_helper(self):
        self.conf.set('cyborg_sys_admin', helper_command='false')
        privsep.sys_admin_pctxt.set_client_mode(True)

    def test_driver_loaded_anew(self):
        """Mediated devices do not outlive their driver; agents do."""
        self.bind()
        self.cloud.report()
        before = self.kernel.devices()
        self.kernel.reboot()
        self.cloud.report()
        self.assertEqual([], self.kernel.devices())
        self.cloud.report()
        self.assertEqual(before, self.kernel.devices())

    def test_report_in_an_unbind(self):
        """What is removed, and still in the database, is not made again."""
        arq = self.bind()
        self.cloud.report()
        seen = []

        def while_it_is_removed(*args):
            real(*args)
            self.cloud.report()
            seen.append((self.used(), self.kernel.devices()))

        real = mdev.remove
        with fixtures.MonkeyPatch('cyborg.agent.mdev.remove',
                                  while_it_is_removed):
            self.cloud.unbind(arq)
        (used, devices), = seen
        self.assertEqual((1, []), (len(used), devices))
        self.cloud.report()
        self.assertEqual([], self.kernel.devices())

    def test_devices_of_others(self):
        self.kernel.create(FOREIGN)
        self.cloud.report()
        self.assertEqual((3, 0), self.amounts())
        for _time in range(3):
            self.bind()
        self.cloud.report()
        self.assertEqual((3, 0), self.amounts())
        self.assertEqual(3, len(self.used()))

    def test_devices_of_others_take_no_guests_number(self):
        """The handles that are left are those in use."""
        arqs = [self.bind() for _time in range(4)]
        for arq in arqs[:2]:
            self.cloud.unbind(arq)
        kept = self.used()
        self.kernel.create(FOREIGN)
        self.cloud.report()
        self.assertEqual((3, 0), self.amounts())
        self.assertEqual(kept, self.used())
        self.assertEqual(3, len(self.handles()))

    def test_bind_meets_a_restart(self):
        """Both make the same device; one is too late."""
        made = FOREIGN
        self.kernel.create(made)
        self.useFixture(fixtures.MonkeyPatch(
            'cyborg.pci.mdev.exists', lambda path, uuid: False))
        self.useFixture(fixtures.MonkeyPatch('os.write', self.refuse))
        self.assertIsNone(mdev.create(GPU, KIND, made))

    @staticmethod
    def refuse(descriptor, data):
        raise FileExistsError(17, 'File exists')

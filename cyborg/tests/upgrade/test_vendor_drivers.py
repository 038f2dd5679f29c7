# SPDX-License-Identifier: Apache-2.0
"""The vendor drivers of 2026.2, with bound requests, upgraded and put back.

Real processes on one database. The drivers of the release read ``/sys``
itself, so its agent runs where the tree of the test is mounted there.
"""

import pathlib
import subprocess
import uuid

import sqlalchemy as sa
import testtools

from cyborg.pci import simulate
from cyborg.tests.fixtures import database
from cyborg.tests.fixtures import needs
from cyborg.tests.fixtures import processes
from cyborg.tests.peers import deployment
from cyborg.tests.peers import hardware

#: As ``hardware.DEVICES``.
DEVICES = (
    ('0000:05:00.0', 0x0200, 0x8086, 0x158b, 'Ethernet controller',
     'Intel Corporation Ethernet Controller XXV710 for 25GbE SFP28'),
    ('0000:3b:00.0', 0x0302, 0x10de, 0x1eb8, '3D controller',
     'NVIDIA Corporation TU104GL [Tesla T4]'),
    ('0000:3c:00.0', 0x0302, 0x10de, 0x1eb8, '3D controller',
     'NVIDIA Corporation TU104GL [Tesla T4]'),
    ('0000:3d:00.0', 0x0b40, 0x8086, 0x37c8, 'Co-processor',
     'Intel Corporation C62x Chipset QuickAssist Technology'),
    ('0000:5e:00.0', 0x1200, 0x8086, 0x09c4, 'Processing accelerators',
     'Intel Corporation Device'),
    ('0000:86:00.0', 0x1200, 0x1bd4, 0xa115, 'Processing accelerators',
     'Inspur Electronic Information Industry Co., Ltd. Device'),
    ('0000:af:00.0', 0x1200, 0x10ee, 0x5000, 'Processing accelerators',
     'Xilinx Corporation Device'),
    ('0000:af:00.1', 0x1200, 0x10ee, 0x5001, 'Processing accelerators',
     'Xilinx Corporation Device'),
)
#: Virtual function -> physical function.
FUNCTIONS = {'0000:05:02.0': ('0000:05:00.0', 0x0200, 0x154c),
             '0000:05:02.1': ('0000:05:00.0', 0x0200, 0x154c),
             '0000:3d:01.0': ('0000:3d:00.0', 0x0b40, 0x37c9)}
KIND, VGPU = 'nvidia-222', '0000:3c:00.0'
#: Deployable -> resource class and attach type of what is bound.
BOUND = {'0000:05:02.0': 'CUSTOM_NIC', '0000:3b:00.0': 'PGPU',
         VGPU: 'VGPU', '0000:3d:01.0': 'CUSTOM_QAT',
         '0000:5e:00.0': 'FPGA', '0000:86:00.0': 'FPGA',
         '0000:af:00.0': 'FPGA'}
PROVIDERS = 8
OPTIONS = """
[agent]
enabled_drivers = %s
[nic_devices]
enabled_nic_types = x710_static
[x710_static]
physical_device_mappings = physnet1:ens1f0
function_device_mappings = GTPv1:ens1f0
[gpu_devices]
enabled_vgpu_types = nvidia-222
[vgpu_nvidia-222]
device_addresses = 0000:3c:00.0
""" % ','.join('%s_driver' % name for name in (
    'nvidia_gpu', 'intel_nic', 'intel_qat', 'inspur_fpga', 'xilinx_fpga',
    'intel_fpga'))
AGENT = """#!/bin/sh
exec unshare -m sh -c 'mount --bind %s /sys && exec %s/cyborg-agent "$@"' \\
    cyborg-agent "$@"
"""
QUERIES = {
    'devices': 'SELECT id, uuid, type, vendor, std_board_info,'
               ' vendor_board_info, hostname, status FROM devices',
    'control paths': 'SELECT id, uuid, device_id, cpid_type, cpid_info'
                     ' FROM controlpath_ids',
    'deployables': 'SELECT id, uuid, device_id, name, num_accelerators,'
                   ' rp_uuid, driver_name FROM deployables',
    'attributes': 'SELECT id, uuid, deployable_id, attributes.key, value'
                  ' FROM attributes',
    'handles': 'SELECT id, uuid, deployable_id, cpid_id, attach_type,'
               ' attach_info, in_use FROM attach_handles',
    'requests': 'SELECT uuid, state, attach_handle_id'
                ' FROM extended_accelerator_requests',
}


def build(path: str) -> simulate.SysfsTree:
    tree = simulate.SysfsTree(path)
    for address, code, vendor, product, _, _ in DEVICES:
        add(tree, address, code, vendor, product)
    for address, (parent, code, product) in FUNCTIONS.items():
        add(tree, address, code, 0x8086, product, physfn=parent)
    for address in ('0000:05:00.0', '0000:3d:00.0', '0000:5e:00.0'):
        tree.write(address, 'sriov_totalvfs', b'4\n')
    tree.net('0000:05:00.0', 'ens1f0')
    root = pathlib.Path(path)
    card = (root / 'bus/pci/devices/0000:5e:00.0').resolve()
    fpga = card / 'fpga/intel-fpga-dev.0'
    for name, text in (
            ('intel-fpga-fme.0/pr/interface_id', '9926ab6d6c925a68'),
            ('intel-fpga-port.0/afu_id', '9aeffe5f84570612')):
        (fpga / name).parent.mkdir(parents=True)
        (fpga / name).write_text(text * 2 + '\n')
    (fpga / 'device').symlink_to('../..')
    (root / 'class/fpga').mkdir()
    (root / 'class/fpga/intel-fpga-dev.0').symlink_to(
        '../../devices/pci0000:5e/0000:5e:00.0/fpga/intel-fpga-dev.0')
    gpu = root / 'bus/pci/devices' / VGPU
    kind = gpu.resolve() / 'mdev_supported_types' / KIND
    (kind / 'devices').mkdir(parents=True)
    for name, text in (('name', 'GRID T4-1B\n'), ('create', ''),
                       ('available_instances', '4\n')):
        (kind / name).write_text(text)
    (root / 'class/mdev_bus').mkdir()
    (root / 'class/mdev_bus' / VGPU).symlink_to(
        '../../devices/pci0000:3c/' + VGPU)
    return tree


def add(tree, address, code, vendor, product, **more):
    tree.add(address, vendor, product, code << 8, **more)
    tree.write(address, 'uevent', (
        'PCI_CLASS=%X\nPCI_ID=%04X:%04X\nPCI_SLOT_NAME=%s\n' % (
            code << 8, vendor, product, address)).encode())


class VendorDriversUpgrade(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.released = deployment.released()
        if subprocess.run(['unshare', '-m', 'true'],
                          capture_output=True).returncode:
            needs.skip_or_fail('no mount namespaces: unshare -m needs '
                               'privilege')
        self.db = self.useFixture(database.DATABASES['mariadb'](schema=False))
        self.cloud = self.useFixture(deployment.Deployment(
            self.db.url, lspci=hardware.lspci(DEVICES), options=OPTIONS))
        self.sysfs = self.cloud.folder / 'sys'
        build(str(self.sysfs))
        self.wrapped = self.cloud.folder / 'wrapped'
        self.wrapped.mkdir()
        script = self.wrapped / 'cyborg-agent'
        script.write_text(AGENT % (self.sysfs, self.released))
        script.chmod(0o755)
        self.number = 0

    def rows(self):
        with self.db.engine.connect() as connection:
            return {name: sorted(map(tuple, connection.execute(
                sa.text(query)))) for name, query in QUERIES.items()}

    def start(self, ours: bool):
        """Conductor and agent of a release; they have reported."""
        self.cloud.configure(
            '[pci]\nsysfs_path = %s\n' % self.sysfs if ours else
            '[cyborg_sys_admin]\nhelper_command = %s/privsep-helper\n'
            % self.released)
        self.number += 1
        conductor = self.cloud.service(
            deployment.OURS if ours else self.released, 'cyborg-conductor',
            number=self.number)
        if not ours:
            conductor.wait_for_output('Created RPC server', 90)
        agent = self.cloud.service(
            deployment.OURS if ours else self.wrapped, 'cyborg-agent',
            number=self.number)
        if ours:
            agent.wait_for_output('reported %d devices' % 7, 120)
        return conductor, agent

    def reported(self):
        processes.wait_until(
            lambda: len([row for row in self.rows()['deployables']
                         if row[5]]) == PROVIDERS, 'first report', 120)

    def bind(self):
        api = self.cloud.api(self.released)
        by_address = {name.rpartition('_')[2]: provider for name, provider
                      in self.cloud.providers().items()}
        for resource in set(BOUND.values()):
            api.call('POST', '/v2/device_profiles', [{
                'name': resource, 'groups': [
                    {'resources:' + resource: '1'}]}]).raise_for_status()
        for address, resource in BOUND.items():
            arq, = api.request_arqs(resource)
            answer = api.bind(arq, 'compute-1', by_address[address]['uuid'],
                              str(uuid.uuid4()))
            self.assertEqual(202, answer.status_code, answer.text)
        processes.wait_until(lambda: {row[1] for row in self.rows()[
            'requests']} == {'Bound'}, 'requests are bound', 60)
        api.process.stop()

    def make_what_was_asked_for(self):
        """The part of the kernel."""
        kind = self.sysfs / 'class/mdev_bus' / VGPU / (
            'mdev_supported_types/' + KIND)
        made = (kind / 'create').read_text().strip()
        (self.sysfs / 'bus/mdev/devices' / made).mkdir(parents=True)
        (kind / 'devices' / made).symlink_to('/')
        (kind / 'available_instances').write_text('3\n')
        return made

    def test_upgrade_and_back(self):
        self.cloud.command(self.released, 'cyborg-dbsync', 'upgrade')
        services = self.start(ours=False)
        self.reported()
        self.bind()
        made = self.make_what_was_asked_for()
        before, providers = self.rows(), self.cloud.providers()
        for service in services:
            service.stop()
        used = [row for row in before['handles'] if row[6]]
        self.assertEqual(len(BOUND), len(used))
        self.assertEqual([made], [row[1] for row in used
                                  if row[4] == 'MDEV'])

        self.number = 1
        services = self.start(ours=True)
        self.assertEqual(before, self.rows())
        # Ours marks each as its own (B34).
        for provider in providers.values():
            provider['traits'] = sorted({*provider['traits'],
                                         'OWNER_CYBORG'})
        self.assertEqual(providers, self.cloud.providers())
        for service in services:
            self.assertEqual(0, service.stop())
            self.assertEqual([], [
                line for line in service.output.splitlines()
                if ' ERROR ' in line or 'Traceback' in line])

        services = self.start(ours=False)
        services[0].wait_for_output('differing attributes', 120)
        self.assertEqual(before, self.rows())
        self.assertEqual(providers, self.cloud.providers())

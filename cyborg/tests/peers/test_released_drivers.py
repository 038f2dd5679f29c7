# SPDX-License-Identifier: Apache-2.0
"""The released drivers themselves, as a package beside ours (BASE-1).

Their files are copied under another name, registered as drivers of another
vendor are, and import what this release has in the place of the modules that
they know. The name of the package begins with "cyborg": privilege is for such
packages alone, as in 2026.2.
"""

import importlib
import pathlib
import shutil
import sys

import testtools

from cyborg import privsep
from cyborg.agent import discovery
from cyborg.agent import loading
from cyborg.common import exception
from cyborg.tests import base
from cyborg.tests.fixtures import drivers
from cyborg.tests.fixtures import recorded
from cyborg.tests.fixtures import services
from cyborg.tests.fixtures import sysfs as sysfs_fixture
from cyborg.tests.peers import deployment
from cyborg.tests.unit.accelerator import test_vendor_cases

PACKAGE = 'cyborg_released'
UNPRIVILEGED = 'released_drivers'
#: Entry point -> class, and the first letters of the recorded cases.
DRIVERS = {
    'released_nvidia': ('gpu.nvidia.driver:NVIDIAGPUDriver', 'gpu'),
    'released_nic': ('nic.intel.driver:IntelNICDriver', 'nic'),
    'released_qat': ('qat.intel.driver:IntelQATDriver', 'qat'),
    'released_inspur': ('fpga.inspur.driver:InspurFPGADriver', 'ifp'),
    'released_xilinx': ('fpga.xilinx.driver:XilinxFPGADriver', 'xil'),
    'released_intel': ('fpga.intel.driver:IntelFPGADriver', 'fpg'),
}
OTHERS = {
    'released_ssd': 'ssd.inspur.driver:InspurNVMeSSDDriver',
    'released_ascend': 'aichip.huawei.ascend:AscendDriver',
}
#: What of the release comes along; its base classes do not.
OWN = ('gpu.nvidia', 'gpu.utils', 'nic.intel', 'qat.intel', 'fpga.inspur',
       'fpga.xilinx', 'fpga.intel', 'ssd.inspur', 'ssd.utils', 'aichip')


def install(test, package, entry_points):
    """Copies of the released drivers as an installed package.

    :returns: the folder whose "sys" is what they take for ``/sys``
    """
    place = test.useFixture(drivers.DriverPackage(
        package, '', {})).path
    folder = pathlib.Path(place)
    (folder / (package + '.py')).unlink()
    info, = folder.glob('*.dist-info')
    (info / 'entry_points.txt').write_text(
        '[cyborg.accelerator.driver]\n' + ''.join(
            '%s = %s.%s\n' % (name, package, kind)
            for name, kind in entry_points.items()))
    released, = deployment.released().parent.glob(
        'lib/python*/site-packages/cyborg/accelerator/drivers')
    for name in {own.partition('.')[0] for own in OWN}:
        shutil.copytree(released / name, folder / package / name,
                        ignore=shutil.ignore_patterns('__pycache__'))
    (folder / package / '__init__.py').touch()
    for path in (folder / package).rglob('*.py'):
        text = path.read_text()
        for own in OWN:
            parent, _dot, name = own.rpartition('.')
            text = text.replace(
                'cyborg.accelerator.drivers.' + own, '%s.%s' % (package, own)
            ).replace('from cyborg.accelerator.drivers.%s import %s' % (
                parent, name), 'from %s.%s import %s' % (
                    package, parent, name))
        for quote in '\'"':
            text = text.replace(quote + '/sys/', '%s%s/sys/' % (quote, place))
        path.write_text(text)
    test.addCleanup(forget, package)
    return folder


def forget(package):
    for name in [name for name in sys.modules
                 if name.partition('.')[0] == package]:
        del sys.modules[name]


#: The release does not know the group of these options unless another one
#: names it; here it is always known, and intel_nic_driver looks there first.
NOT_THE_SAME = {'nic-13'}


class ReleasedDriversTest(base.TestCase):

    def setUp(self):
        super().setUp()
        privsep.sys_admin_pctxt.set_client_mode(False)
        self.addCleanup(privsep.sys_admin_pctxt.set_client_mode, True)
        self.folder = install(self, PACKAGE, OTHERS | {
            name: kind for name, (kind, _prefix) in DRIVERS.items()})
        self.place = self.folder / 'sys'

    def discover(self, name, sysfs):
        self.place.unlink(missing_ok=True)
        self.place.symlink_to(sysfs)
        forget(PACKAGE)
        loaded = loading.load([name])
        self.assertEqual(PACKAGE, type(
            loaded[0].driver).__module__.partition('.')[0])
        loading.init_host(loaded)
        return discovery.discover(loaded)

    def report(self, name, case):
        with recorded.RecordedHost(self.conf, case) as host:
            return test_vendor_cases.unordered(test_vendor_cases.plain(
                list(self.discover(name, host.sysfs).devices)))

    def cases(self, prefix):
        """What the release reports rightly, of one driver."""
        return {name: case for name, case in recorded.cases().items()
                if name.startswith(prefix) and 'call' not in case
                and name not in NOT_THE_SAME
                and not {'upstream_bug', 'want', 'error'} & (
                    {*case, *case['expect']})}

    def test_they_report_as_recorded(self):
        for name, (_kind, prefix) in DRIVERS.items():
            cases = self.cases(prefix)
            self.assertGreaterEqual(len(cases), 4, name)
            for case in cases:
                with self.subTest(case):
                    self.assertEqual(
                        test_vendor_cases.unordered(
                            cases[case]['expect']['devices']),
                        self.report(name, cases[case]))

    def test_solid_state_drives(self):
        """They load where the operator of ours wants that (DSC-5)."""
        host = self.useFixture(sysfs_fixture.SysfsTree())
        host.tree.add('0000:5f:00.0', 0x1bd4, 0x1003, 0x010802)
        self.conf.set('pci', sysfs_path=host.path)
        error = self.assertRaises(
            exception.CyborgException, self.discover, 'released_ssd',
            host.path)
        self.assertIn('allow_unsafe_devices', error.message)
        self.conf.set('workarounds', allow_unsafe_devices=True)
        device, = self.discover('released_ssd', host.path).plain
        deployable, = device.deployables
        self.assertEqual(('SSD', 'compute-1_0000:5f:00.0'),
                         (device.type, deployable.name))

    def test_bases_are_ours(self):
        from cyborg.accelerator.drivers.nic import base as nic
        module = importlib.import_module(PACKAGE + '.nic.intel.driver')
        self.assertTrue(issubclass(module.IntelNICDriver, nic.NICDriver))


class BesideOursTest(base.TestCase):
    """One host, drivers of both, and the services."""

    def setUp(self):
        super().setUp()
        privsep.sys_admin_pctxt.set_client_mode(False)
        self.addCleanup(privsep.sys_admin_pctxt.set_client_mode, True)
        folder = install(self, PACKAGE, OTHERS | {
            name: kind for name, (kind, _prefix) in DRIVERS.items()})
        self.cloud = self.useFixture(
            services.InOneProcess(self.conf, self.logs))
        (folder / 'sys').symlink_to(self.cloud.sysfs)
        self.cloud.plug('0000:3b:00.0', product=0x1eb8)
        self.cloud.plug('0000:86:00.0', vendor=0x1bd4, product=0xa115,
                        class_code=0x120000)

    def start(self, *names):
        self.cloud.configure('agent', enabled_drivers=list(names))
        self.cloud.start_agent()

    def types(self):
        return sorted(device.type for device in self.cloud.stored().devices)

    def test_reports_and_binds(self):
        self.start('released_nvidia', 'inspur_fpga_driver')
        self.assertEqual(['FPGA', 'GPU'], self.types())
        for address, resource in (('0000:3b:00.0', 'PGPU'),
                                  ('0000:86:00.0', 'FPGA')):
            self.cloud.api.post_json('/v2/device_profiles', [{
                'name': resource, 'groups': [{'resources:' + resource: '1'}]}])
            self.cloud.profile = resource
            arq = self.cloud.bind_provider(
                self.cloud.provider(address), resource)
            self.assertEqual('Bound', self.cloud.arq(arq)['state'])
        self.assertEqual([], self.logs.messages('ERROR'))

    def test_ours_takes_over(self):
        """The same rows, whoever reports them."""
        self.start('released_nvidia', 'released_inspur')
        stored = self.cloud.stored()
        self.cloud.stop_agent()
        self.start('nvidia_gpu_driver', 'inspur_fpga_driver')
        self.assertEqual(stored, self.cloud.stored())

    def test_one_that_never_worked(self):
        """Chips of Ascend come without a resource class: nobody can ask for
        them, and the devices of others are reported all the same."""
        self.cloud.plug('0000:0c:00.0', vendor=0x19e5, product=0xd100,
                        class_code=0x120000)
        self.start('released_ascend', 'nvidia_gpu_driver')
        self.assertEqual(['AICHIP', 'GPU'], self.types())
        self.assertIsNotNone(self.cloud.provider('0000:3b:00.0'))
        error, = self.logs.messages('ERROR')
        self.assertIn('Device_0000_0c_00_0 of host compute-1 is not offered: '
                      'its resource class "" (attribute rc)', error)


class UnprivilegedTest(base.TestCase):

    def test_privilege_is_for_packages_of_cyborg(self):
        """As in 2026.2; the guide says so."""
        install(self, UNPRIVILEGED, {})
        for module in ('fpga.intel.driver', 'fpga.xilinx.driver',
                       'gpu.nvidia.driver'):
            with testtools.ExpectedException(AssertionError,
                                             '.*below "cyborg"'):
                importlib.import_module('%s.%s' % (UNPRIVILEGED, module))

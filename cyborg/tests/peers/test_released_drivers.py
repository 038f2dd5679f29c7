# SPDX-License-Identifier: Apache-2.0
"""The released drivers themselves, as a package beside ours (BASE-1).

Their files are copied under another name and import what this release has in
the place of the modules they know. Those that ask for privilege of their own
at import can't: the context is for functions below ``cyborg``.
"""

import importlib
import pathlib
import shutil
import sys

import testtools

from cyborg.agent import discovery
from cyborg.agent import loading
from cyborg.tests import base
from cyborg.tests.fixtures import recorded
from cyborg.tests.peers import deployment
from cyborg.tests.unit.accelerator import test_vendor_cases

PACKAGE = 'released_drivers'
#: Folder of the release, driver, and a recorded case that it is run on.
DRIVERS = (
    ('nic', 'nic.intel.driver', 'IntelNICDriver', 'nic-04'),
    ('nic', 'nic.intel.driver', 'IntelNICDriver', 'nic-02'),
    ('qat', 'qat.intel.driver', 'IntelQATDriver', 'qat-05'),
    ('fpga', 'fpga.inspur.driver', 'InspurFPGADriver', 'ifp-02'),
)
#: Places in sysfs that the release has as constants.
PLACES = ('PCI_DEVICES_PATH', 'PCI_DEVICES_PATH_PATTERN')


class ReleasedDriversTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.folder = self.temp_dir()
        self.package = self.folder + '/' + PACKAGE
        released, = deployment.released().parent.glob(
            'lib/python*/site-packages/cyborg/accelerator/drivers')
        for name in {driver[0] for driver in DRIVERS}:
            shutil.copytree(released / name, '%s/%s' % (self.package, name))
        open(self.package + '/__init__.py', 'w').close()
        self.rewrite()
        self.patch(sys, 'path', [self.folder, *sys.path])
        self.addCleanup(self.forget)

    def rewrite(self):
        """Their own modules are in the package; bases are ours."""
        for path in pathlib.Path(self.package).rglob('*.py'):
            text = path.read_text()
            for maker in ('intel', 'inspur'):
                for kind in ('nic', 'qat', 'fpga'):
                    name = '%s.%s' % (kind, maker)
                    text = text.replace(
                        'cyborg.accelerator.drivers.' + name,
                        '%s.%s' % (PACKAGE, name))
            path.write_text(text)

    def forget(self):
        for name in [name for name in sys.modules
                     if name.partition('.')[0] == PACKAGE]:
            del sys.modules[name]

    def run_driver(self, module, name, case):
        with recorded.RecordedHost(self.conf, case) as host:
            driver = getattr(importlib.import_module(
                '%s.%s' % (PACKAGE, module)), name)()
            sysinfo = importlib.import_module('%s.%s' % (
                PACKAGE, module.replace('.driver', '.sysinfo')))
            for place in PLACES:
                if hasattr(sysinfo, place):
                    self.patch(sysinfo, place, getattr(
                        sysinfo, place).replace('/sys', host.sysfs, 1))
            loaded = [loading.LoadedDriver(name, driver)]
            loading.init_host(loaded)
            return discovery.discover(loaded)

    def test_they_report_as_recorded(self):
        cases = recorded.cases()
        for _folder, module, name, case in DRIVERS:
            with self.subTest(module, case=case):
                self.forget()
                found = self.run_driver(module, name, cases[case])
                self.assertEqual(
                    test_vendor_cases.unordered(
                        cases[case]['expect']['devices']),
                    test_vendor_cases.unordered(test_vendor_cases.plain(
                        list(found.devices))))

    def test_bases_are_ours(self):
        from cyborg.accelerator.drivers.nic import base as nic
        module = importlib.import_module(PACKAGE + '.nic.intel.driver')
        self.assertTrue(issubclass(module.IntelNICDriver, nic.NICDriver))

    def test_privilege_is_for_functions_of_cyborg(self):
        """As in 2026.2; the guide says so."""
        with testtools.ExpectedException(AssertionError, '.*below "cyborg"'):
            importlib.import_module(PACKAGE + '.fpga.intel.driver')

# SPDX-License-Identifier: Apache-2.0
"""Drivers of other packages, one for each base class of 2026.2 (BASE-1).

Written as against that release, installed as a package, loaded by name.
"""

from cyborg.accelerator.common import utils
from cyborg.agent import discovery
from cyborg.agent import loading
from cyborg.common import utils as common_utils
from cyborg.tests import base
from cyborg.tests.fixtures import drivers
from cyborg.tests.fixtures import sysfs as sysfs_fixture

SOURCE = '''
    import json

    from oslo_log import log as logging

    from cyborg.accelerator.common import utils
    from cyborg.accelerator.drivers.driver import GenericDriver
    from cyborg.accelerator.drivers.fpga.base import FPGADriver
    from cyborg.accelerator.drivers.gpu.base import GPUDriver
    from cyborg.accelerator.drivers.nic.base import NICDriver
    from cyborg.accelerator.drivers.pci.base import PciDriver
    from cyborg.accelerator.drivers.qat.base import QATDriver
    from cyborg.accelerator.drivers.ssd.base import SSDDriver
    from cyborg.common import constants
    from cyborg.common import exception
    from cyborg.common.utils import safe_rstrip
    from cyborg.common.utils import synchronized
    import cyborg.conf
    from cyborg.objects.driver_objects import driver_attach_handle
    from cyborg.objects.driver_objects import driver_attribute
    from cyborg.objects.driver_objects import driver_controlpath_id
    from cyborg.objects.driver_objects import driver_deployable
    from cyborg.objects.driver_objects import driver_device

    CONF = cyborg.conf.CONF
    LOG = logging.getLogger(__name__)


    class Acme(object):
        KIND = constants.DEVICE_FPGA
        RC = constants.RESOURCES['FPGA']

        @synchronized('acme')
        def discover(self):
            devices = []
            for line in utils.lspci_privileged().split('\\n'):
                found = utils.parse_lspci_line(safe_rstrip(line))
                if not found or found['vendor_id'] != '1acc':
                    continue
                devices.append(self._device(found))
            return devices

        def _device(self, pci):
            address = utils.pci_str_to_json(pci['address'])
            attributes = []
            for key, value in (('rc', self.RC), ('trait0', 'CUSTOM_ACME')):
                attribute = driver_attribute.DriverAttribute()
                attribute.key, attribute.value = key, value
                attributes.append(attribute)
            handle = driver_attach_handle.DriverAttachHandle()
            handle.attach_type = constants.AH_TYPE_PCI
            handle.attach_info = address
            handle.in_use = False
            deployable = driver_deployable.DriverDeployable()
            deployable.name = '%s_%s' % (CONF.host, pci['address'])
            deployable.num_accelerators = 1
            deployable.driver_name = 'ACME'
            deployable.attribute_list = attributes
            deployable.attach_handle_list = [handle]
            path = driver_controlpath_id.DriverControlPathID()
            path.cpid_type = constants.CPID_TYPE
            path.cpid_info = address
            device = driver_device.DriverDevice()
            device.type = self.KIND
            device.vendor = pci['vendor_id']
            device.model = pci.get('device_name', '')
            device.std_board_info = json.dumps(
                {'product_id': pci['device_id']})
            device.vendor_board_info = pci['revision'] or 'none'
            device.controlpath_id = path
            device.deployable_list = [deployable]
            return device


    class AcmeFPGADriver(Acme, FPGADriver):
        VENDOR = 'acme'

        def __init__(self, *args, **kwargs):
            super(AcmeFPGADriver, self).__init__(*args, **kwargs)

        def program(self, controlpath_id, image_file_path):
            return True


    class AcmeGPUDriver(Acme, GPUDriver):
        VENDOR = 'acme'
        KIND, RC = constants.DEVICE_GPU, constants.RESOURCES['PGPU']


    class AcmeNICDriver(Acme, NICDriver):
        VENDOR = 'acme'
        KIND, RC = constants.DEVICE_NIC, constants.RESOURCES['NIC']

        def __init__(self, *args, **kwargs):
            pass


    class AcmeQATDriver(Acme, QATDriver):
        VENDOR = 'acme'
        KIND, RC = constants.DEVICE_QAT, constants.RESOURCES['QAT']


    class AcmePciDriver(Acme, PciDriver):
        VENDOR = 'acme'
        KIND, RC = constants.DEVICE_PCI, constants.RESOURCES['PCI']


    class AcmeSSDDriver(Acme, SSDDriver):
        VENDOR = 'samsung'
        KIND, RC = constants.DEVICE_SSD, constants.RESOURCES['SSD']


    class AcmeGenericDriver(Acme, GenericDriver):
        VENDOR = 'acme'

        def update(self, control_path, image_path):
            raise NotImplementedError()

        def get_stats(self):
            raise NotImplementedError()
'''
KINDS = {'FPGA': 'FPGA', 'GPU': 'GPU', 'NIC': 'NIC', 'QAT': 'QAT',
         'Pci': 'PCI', 'SSD': 'SSD', 'Generic': 'FPGA'}
#: As ``lspci -nn -D`` prints a device.
LINE = ('0000:3b:00.0 Processing accelerators [1200]: Acme Inc. Board [AX] '
        '[1acc:0002] (rev a1)')


class OutsideTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.useFixture(drivers.DriverPackage('acme_drivers', SOURCE, {
            'acme_%s' % kind.lower(): 'Acme%sDriver' % kind
            for kind in KINDS}))
        host = self.useFixture(sysfs_fixture.SysfsTree())
        host.tree.add('0000:3b:00.0', 0x1acc, 0x0002, 0x120000)
        host.tree.write('0000:3b:00.0', 'revision', b'0xa1\n')
        host.tree.add('0000:3c:00.0', 0x8086, 0x0002, 0x120000)
        self.conf.set('pci', sysfs_path=host.path)
        self.conf.set('workarounds', allow_unsafe_devices=True)

    def test_each_base_class(self):
        for name, kind in KINDS.items():
            with self.subTest(name):
                loaded = loading.load(['acme_%s' % name.lower()])
                loading.init_host(loaded)
                device, = discovery.discover(loaded).plain
                self.assertEqual((kind, '1acc', 'a1'), (
                    device.type, device.vendor, device.vendor_board_info))
                deployable, = device.deployables
                self.assertEqual('compute-1_0000:3b:00.0', deployable.name)
                self.assertTrue(hasattr(loaded[0].driver, 'cleanup'))

    def test_driver_of_a_vendor(self):
        import acme_drivers

        from cyborg.accelerator.drivers.fpga import base as fpga
        from cyborg.accelerator.drivers.fpga.intel import driver as intel
        from cyborg.accelerator.drivers.ssd import base as ssd
        self.assertIsInstance(fpga.FPGADriver.create('acme'),
                              acme_drivers.AcmeFPGADriver)
        self.assertIsInstance(fpga.FPGADriver.create('0x8086'),
                              intel.IntelFPGADriver)
        for vendor in ('1099', 'samsung'):
            self.assertIsInstance(ssd.SSDDriver.create(vendor),
                                  acme_drivers.AcmeSSDDriver)
        self.assertRaises(LookupError, fpga.FPGADriver.create, 'nobody')

    def test_vendors_of_the_host(self):
        from cyborg.accelerator.drivers.gpu import base as gpu
        from cyborg.accelerator.drivers.nic import base as nic
        self.assertEqual(set(), gpu.GPUDriver.discover_vendors())
        self.assertRaises(NotImplementedError,
                          nic.NICDriver.discover_vendors)


class HelpersTest(base.TestCase):
    """What stands in the place of a look at ``lspci``."""

    def test_line(self):
        self.assertEqual({
            'address': '0000:3b:00.0', 'class_id': '1200',
            'class_name': 'Processing accelerators',
            'device_name': 'Acme Inc. Board [AX]', 'vendor_id': '1acc',
            'device_id': '0002', 'revision': 'a1', 'raw_line': LINE},
            utils.parse_lspci_line(LINE))
        for line in ('', 'garbage', '3b:00.0 X [1200]: Y [1acc:0002]',
                     '0000:3b:00.0 X: Y [1acc:0002]'):
            self.assertIsNone(utils.parse_lspci_line(line))
        self.assertIsNone(utils.parse_lspci_line(
            LINE.partition(' (rev')[0])['revision'])

    def test_ids_are_lowered_and_the_address_is_not(self):
        found = utils.parse_lspci_line(LINE.replace(
            '0000:3b', '0000:3B').replace('1acc', '1ACC'))
        self.assertEqual(('0000:3B:00.0', '1acc'),
                         (found['address'], found['vendor_id']))

    def test_common(self):
        self.assertEqual('a', common_utils.safe_rstrip('a \n'))
        self.assertEqual('/', common_utils.safe_rstrip('/', '/'))
        self.assertEqual(7, common_utils.safe_rstrip(7))

        class One(common_utils.Singleton):
            pass

        self.assertIs(One(), One())
        self.assertIsNot(One(), type('Two', (common_utils.Singleton,), {})())

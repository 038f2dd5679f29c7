# SPDX-License-Identifier: Apache-2.0
"""A vendor's driver, written for 2026.2 and installed beside us (BASE-1)."""

import json

from cyborg.tests import base
from cyborg.tests.fixtures import drivers
from cyborg.tests.fixtures import services

#: As their package has it; nothing in it knows of this release.
SOURCE = '''
    import json

    from cyborg.accelerator.drivers.driver import GenericDriver
    from cyborg.common import constants
    from cyborg.conf import CONF
    from cyborg.objects.driver_objects import driver_attach_handle
    from cyborg.objects.driver_objects import driver_attribute
    from cyborg.objects.driver_objects import driver_controlpath_id
    from cyborg.objects.driver_objects import driver_deployable
    from cyborg.objects.driver_objects import driver_device


    class AcmeCard(object):
        def __init__(self, bus):
            self.bus = bus

        def address(self, function):
            return json.dumps({'domain': '0000', 'bus': self.bus,
                               'device': '00', 'function': function})

        def report(self):
            device = driver_device.DriverDevice()
            device.vendor = '1acc'
            device.model = 'Acme AX-2'
            device.std_board_info = json.dumps({'product_id': '0002'})
            device.type = constants.DEVICE_GPU
            device.controlpath_id = (
                driver_controlpath_id.DriverControlPathID())
            device.controlpath_id.cpid_type = 'PCI'
            device.controlpath_id.cpid_info = self.address('0')
            deployable = driver_deployable.DriverDeployable()
            deployable.name = '_'.join([CONF.host, 'acme', self.bus])
            deployable.driver_name = 'ACME'
            deployable.num_accelerators = 2
            deployable.attribute_list = []
            for key, value in (('rc', 'PGPU'), ('trait0', 'OWNER_CYBORG'),
                               ('trait1', 'CUSTOM_GPU_ACME')):
                attribute = driver_attribute.DriverAttribute()
                attribute.key = key
                attribute.value = value
                deployable.attribute_list.append(attribute)
            deployable.attach_handle_list = []
            for function in ('1', '2'):
                handle = driver_attach_handle.DriverAttachHandle()
                handle.attach_type = constants.AH_TYPE_PCI
                handle.in_use = False
                handle.attach_info = self.address(function)
                deployable.attach_handle_list.append(handle)
            device.deployable_list = [deployable]
            return device


    class AcmeDriver(GenericDriver):
        """Class for Acme's cards."""

        def __init__(self, *args, **kwargs):
            pass

        def discover(self):
            return [AcmeCard(bus).report() for bus in ('b1', 'b2')]

        def update(self, control_path, image_path):
            raise NotImplementedError()

        def get_stats(self):
            raise NotImplementedError()


    class AcmeHooksDriver(AcmeDriver):
        """With the hooks that 2026.2 added to the base class."""

        def init_host(self):
            self.ready = True

        def discover(self):
            if not self.ready:
                raise RuntimeError('init_host comes first')
            return super().discover()

        def cleanup(self, device):
            return True
'''


class TestVendorDriver(base.TestCase):

    def setUp(self):
        super().setUp()
        self.useFixture(drivers.DriverPackage('acme_cyborg', SOURCE, {
            'acme_driver': 'AcmeDriver',
            'acme_hooks_driver': 'AcmeHooksDriver'}))
        self.cloud = self.useFixture(
            services.InOneProcess(self.conf, self.logs))

    def test_driver_of_2026_2_reports_unchanged(self):
        self.cloud.configure('agent', enabled_drivers=['acme_driver'])
        self.cloud.start_agent()
        stored = self.cloud.stored()
        self.assertEqual(['Acme AX-2'] * 2, [d.model for d in stored.devices])
        provider = self.cloud.placement.providers()['compute-1_acme_b1']
        self.assertEqual({'PGPU': (2, 0)},
                         self.cloud.placement.amounts(provider))
        self.assertEqual({'OWNER_CYBORG', 'CUSTOM_GPU_ACME'},
                         self.cloud.placement.traits(provider))
        self.cloud.report()
        self.assertEqual(stored, self.cloud.stored())

    def test_its_device_is_handed_out(self):
        self.cloud.configure('agent', enabled_drivers=['acme_driver'])
        self.cloud.start_agent()
        provider = self.cloud.placement.providers()['compute-1_acme_b2']
        arq = self.cloud.bind_provider(provider, 'PGPU')
        shown = self.cloud.arq(arq)
        self.assertEqual('Bound', shown['state'])
        # Nothing said about it means the defaults, at this version.
        self.assertEqual({'domain': '0000', 'bus': 'b2', 'device': '00',
                          'function': '1', 'managed': True,
                          'stateful': False, 'numa_node': None},
                         shown['attach_handle_info'])

    def test_beside_one_of_ours(self):
        self.cloud.plug('0000:25:00.1')
        self.cloud.configure('agent', enabled_drivers=[
            'pci_driver', 'acme_hooks_driver'])
        self.cloud.start_agent()
        self.assertEqual(
            ['25b6', 'Acme AX-2', 'Acme AX-2'],
            [device.model for device in self.cloud.stored().devices])

    def test_one_failing_driver_stops_the_whole_report(self):
        """MIS-7: the log says which."""
        self.cloud.plug('0000:25:00.1')
        self.cloud.configure('agent', enabled_drivers=[
            'pci_driver', 'acme_hooks_driver'])
        self.cloud.start_agent()
        before = self.cloud.stored()
        self.cloud.unplug('0000:25:00.1')
        self.cloud.agent.tracker.drivers[1].driver.ready = False
        self.cloud.report()
        self.assertEqual(before, self.cloud.stored())
        self.assertTrue(self.cloud.said(
            'ERROR', 'Driver acme_hooks_driver', 'init_host comes first'))

    def test_handles_of_another_driver_reconcile_alike(self):
        """REC-4: managed mode is the handle's, whichever driver made it."""
        self.cloud.configure('agent', enabled_drivers=['acme_driver'])
        self.cloud.start_agent()
        card = self.cloud.agent.tracker.drivers[0].driver
        found = card.discover()
        for device in found:
            for handle in device.deployable_list[0].attach_handle_list:
                handle.attach_info = json.dumps(dict(
                    json.loads(handle.attach_info), managed=False,
                    stateful=True))
        card.discover = lambda: found
        self.cloud.report()
        for handle in self.cloud.handles().values():
            info = json.loads(handle.attach_info)
            self.assertEqual((False, True),
                             (info['managed'], info['stateful']))

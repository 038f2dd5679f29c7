# SPDX-License-Identifier: Apache-2.0
"""What the developers' guide shows and says of drivers is so."""

from importlib import metadata
import json
import re

from cyborg import objects
from cyborg.accelerator.drivers.ssd.inspur import driver as inspur
from cyborg.agent import loading
from cyborg.common import exception
from cyborg.inventory import attach_info
from cyborg.inventory import plan as planner
from cyborg.inventory import values
from cyborg.tests import base
from cyborg.tests.fixtures import pages

PAGE = 'contributor/drivers.rst'
ADDRESS = {'domain': '0000', 'bus': '3b', 'device': '00', 'function': '0'}


class GuideTest(base.TestCase):

    def names(self, number: int) -> dict:
        """What the example of that number defines."""
        block = pages.blocks(PAGE, language='python')[number]
        names = {}
        exec(compile(block.text, block.where, 'exec'), names)
        return names

    def text(self) -> str:
        pages.blocks(PAGE)  # or skip
        return (pages.SOURCE / PAGE).read_text()

    def test_example_discovers_one_device(self):
        objects.register_all()
        names = self.names(0)
        device, = names['AcmeDriver']().discover()
        data = device.obj_to_primitive()['cyborg_object.data']
        self.assertEqual('PCI', data['type'])
        deployable, = data['deployable_list']
        deployable = deployable['cyborg_object.data']
        self.assertEqual('compute-1_0000:3b:00.0', deployable['name'])
        handle, = deployable['attach_handle_list']
        self.assertEqual(
            '{"bus": "3b", "device": "00", "domain": "0000", '
            '"function": "0"}', handle['cyborg_object.data']['attach_info'])

    def test_example_that_asks_for_managed_mode(self):
        """RPC-1"""
        require = self.names(1)['require_managed_mode']
        for cap in (None, '1.1'):
            self.conf.set('upgrade_levels', conductor=cap)
            require()
        self.conf.set('upgrade_levels', conductor='2026.2')
        error = self.assertRaises(exception.ManagedModeUnsupported, require)
        self.assertIn('caps it at 2026.2', error.message)

    # Attach information

    def keys(self) -> list[str]:
        """First column of the table of keys."""
        section = self.text().partition('Attach information\n===')[2]
        table = section.partition('The last three describe')[0]
        return [key for row in re.findall(r'\* - (``.*``)\n', table)
                for key in re.findall('``([a-z_]+)``', row)]

    def test_every_key_is_told_of(self):
        """DSC-7, DSC-9"""
        self.assertEqual([*ADDRESS, 'asked_type', 'vgpu_mark',
                          *attach_info.METADATA], self.keys())
        self.assertIn('at most %d characters' % attach_info.MAX_LENGTH,
                      self.text())

    def test_types_are_not_converted(self):
        """A handle that is no PCI handle is left out, with the reason."""
        for key, value in (('managed', 'true'), ('stateful', 1),
                           ('numa_node', -2), ('numa_node', '0')):
            text = attach_info.dump({**ADDRESS, key: value})
            device = values.DiscoveredDevice(
                'PCI', attach_info.dump(ADDRESS), 'PCI', 'acde', '0001',
                deployables=(values.DiscoveredDeployable(
                    'n', 1, handles=(values.DiscoveredHandle(
                        'MDEV', text),)),))
            plan = planner.plan([device], values.PersistedHost('compute-1'))
            self.assertEqual((), plan.new_devices)
            fault, = plan.faults
            self.assertIn('"%s" is %s' % (key, json.dumps(value)),
                          fault.reason)

    # Support

    def test_every_driver_has_its_support_level(self):
        """DSC-9"""
        table = self.text().partition('Support of the drivers here')[2]
        named = re.findall(r'\* - ``(\w+)``\n', table)
        shipped = {point.name for point in metadata.entry_points(
            group=loading.NAMESPACE) if point.value.startswith('cyborg.')}
        self.assertEqual(shipped, set(named))

    def test_deprecation_of_the_ssd_driver(self):
        """DSC-9"""
        self.conf.set('workarounds', allow_unsafe_devices=True)
        inspur.InspurNVMeSSDDriver()
        self.assertEqual(
            pages.messages(PAGE)['ssd-deprecated'],
            pages.normal(self.logs.messages('WARNING', 'cyborg')[-1]))

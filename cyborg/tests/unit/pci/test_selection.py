# SPDX-License-Identifier: Apache-2.0

from unittest import mock

from cyborg.pci import address
from cyborg.pci import device_spec
from cyborg.pci import exclusions
from cyborg.pci import families
from cyborg.pci import selection
from cyborg.pci import sysfs
from cyborg.tests import base

A = address.PciAddress.parse
GPU, NVME, BRIDGE = 0x030200, 0x010802, 0x060400


def device(where='0000:3b:00.0', vendor='10de', product='1eb8', code=GPU,
           **facts):
    physfn = facts.pop('physfn', None)
    return sysfs.PciDevice(A(where), vendor, product, code,
                           physfn=A(physfn) if physfn else None, **facts)


def select(devices, specs, exclude=(), allow_unsafe=False, uses=None,
           held=None):
    verdicts = selection.select(
        devices, device_spec.load(specs).rules, exclusions.load(exclude),
        allow_unsafe, uses, held)
    return {str(v.device.address): v for v in verdicts}


class OutcomeTest(base.TestCase):

    def outcome(self, *args, **kwargs):
        verdict, = select(*args, **kwargs).values()
        return str(verdict.outcome), verdict.decided_by

    def test_nothing_selected(self):
        self.assertEqual(('not-selected', None), self.outcome([device()], []))
        self.assertEqual(('not-selected', None), self.outcome(
            [device(code=NVME)], ['{"vendor_id": "8086"}']))

    def test_selected(self):
        self.assertEqual(
            ('offered', 'device_spec entry 2: {"vendor_id": "10de"}'),
            self.outcome([device()], ['{"vendor_id": "8086"}',
                                      '{"vendor_id": "10de"}', '{}']))

    def test_exclusion_beats_inclusion_whatever_the_order(self):
        """DSC-3"""
        for specs in (['{}'], ['{"address": "0000:3b:00.0"}', '{}']):
            self.assertEqual(
                ('excluded', 'exclude_list: 0000:3b:00.0'),
                self.outcome([device()], specs, ['0000:3B:00.0']))

    def test_exclusion_alone_includes_nothing(self):
        """DSC-3"""
        found = select([device(), device('0000:3c:00.0')], [],
                       ['0000:3b:00.0'])
        self.assertEqual({'not-selected'},
                         {str(v.outcome) for v in found.values()})

    def test_class_check_comes_last(self):
        """DSC-2, DSC-4"""
        nvme = [device(code=NVME)]
        self.assertEqual(
            ('class-refused', 'class 0108: Non-Volatile memory controller'),
            self.outcome(nvme, ['{}']))
        self.assertEqual('excluded', self.outcome(
            nvme, ['{}'], ['0000:3b:00.0'])[0])
        self.assertEqual('not-selected', self.outcome(nvme, [])[0])

    def test_the_class_counts_whatever_the_driver(self):
        """DSC-4: a guest that had it by VFIO left its data there, too."""
        for facts in ({'driver': 'vfio-pci', 'vfio': True},
                      {'driver': None}, {'physfn': '0000:3b:00.7'}):
            self.assertEqual('class-refused', self.outcome(
                [device(code=NVME, **facts)], ['{"managed": false}'])[0])

    def test_workaround_lifts_the_class_check_and_nothing_else(self):
        """DSC-5, DSC-7"""
        nvme = [device(code=NVME)]
        verdict, = select(nvme, ['{}'], allow_unsafe=True).values()
        self.assertEqual((True, True, True), (
            verdict.offered, verdict.unsafe, verdict.stateful))
        self.assertEqual('excluded', self.outcome(
            nvme, ['{}'], ['0000:3b:00.0'], True)[0])
        self.assertEqual('not-selected', self.outcome(
            nvme, ['{"vendor_id": "8086"}'], (), True)[0])
        verdict, = select([device()], ['{}'], allow_unsafe=True).values()
        self.assertEqual((False, False), (verdict.unsafe, verdict.stateful))

    def test_domain_above_16_bits(self):
        """DSC-8: whatever selects it, and no class error follows."""
        vmd = [device('10000:e1:00.0', code=NVME)]
        for specs in (['{}'], []):
            self.assertEqual(('not-addressable', 'PCI domain above ffff'),
                             self.outcome(vmd, specs))
        self.assertEqual('excluded', self.outcome(
            vmd, ['{}'], ['10000:e1:00.0'])[0])


class SriovTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.devices = [
            device('0000:06:00.0', product='1234', totalvfs=8,
                   net_names=('eth0',), virtfns=(A('0000:06:00.1'),)),
            device('0000:06:00.1', product='1234', physfn='0000:06:00.0'),
            device('0000:07:00.1', product='1234', physfn='0000:07:00.0')]

    def outcomes(self, specs, exclude=()):
        return [str(v.outcome) for v in
                select(self.devices, specs, exclude).values()]

    def test_a_pf_address_selects_the_pf_alone(self):
        """CFG-2: as in 2026.2, whose service knew no VF's parent."""
        for rule in ('{"address": "0000:06:00.0"}', '{"devname": "eth0"}',
                     '{"address": {"domain": "0000", "bus": "06", "slot": '
                     '"00", "function": "0"}}'):
            self.assertEqual(['offered', 'not-selected', 'not-selected'],
                             self.outcomes([rule]), rule)

    def test_rules_for_vfs(self):
        """CFG-2: by what is their own."""
        self.assertEqual(
            ['not-selected', 'offered', 'not-selected'],
            self.outcomes(['{"address": "0000:06:00.1"}']))
        self.assertEqual(
            ['not-selected', 'offered', 'offered'],
            self.outcomes(['{"product_id": "1234", '
                           '"address": {"function": "[1-7]"}}']))

    def test_excluding_the_pf_leaves_its_vfs(self):
        """DSC-3: the specification's example with shared ids."""
        self.assertEqual(
            ['excluded', 'offered', 'offered'],
            self.outcomes(['{"vendor_id": "10de", "product_id": "1234", '
                           '"managed": false}'],
                          ['0000:06:00.0', '0000:07:00.0']))
        self.assertEqual(
            ['excluded', 'not-selected', 'not-selected'],
            self.outcomes(['{"address": "0000:06:00.0"}'], ['0000:06:00.0']))

    def test_unused_exclusions(self):
        exclude = exclusions.load(['0000:06:00.0', '0000:07:00.0'])
        self.assertEqual([A('0000:07:00.0')], selection.unused_exclusions(
            self.devices, exclude))


class ManagedTest(base.TestCase):

    def verdict(self, *specs):
        verdict, = select([device(vfio=True)], specs).values()
        return verdict

    def test_values(self):
        for spec, managed, effective in (
                ('{}', None, True), ('{"managed": true}', True, True),
                ('{"managed": "False"}', False, False)):
            verdict = self.verdict(spec)
            self.assertEqual((managed, effective), (
                verdict.managed, verdict.effective_managed))

    def test_the_first_match_decides_and_a_contradiction_is_told(self):
        verdict = self.verdict('{"vendor_id": "8086", "managed": true}',
                               '{"managed": false}',
                               '{"vendor_id": "10de", "managed": true}')
        self.assertFalse(verdict.managed)
        self.assertEqual(
            ('managed=false of device_spec entry 2 decides, although '
             'device_spec entry 3 also matches and sets managed=true',),
            verdict.advice)

    def test_an_omitted_managed_decides_too(self):
        self.assertEqual(
            ('managed=true of device_spec entry 1 decides, although '
             'device_spec entry 2 also matches and sets managed=false',),
            self.verdict('{}', '{"managed": false}').advice)

    def test_no_contradiction(self):
        for specs in (['{"managed": false}', '{}'],
                      ['{}', '{"managed": "true"}'],
                      ['{"managed": false}', '{"managed": "false"}']):
            self.assertEqual((), self.verdict(*specs).advice)


class AdviceTest(base.TestCase):
    """Each is advice: the device stays offered."""

    def advice(self, devices, specs=('{}',), exclude=(), **kwargs):
        found = select(devices, specs, exclude, **kwargs)
        verdict = found[str(devices[0].address)]
        self.assertTrue(verdict.offered)
        return list(verdict.advice)

    def test_managed_false_without_driver(self):
        self.assertEqual(
            ['managed=false leaves its binding as it is, but it is bound to '
             'no driver: a guest cannot start with it'],
            self.advice([device()], ['{"managed": false}']))

    def test_managed_false_with_a_host_driver(self):
        self.assertEqual(
            ['managed=false leaves its binding as it is, but its driver igb '
             'does not provide VFIO: a guest cannot start with it'],
            self.advice([device(driver='igb')], ['{"managed": false}']))

    def test_managed_false_with_vfio(self):
        self.assertEqual([], self.advice(
            [device(driver='mlx5_vfio_pci', vfio=True)],
            ['{"managed": false}']))

    def test_managed_true_needs_no_driver(self):
        self.assertEqual([], self.advice([device()]))

    def test_group_shared_with_a_device_that_is_not_offered(self):
        """B27: a GPU's audio function"""
        audio = device('0000:3b:00.1', code=0x040300, iommu_group='7')
        self.assertEqual(
            ['its IOMMU group 7 also holds 0000:3b:00.1, not offered: a guest '
             'starts only when no host driver uses any device of the group'],
            self.advice([device(iommu_group='7'), audio],
                        exclude=['0000:3b:00.1']))
        self.assertEqual([], self.advice([device(iommu_group='7'), audio]))

    def test_a_bridge_in_the_group_does_no_harm(self):
        bridge = device('0000:3a:00.0', code=BRIDGE, iommu_group='7')
        self.assertEqual([], self.advice(
            [device(iommu_group='7'), bridge], exclude=['0000:3a:00.0']))

    def test_a_crowded_group(self):
        others = [device('0000:3b:01.%d' % n, iommu_group='7')
                  for n in range(6)]
        text, = self.advice([device(iommu_group='7'), *others],
                            ['{"address": "0000:3b:00.0"}'])
        self.assertIn('also holds 0000:3b:01.0, 0000:3b:01.1, 0000:3b:01.2 '
                      'and 3 more, not offered', text)

    def test_the_names_of_a_group_are_collected_once(self):
        """Not once for each of its members: it may hold thousands."""
        devices = [device('%04x:00:00.0' % n, iommu_group='1')
                   for n in range(200)]
        devices.append(device('ffff:3b:00.0', '8086', iommu_group='1'))
        with mock.patch.object(families, 'few',
                               wraps=families.few) as few:
            found = select(devices, ['{"vendor_id": "10de"}'])
        few.assert_called_once_with(['ffff:3b:00.0'])
        self.assertEqual(200, len([v for v in found.values() if v.advice]))

    def test_no_iommu(self):
        self.assertEqual([], self.advice(
            [device(), device('0000:3c:00.0')], exclude=['0000:3c:00.0']))

    def test_a_pf_with_vfs(self):
        pf = device(totalvfs=4, virtfns=(A('0000:3b:00.1'),
                                         A('0000:3b:00.2')))
        self.assertEqual(
            ['it is a physical function with 2 virtual functions enabled: '
             'they vanish while a guest has it'], self.advice([pf]))
        self.assertEqual([], self.advice([device(totalvfs=4)]))

    def test_what_the_host_uses(self):
        uses = {A('0000:3b:00.0'): ('carries the default route of the host '
                                    '(eth0)',)}
        self.assertEqual(
            ['it carries the default route of the host (eth0)'],
            self.advice([device()], uses=uses))

    def test_none_for_what_is_not_offered(self):
        found = select([device()], ['{"managed": false}'], ['0000:3b:00.0'])
        self.assertEqual((), found['0000:3b:00.0'].advice)

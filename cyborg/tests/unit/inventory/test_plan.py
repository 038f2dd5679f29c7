# SPDX-License-Identifier: Apache-2.0
"""Tables for every consequence a report can have."""

import dataclasses
import json

import testtools

from cyborg.inventory import changes
from cyborg.inventory import plan
from cyborg.inventory import values
from cyborg.tests.unit.inventory import builders
from cyborg.tests.unit.inventory.builders import found
from cyborg.tests.unit.inventory.builders import host
from cyborg.tests.unit.inventory.builders import info
from cyborg.tests.unit.inventory.builders import stored

COMPACT = '{"domain":"0000","bus":"3b","device":"0","function":"0"}'


def nothing_but(result, **expected):
    """Names of the plan's lists that hold anything but what is expected."""
    return {field.name: getattr(result, field.name)
            for field in dataclasses.fields(result)
            if field.name not in ('hostname', 'discovered', 'present')
            and getattr(result, field.name) != expected.get(field.name, ())}


class SameDevice(testtools.TestCase):
    """REC-1, REC-2: what leaves every row as it is."""

    def test_unchanged(self):
        for name, text, now in (
                ('identical', None, found()),
                ('another form of the address', COMPACT, found()),
                ('upper case', info('0000:3B:00.0'), found()),
                ('absent and true', None, found(managed=True)),
                ('true and absent', info(managed=True), found()),
                ('stateful false and absent', info(stateful=False), found()),
                ('numa null and absent', info(numa_node=None), found()),
                ('false both', info(managed=False), found(managed=False))):
            for in_use in (False, True):
                row = stored(found(), text=text, in_use=in_use)
                result = plan.plan([now], host(row))
                self.assertEqual({}, nothing_but(result), name)
                self.assertEqual(1, len(result.present), name)
                self.assertEqual(1, result.discovered, name)

    def test_control_path_in_another_form(self):
        row = builders.with_path(
            stored(found(), in_use=True),
            '{"domain":"0","bus":"3B","device":"00","function":"0"}')
        self.assertEqual({}, nothing_but(plan.plan([found()], host(row))))

    def test_same_address_with_other_attach_type(self):
        """The type of a free handle follows, that of a used one waits."""
        now = found(attach_type='TEST_PCI')
        row = stored(found())
        result = plan.plan([now], host(row))
        self.assertEqual('TEST_PCI', result.handle_updates[0].attach_type)
        used = plan.plan([now], host(stored(found(), in_use=True)))
        self.assertEqual((), used.handle_updates)
        self.assertEqual(1, len(used.deferred))


class Managed(testtools.TestCase):
    """REC-3, REC-4, REC-6: the mode of free and allocated handles."""

    def test_free_handle_changes(self):
        for name, text, now, old, new, wanted in (
                ('absent to false', info(), found(managed=False),
                 True, False, info(managed=False)),
                ('true to false', info(managed=True), found(managed=False),
                 True, False, info(managed=False)),
                ('false to absent', info(managed=False), found(),
                 False, True, info()),
                ('false to true', info(managed=False), found(managed=True),
                 False, True, info(managed=True)),
                ('with a node', info(), found(managed=False, numa_node=0),
                 True, False, info(managed=False, numa_node=0))):
            result = plan.plan([now], host(stored(found(), text=text)))
            self.assertEqual((), result.refused, name)
            change, = result.managed_changes
            self.assertEqual((old, new, wanted),
                             (change.old, change.new, change.attach_info),
                             name)

    def test_allocated_handle_is_refused(self):
        for name, marks in (('in use', {'in_use': True}),
                            ('referenced only', {'arqs': ('arq-1',)}),
                            ('both', {'in_use': True, 'arqs': ('arq-1',)})):
            row = stored(found(), **marks)
            result = plan.plan([found(managed=False)], host(row))
            self.assertEqual((), result.managed_changes, name)
            refusal, = result.refused
            self.assertEqual(
                ('compute-1', '0000:3b:00.0', True, False),
                (refusal.hostname, refusal.address, refusal.old,
                 refusal.new), name)

    def test_no_mode_travels_with_other_settings(self):
        """REC-6, REC-9: an update that anybody may do keeps the mode."""
        for in_use in (False, True):
            row = stored(found(managed=False), in_use=in_use)
            now = found(managed=True, numa_node=1, stateful=True)
            result = plan.plan([now], host(row))
            update, = result.handle_updates
            self.assertEqual(
                info(managed=False, numa_node=1, stateful=True),
                update.attach_info)

    def test_settings_of_an_allocated_handle_are_refreshed(self):
        row = stored(found(numa_node=0), in_use=True)
        result = plan.plan([found(numa_node=1)], host(row))
        update, = result.handle_updates
        self.assertEqual(info(numa_node=1), update.attach_info)
        self.assertEqual((), result.refused)

    def test_unknown_node_is_forgotten(self):
        row = stored(found(numa_node=0))
        update, = plan.plan([found()], host(row)).handle_updates
        self.assertEqual(info(), update.attach_info)

    def test_other_information_waits_for_the_allocation_to_end(self):
        """REC-10"""
        now = found(physical_network='b')
        free = plan.plan([now], host(stored(found(physical_network='a'))))
        self.assertEqual(info(physical_network='b'),
                         free.handle_updates[0].attach_info)
        used = plan.plan([now], host(stored(found(physical_network='a'),
                                            in_use=True)))
        self.assertEqual((), used.handle_updates)
        self.assertEqual(1, len(used.deferred))
        self.assertEqual(set(), set(nothing_but(used)) - {'deferred'})


class Missing(testtools.TestCase):
    """MIS-1 to MIS-6"""

    def test_device_gone(self):
        free = stored(found())
        result = plan.plan([], host(free))
        self.assertEqual((free,), result.removed_devices)
        for marks in ({'in_use': True}, {'arqs': ('arq-1',)}):
            used = stored(found(), **marks)
            result = plan.plan([], host(used))
            self.assertEqual((), result.removed_devices)
            kept, = result.retained
            self.assertTrue(kept.whole)
            self.assertEqual(used.deployables[0].handles, kept.handles)
            self.assertEqual({'retained'}, set(nothing_but(result)))

    def test_back_again(self):
        """MIS-3"""
        used = stored(found(), in_use=True)
        result = plan.plan([found()], host(used),
                           held=[used.deployables[0].uuid])
        self.assertEqual({'returned': used.deployables},
                         nothing_but(result))

    def test_another_device_at_the_address(self):
        """MIS-6, B23"""
        used = stored(found(), in_use=True)
        other = found(vendor='15b3', product='1017')
        result = plan.plan([other], host(used))
        kept, = result.retained
        self.assertEqual('15b3:1017', kept.replaced_by)
        self.assertEqual({'retained'}, set(nothing_but(result)))
        free = plan.plan([other], host(stored(found())))
        self.assertEqual((), free.retained)
        self.assertEqual(
            {('vendor', '15b3'), ('model', '1017')},
            {pair for pair in free.device_changes[0].columns
             if pair[0] in ('vendor', 'model')})

    def test_other_name_of_the_same_product(self):
        """An SSD's model is a name and follows the host's list of names."""
        used = stored(found(), in_use=True)
        renamed = dataclasses.replace(found(), model='Fast Disk 3000')
        result = plan.plan([renamed], host(used))
        self.assertEqual((), result.retained)
        self.assertEqual((('model', 'Fast Disk 3000'),),
                         result.device_changes[0].columns)

    def test_some_handles_gone(self):
        handles = [values.DiscoveredHandle('TEST_PCI', info('0000:0c:0%d.0'
                                                            % n))
                   for n in range(4)]
        whole = builders.with_handles(found('0000:0c:00.0'), *handles)
        row = stored(whole)
        rows = list(row.deployables[0].handles)
        rows[3] = dataclasses.replace(rows[3], in_use=True)
        row = dataclasses.replace(row, deployables=(dataclasses.replace(
            row.deployables[0], handles=tuple(rows)),))
        less = builders.with_handles(found('0000:0c:00.0'), *handles[:2])
        result = plan.plan([less], host(row))
        self.assertEqual([rows[2]],
                         [r.handle for r in result.removed_handles])
        kept, = result.retained
        self.assertFalse(kept.whole)
        self.assertEqual((rows[3],), kept.handles)
        self.assertEqual(2, result.deployable_changes[0].num_accelerators)

    def test_deployable_referenced_without_a_handle(self):
        row = stored(found())
        row = dataclasses.replace(row, deployables=(dataclasses.replace(
            row.deployables[0], arq_uuids=('arq-1',)),))
        self.assertEqual({'retained'}, set(nothing_but(
            plan.plan([], host(row)))))

    def test_free_twin_of_an_allocated_row_leaves(self):
        first, second = stored(found()), stored(found(), 2, in_use=True)
        result = plan.plan([found()], host(first, second))
        self.assertEqual({'removed_devices': (first,)}, nothing_but(result))

    def test_younger_of_two_free_twins_leaves(self):
        older, younger = stored(found()), stored(found(), 2)
        for rows in ((older, younger), (younger, older)):
            result = plan.plan([found()], host(*rows))
            self.assertEqual({'removed_devices': (younger,)},
                             nothing_but(result))


class New(testtools.TestCase):

    def test_new_device(self):
        result = plan.plan([found()], host())
        self.assertEqual({'new_devices': (found(),)}, nothing_but(result))

    def test_listed_twice(self):
        """B39"""
        result = plan.plan([found(), found(managed=False)], host())
        self.assertEqual((found(),), result.new_devices)
        fault, = result.faults
        self.assertEqual('0000:3b:00.0', fault.label)
        self.assertIn('more than once', fault.reason)

    def test_ids_with_and_without_prefix_are_one_device(self):
        """MIS-6: another driver takes over the same card."""
        row = stored(found(vendor='0x8086', product='0x37c8'), in_use=True)
        result = plan.plan([found(vendor='8086', product='37c8')], host(row))
        self.assertEqual((), result.retained)
        self.assertEqual(1, len(result.device_changes))

    def test_new_deployable_handle_and_attribute(self):
        row = stored(found())
        now = found(attributes=(('rc', 'Y'), ('trait0', 'OWNER_CYBORG')))
        more = values.DiscoveredDeployable('extra', 1)
        now = dataclasses.replace(now, deployables=now.deployables + (more,))
        result = plan.plan([now], host(row))
        self.assertEqual(more, result.new_deployables[0].deployable)
        change, = result.attribute_changes
        self.assertEqual((('trait0', 'OWNER_CYBORG'),), change.added)
        self.assertEqual('Y', change.changed[0][1])

    def test_attribute_gone(self):
        row = stored(found())
        result = plan.plan([found(attributes=())], host(row))
        self.assertEqual(row.deployables[0].attributes,
                         result.attribute_changes[0].removed)

    def test_stub_is_left_alone(self):
        stub = dataclasses.replace(found(), stub=True, vendor='ffff')
        self.assertEqual({}, nothing_but(plan.plan([stub], host())))
        for in_use in (False, True):
            row = stored(found(), in_use=in_use)
            self.assertEqual({}, nothing_but(plan.plan([stub], host(row))))


class Damage(testtools.TestCase):
    """Texts that can't be understood free nothing and double nothing."""

    def test_discovered(self):
        for text, reason in (
                ('junk', 'not JSON in junk'),
                ('{}', 'no text under "domain" in {}'),
                (info(managed='yes'), '"managed" is "yes" and must be true '
                 'or false in ' + info(managed='yes')),
                (info(numa_node=-1), '"numa_node" is -1 and must be an '
                 'integer from 0 or null in ' + info(numa_node=-1)),
                (info(numa_node=True), '"numa_node" is true and must be an '
                 'integer from 0 or null in ' + info(numa_node=True)),
                ('{"domain": "0000", "bus": "3b", "device": "20", '
                 '"function": "0"}', '"20" under "device" is no hexadecimal '
                 'number up to 1f in {"domain": "0000", "bus": "3b", '
                 '"device": "20", "function": "0"}')):
            good = found('0000:3c:00.0')
            result = plan.plan([found(text=text), good], host())
            self.assertEqual((good,), result.new_devices)
            self.assertEqual((changes.Fault('0000:3b:00.0', reason),),
                             result.faults)

    def test_too_long_for_the_database(self):
        result = plan.plan([found(note='x' * 250)], host())
        self.assertEqual((), result.new_devices)
        self.assertIn('longer than the 255', result.faults[0].reason)

    def test_a_fault_of_an_allocated_device_is_no_absence(self):
        """MIS-7: it is there, so nothing of it changes."""
        for odd in (dataclasses.replace(found(), model='\udce9'),
                    dataclasses.replace(found(), vendor_board_info='\0'),
                    found(note='x' * 250)):
            result = plan.plan([odd], host(stored(found(), in_use=True)))
            self.assertEqual({'faults'}, set(nothing_but(result)))
            result.faults[0].reason.encode()
            result = plan.plan([odd], host(stored(found())))
            # A free one goes where it cannot be told how to attach it.
            self.assertEqual(
                {'faults', 'removed_devices'} if odd.model == found().model
                and odd.vendor_board_info == found().vendor_board_info
                else {'faults'}, set(nothing_but(result)))

    def test_a_free_device_that_became_another_in_texts_no_row_keeps(self):
        """What a guest would get is not what is stored: it is not offered."""
        bad = {'vendor_board_info': '\0'}
        for odd in (dataclasses.replace(found(product='1111'), **bad),
                    dataclasses.replace(found(vendor='8086'), **bad),
                    dataclasses.replace(found(managed=False), **bad)):
            row = stored(found())
            result = plan.plan([odd], host(row))
            self.assertEqual((row,), result.removed_devices)
            self.assertEqual({'faults', 'removed_devices'},
                             set(nothing_but(result)))
            row = stored(found(), in_use=True)
            self.assertEqual({'faults'}, set(nothing_but(
                plan.plan([odd], host(row)))))

    def test_a_stored_pf_in_texts_no_row_keeps_gives_way_to_its_vfs(self):
        """ID-3: as any other; it was offered beside them."""
        pf = found('0000:3b:00.0')
        vf = found('0000:3b:00.1', product='1111')
        vf = dataclasses.replace(vf, std_board_info=json.dumps({
            'product_id': '1111', 'controller': None,
            'physfn': '0000:3b:00.0'}))
        odd = dataclasses.replace(pf, vendor_board_info='\0')
        row = stored(pf)
        result = plan.plan([odd, vf], host(row))
        self.assertEqual(((row,), (vf,)),
                         (result.removed_devices, result.new_devices))
        row = stored(pf, in_use=True)
        result = plan.plan([odd, vf], host(row))
        self.assertEqual({'faults'}, set(nothing_but(result)))
        self.assertEqual({'0000:3b:00.0', '0000:3b:00.1'},
                         {each.label for each in result.faults})

    def test_stored_settings(self):
        """REC-7: named, and neither deleted nor joined by a twin."""
        for text in (info(managed='false'), info(stateful=1), 'junk',
                     '{"domain": "0000"}'):
            for in_use in (False, True):
                row = stored(found(), text=text, in_use=in_use)
                result = plan.plan([found()], host(row))
                self.assertEqual({'damaged'}, set(nothing_but(result)))
                self.assertEqual(row.deployables[0].handles[0],
                                 result.damaged[0].handle)

    def test_stored_control_path(self):
        used = builders.with_path(stored(found(), in_use=True), 'junk')
        result = plan.plan([found()], host(used))
        self.assertEqual({'retained', 'faults'}, set(nothing_but(result)))
        free = builders.with_path(stored(found()), 'junk')
        result = plan.plan([found()], host(free))
        self.assertEqual((free,), result.removed_devices)
        self.assertEqual((found(),), result.new_devices)

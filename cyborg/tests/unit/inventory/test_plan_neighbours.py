# SPDX-License-Identifier: Apache-2.0
"""Plans of hosts where one thing is odd: the others are planned as ever.

And of two rows for one thing: which of them has it.
"""

import dataclasses

from cyborg.inventory import attach_info
from cyborg.inventory import changes
from cyborg.inventory import plan
from cyborg.inventory import relatives
from cyborg.inventory import values
from cyborg.tests import base
from cyborg.tests.unit.inventory.builders import found
from cyborg.tests.unit.inventory.builders import host
from cyborg.tests.unit.inventory.builders import info
from cyborg.tests.unit.inventory.builders import stored
from cyborg.tests.unit.inventory.builders import with_handles
from cyborg.tests.unit.inventory.builders import with_path

ONE, TWO, THREE = '0000:3b:00.0', '0000:3c:00.0', '0000:3d:00.0'


def handle(address, attach_type='PCI', **settings):
    return values.DiscoveredHandle(attach_type, info(address, **settings))


def with_rows(device, *handles):
    """A stored device whose only deployable has these handle rows."""
    deployable = dataclasses.replace(device.deployables[0],
                                     handles=tuple(handles))
    return dataclasses.replace(device, deployables=(deployable,))


def row(number, text, in_use=False, attach_type='PCI'):
    return values.PersistedHandle(number, 'handle-%d' % number, 1, 1,
                                  attach_type, text, in_use)


class OtherHardwareTest(base.TestCase):
    """MIS-6: what a change of columns makes of a device."""

    def test_each_id_counts_in_either_direction(self):
        board = '{"product_id": "%s", "controller": null}'
        device = stored(found(vendor='10de', product='1eb8'))
        for columns, expected in (
                ({}, False),
                ({'device_state': 'x'}, False),
                ({'vendor': '10DE'}, False), ({'vendor': '0x10de'}, False),
                ({'vendor': '8086'}, True), ({'vendor': '0eff'}, True),
                ({'std_board_info': board % '1EB8'}, False),
                ({'std_board_info': board % '1eb9'}, True),
                ({'std_board_info': board % '1eb7'}, True),
                # Nothing left to tell it by but the model.
                ({'std_board_info': 'no json', 'model': '1eb8'}, False),
                ({'std_board_info': None, 'model': '1eb9'}, True),
                # A board tells more than a model, which has other names.
                ({'model': 'Tesla T4'}, False)):
            change = changes.DeviceChange(device, tuple(columns.items()))
            self.assertEqual(expected, plan.is_other_hardware(change),
                             columns)

    def test_by_model_where_no_board_tells(self):
        device = dataclasses.replace(stored(found(product='1eb8')),
                                     std_board_info=None)
        for model, expected in (('1eb8', False), ('1eb9', True),
                                ('1eb7', True)):
            self.assertEqual(expected, plan.is_other_hardware(
                changes.DeviceChange(device, (('model', model),))), model)


class CountTest(base.TestCase):

    def test_more_or_fewer_accelerators(self):
        now = found()
        for before, after in ((1, 3), (3, 1)):
            device = stored(dataclasses.replace(now, deployables=(
                dataclasses.replace(now.deployables[0],
                                    num_accelerators=before),)))
            deployable = dataclasses.replace(now.deployables[0],
                                             num_accelerators=after)
            made = plan.plan([dataclasses.replace(
                now, deployables=(deployable,))], host(device))
            self.assertEqual([after], [
                change.num_accelerators
                for change in made.deployable_changes])


class HandleTest(base.TestCase):

    def test_type_of_a_handle_in_both_directions(self):
        """A free one takes it, an allocated one waits for its end."""
        for before, after in (('PCI', 'TEST_PCI'), ('TEST_PCI', 'PCI')):
            device, now = (found(attach_type=each)
                           for each in (before, after))
            free = plan.plan([now], host(stored(device)))
            self.assertEqual([after], [
                update.attach_type for update in free.handle_updates])
            self.assertEqual((), free.deferred)
            used = plan.plan([now], host(stored(device, in_use=True)))
            self.assertEqual((), used.handle_updates)
            self.assertEqual([after], [
                update.attach_type for update in used.deferred])

    def test_longest_text(self):
        """The column's length is a text that fits."""
        for more, faults in ((0, 0), (1, 1)):
            text = info(ONE, x='')
            text = info(ONE, x='y' * (
                attach_info.MAX_LENGTH - len(text) + more))
            self.assertEqual(faults, len(plan.plan(
                [found(ONE, text)], host()).faults), more)

    def test_refused_mode_leaves_other_information(self):
        """REC-3: what would be stored changes the mode, and no more."""
        before, now = info(ONE, a=1), found(ONE, managed=False, a=2)
        free = plan.plan([now], host(stored(found(ONE), text=before)))
        self.assertEqual([info(ONE, managed=False, a=2)], [
            change.attach_info for change in free.managed_changes])
        used = plan.plan([now], host(stored(found(ONE), text=before,
                                            in_use=True)))
        self.assertEqual([info(ONE, managed=False, a=1)], [
            change.attach_info for change in used.refused])

    def test_of_two_rows_the_allocated_one_has_the_function(self):
        """ID-1: whichever is older."""
        for first in (True, False):
            rows = [row(10, info(ONE), in_use=not first),
                    row(20, info(ONE), in_use=first)]
            made = plan.plan([found(ONE)], host(
                with_rows(stored(found(ONE)), *rows)))
            self.assertEqual([10 if first else 20], [
                each.handle.id for each in made.removed_handles])
            self.assertEqual((), made.retained)

    def test_of_two_free_rows_the_older(self):
        rows = [row(20, info(ONE)), row(10, info(ONE))]
        made = plan.plan([found(ONE)], host(
            with_rows(stored(found(ONE)), *rows)))
        self.assertEqual([20], [each.handle.id
                                for each in made.removed_handles])

    def test_new_ones_come_in_their_order(self):
        now = with_handles(found(ONE), *map(handle, (THREE, ONE, TWO)))
        made = plan.plan([now], host(stored(found(ONE))))
        self.assertEqual([handle(THREE), handle(TWO)], [
            each.handle for each in made.new_handles])

    def test_a_damaged_row_hides_no_other(self):
        """Its address is readable or not; the next row is compared."""
        now = with_handles(found(ONE), handle(ONE), handle(TWO))
        damaged = info(ONE, managed='perhaps')
        for text in (damaged, '{"bus"'):
            made = plan.plan([now], host(with_rows(
                stored(found(ONE)), row(10, text),
                row(20, info(THREE)))))
            self.assertEqual([10], [each.handle.id for each in made.damaged])
            self.assertEqual([20], [each.handle.id
                                    for each in made.removed_handles])
            # The unreadable row may be one of the two.
            self.assertEqual([handle(TWO)] if text == damaged else [], [
                each.handle for each in made.new_handles])


class DeployableTest(base.TestCase):

    def two_rows(self, *in_use):
        device = stored(found(ONE))
        rows = tuple(dataclasses.replace(
            device.deployables[0], id=number, uuid='deployable-%d' % number,
            handles=(row(number * 10, info(ONE), in_use=used),))
            for number, used in enumerate(in_use, 1))
        return dataclasses.replace(device, deployables=rows)

    def test_of_two_rows_of_one_name(self):
        """The allocated one stays, else the older."""
        for in_use, gone in (((False, True), 1), ((True, False), 2),
                             ((False, False), 2)):
            made = plan.plan([found(ONE)], host(self.two_rows(*in_use)))
            self.assertEqual([gone], [
                each.deployable.id for each in made.removed_deployables])
            self.assertEqual((), made.retained)

    def test_new_ones_come_in_their_order(self):
        now = found(ONE)
        more = [values.DiscoveredDeployable(
            name, 1, None, (), (handle(address),))
            for name, address in (('b', THREE), ('a', TWO))]
        made = plan.plan([dataclasses.replace(
            now, deployables=(*more, *now.deployables))], host(stored(now)))
        self.assertEqual(['b', 'a'], [
            each.deployable.name for each in made.new_deployables])


class ParentTest(base.TestCase):
    """ID-3: an allocated VF's PF is remembered while the kernel hides it."""

    def test_only_of_an_allocated_one(self):
        plain = found(ONE)
        with_pf = dataclasses.replace(
            plain, std_board_info=relatives.with_parent_of(
                plain.std_board_info, '{"physfn": "%s"}' % TWO))
        self.assertEqual((), plan.plan([plain], host(
            stored(with_pf, in_use=True))).device_changes)
        self.assertEqual([(('std_board_info', plain.std_board_info),)], [
            change.columns for change in plan.plan(
                [plain], host(stored(with_pf))).device_changes])

    def test_pieces_of_one_card_that_two_guests_have(self):
        """As 2026.2 left them: told, for every card."""
        cards = []
        for number, (pf, vf) in enumerate(((ONE, TWO),
                                           (THREE, '0000:3e:00.0'))):
            cards.append(stored(found(pf), 2 * number + 1, in_use=True))
            device = found(vf)
            cards.append(stored(dataclasses.replace(
                device, std_board_info='{"physfn": "%s"}' % pf),
                2 * number + 2, in_use=True))
        self.assertEqual([(ONE, (TWO,)), (THREE, ('0000:3e:00.0',))], [
            (each.address, each.functions)
            for each in plan.plan([], host(*cards)).shared])


class NeighbourTest(base.TestCase):
    """What is said of one device ends nothing for those behind it."""

    def rows(self, **first):
        return [stored(found(address), number,
                       **(first if number == 1 else {}))
                for number, address in enumerate((ONE, TWO, THREE), 1)]

    def removed(self, *discovered, rows=None):
        return [device.id for device in plan.plan(
            discovered, host(*(rows or self.rows()))).removed_devices]

    def test_texts_no_row_keeps(self):
        odd = found(ONE, vendor='\ud800')
        self.assertEqual([2], self.removed(
            odd, found(THREE), rows=self.rows(in_use=True)))

    def test_stub(self):
        stub = dataclasses.replace(found(ONE), stub=True)
        self.assertEqual([2, 3], self.removed(stub))

    def test_reported_twice(self):
        made = plan.plan([found(ONE), found(ONE), found(TWO)], host())
        self.assertEqual([found(ONE), found(TWO)], list(made.new_devices))
        self.assertEqual(1, len(made.faults))
        self.assertEqual(ONE, made.faults[0].label)

    def test_a_free_row_in_texts_that_cannot_be_read(self):
        """It is not offered as what nobody can tell."""
        odd = found(ONE, vendor='\ud800')
        device = with_rows(stored(found(ONE)), row(10, '{"bus"'))
        self.assertEqual([1], self.removed(odd, rows=[device]))

    def test_no_meaning_at_all(self):
        """The text of the control path stands for its address."""
        odd = dataclasses.replace(found(ONE), cpid_info='{"bus"')
        fault, = plan.plan([odd, found(TWO)], host()).faults
        self.assertEqual('{"bus"', fault.label)

    def test_name_of_what_is_kept(self):
        """The first of several, of a row that matches nothing."""
        now = found(ONE)
        names = ('b', 'a')
        deployables = tuple(values.DiscoveredDeployable(
            name, 1, None, (), (handle(address),))
            for name, address in zip(names, (TWO, THREE)))
        now = dataclasses.replace(now, deployables=deployables)
        # The row's own handles are elsewhere.
        kept = stored(dataclasses.replace(now, deployables=tuple(
            dataclasses.replace(each, handles=(handle('0000:7%d:00.0' % n),))
            for n, each in enumerate(deployables))), in_use=True)
        made = plan.plan([now], host(with_path(kept, 'no json')))
        self.assertEqual(["an allocated device is kept under the name b"], [
            fault.reason for fault in made.faults])
        self.assertEqual((), made.new_devices)

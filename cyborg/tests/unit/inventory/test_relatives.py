# SPDX-License-Identifier: Apache-2.0
"""What must not be offered beside what is allocated (ID-1, ID-3)."""

import dataclasses
import json

from cyborg.inventory import relatives
from cyborg.inventory import values
from cyborg.pci import address as pci_address
from cyborg.tests import base
from cyborg.tests.unit.inventory.builders import found
from cyborg.tests.unit.inventory.builders import host
from cyborg.tests.unit.inventory.builders import info
from cyborg.tests.unit.inventory.builders import stored

PF, VF, VF2, OTHER = ('0000:3b:00.0', '0000:3b:02.0', '0000:3b:02.1',
                      '0000:5e:00.0')
BOARD = json.dumps({'product_id': '1572', 'physfn': PF})


def parse(text):
    return pci_address.PciAddress.parse(text)


def handle(address, attach_type='PCI', **settings):
    return values.DiscoveredHandle(attach_type, info(address, **settings))


def deployable(name, *handles):
    return values.DiscoveredDeployable(name, len(handles), None, (),
                                       tuple(handles))


def device(address, *deployables, board=None):
    made = found(address)
    return dataclasses.replace(
        made, std_board_info=board or made.std_board_info,
        deployables=deployables or made.deployables)


def vf(address, board=BOARD):
    return device(address, board=board)


def with_rows(row, *handles):
    """A stored device whose only deployable has these (address, in use)."""
    first = row.deployables[0].handles[0]
    return dataclasses.replace(row, deployables=(dataclasses.replace(
        row.deployables[0], handles=tuple(dataclasses.replace(
            first, id=number, attach_info=info(address), in_use=in_use)
            for number, (address, in_use) in enumerate(handles, 1))),))


class BoardTest(base.TestCase):
    """The PF in standard board information."""

    def test_parent(self):
        for board, expected in (
                (BOARD, PF), ('{"physfn": "%s"}' % VF, VF),
                (None, None), ('', None), ('{}', None),
                ('physfn', None), ('"physfn"', None), ('["physfn"]', None),
                ('{"physfn": null}', None), ('{"physfn": "x"}', None),
                ('{"x": "physfn"}', None), ('{"physfn": 3}', None)):
            self.assertEqual(expected and parse(expected),
                             relatives.parent(board), board)

    def test_with_parent_of(self):
        """What is known goes on being known; what is told now counts."""
        plain = '{"product_id": "1572"}'
        for board, stored_board, expected in (
                (plain, BOARD, BOARD), (None, BOARD, '{"physfn": "%s"}' % PF),
                (plain, plain, plain), (plain, None, plain),
                ('{"physfn": "%s"}' % VF, BOARD, '{"physfn": "%s"}' % VF),
                ('no json', BOARD, 'no json'), ('[1]', BOARD, '[1]')):
            self.assertEqual(expected, relatives.with_parent_of(
                board, stored_board), board)

    def test_without_parent(self):
        for board, expected in (
                (BOARD, '{"product_id": "1572"}'), (None, None),
                ('{"a":  1}', '{"a":  1}'), ('no json', 'no json')):
            self.assertEqual(expected, relatives.without_parent(board))


class FunctionsTest(base.TestCase):
    """What each handle of a deployable gives away."""

    def functions(self, *handles, cpid_type='PCI', path=info(PF), board=None):
        return [each and (str(each.address),
                          each.parent and str(each.parent), each.part)
                for each in relatives.functions(
                    handles, cpid_type, path, board)]

    def test_alone(self):
        self.assertEqual([(PF, None, False)],
                         self.functions(('PCI', info(PF))))

    def test_the_board_names_the_pf(self):
        self.assertEqual([(VF, PF, False)], self.functions(
            ('PCI', info(VF)), path=info(VF), board=BOARD))

    def test_the_control_path_is_the_pf(self):
        """Where the driver for Intel's cards has a deployable a VF."""
        self.assertEqual([(VF, PF, False), (VF2, PF, False)], self.functions(
            ('PCI', info(VF)), ('PCI', info(VF2))))

    def test_functions_handed_out_as_a_whole(self):
        self.assertEqual([(PF, None, False), (VF, None, False)],
                         self.functions(('PCI', info(PF)), ('PCI', info(VF))))
        self.assertEqual(
            [(PF, None, False), (VF, None, False)], self.functions(
                ('PCI', info(PF)), ('PCI', info(VF)), path=info(OTHER),
                board=BOARD))

    def test_a_part_of_a_function(self):
        """Its control path is the function itself, which is no PF of it."""
        self.assertEqual([(VF, None, True)], self.functions(
            ('MDEV', info(VF)), path=info(PF)))
        self.assertEqual([(VF, PF, True)], self.functions(
            ('MDEV', info(VF)), path=info(VF), board=BOARD))
        self.assertEqual([(PF, None, True)], self.functions(
            ('MDEV', info(PF)), board=BOARD))

    def test_for_tests(self):
        for attach_type in ('TEST_PCI', 'CCIX'):
            self.assertEqual([(VF, None, False)], self.functions(
                (attach_type, info(VF)), board=BOARD))

    def test_no_address(self):
        self.assertEqual([None, (VF, PF, False)], self.functions(
            ('PCI', '{}'), ('PCI', info(VF))))

    def test_control_path_that_is_none(self):
        for cpid_type, path in (('OTHER', info(PF)), ('PCI', None),
                                (None, None), ('PCI', 'no json')):
            self.assertEqual([(VF, None, False)], self.functions(
                ('PCI', info(VF)), cpid_type=cpid_type, path=path), path)

    def test_clash(self):
        one, other = parse(PF), parse(VF)
        for first, second, expected in (
                ((one,), (one,), True), ((one,), (other,), False),
                ((other,), (one,), False),
                ((one, None, True), (one,), True),
                ((one,), (one, None, True), True),
                ((one, None, True), (one, None, True), False),
                ((one, None, True), (other, None, True), False)):
            self.assertEqual(expected, relatives.clash(
                relatives.Function(*first), relatives.Function(*second)))

    def test_persisted(self):
        """Handles that cannot be read are passed over."""
        row = stored(vf(VF))
        bad = dataclasses.replace(row.deployables[0].handles[0], id=7,
                                  attach_info='{}')
        both = dataclasses.replace(row.deployables[0], handles=(
            bad, *row.deployables[0].handles))
        (handle_, function), = relatives.persisted_functions(row, both)
        self.assertEqual((1, parse(VF), parse(PF)),
                         (handle_.id, function.address, function.parent))
        bare = dataclasses.replace(row, controlpath=None,
                                   std_board_info=None)
        (_, function), = relatives.persisted_functions(bare, both)
        self.assertIsNone(function.parent)


class ScreenedTest(base.TestCase):
    """What is left of a discovery, and what is said of the rest."""

    def screened(self, discovered, *rows):
        left, faults = relatives.screened(
            {each.key: each for each in discovered}, host(*rows))
        return ([d.name for each in left.values() for d in each.deployables],
                [(fault.label, fault.reason) for fault in faults])

    def name(self, address):
        return 'compute-1_' + address

    def test_nothing_in_the_way(self):
        self.assertEqual(
            ([self.name(PF), self.name(OTHER)], []),
            self.screened([found(PF), found(OTHER)], stored(found(PF))))

    def test_vfs_go_before_a_free_pf(self):
        for discovered in ([found(PF), vf(VF), vf(VF2)],
                           [vf(VF), vf(VF2), found(PF)]):
            names, faults = self.screened(discovered)
            self.assertEqual({self.name(VF), self.name(VF2)}, set(names))
            self.assertEqual([(PF, 'its virtual functions %s, %s are offered'
                               % (VF, VF2))], faults)

    def test_an_allocated_pf_keeps_its_vfs_away(self):
        names, faults = self.screened(
            [found(PF), vf(VF), found(OTHER)],
            stored(found(PF), in_use=True))
        self.assertEqual([self.name(PF), self.name(OTHER)], names)
        self.assertEqual([(VF, 'its physical function %s is allocated' % PF)],
                         faults)

    def test_an_allocated_vf_keeps_its_pf_away(self):
        """Present or not, and though the row alone knows of the PF."""
        row = stored(vf(VF), in_use=True)
        for discovered in ([found(PF)], [found(PF), device(VF)]):
            names, faults = self.screened(discovered, row)
            self.assertEqual([self.name(VF)][:len(discovered) - 1], names)
            self.assertEqual(
                [(PF, 'its virtual function %s is allocated' % VF)], faults)

    def test_the_first_of_several_is_told(self):
        names, faults = self.screened(
            [device(PF, deployable('both', handle(VF), handle(VF2)))],
            stored(device(OTHER, deployable('pf', handle(PF))), in_use=True))
        self.assertEqual([], names)
        self.assertEqual([(VF, 'its physical function %s is allocated' % PF)],
                         faults)

    def test_both_allocated_stay(self):
        self.assertEqual(
            ([self.name(PF), self.name(VF)], []), self.screened(
                [found(PF), vf(VF)], stored(found(PF), in_use=True),
                stored(vf(VF), 2, in_use=True)))

    def test_one_function_under_two_names(self):
        """The allocated one's; of two free ones the first."""
        one, two = (device(path, deployable(name, handle(VF)))
                    for path, name in ((PF, 'a'), (OTHER, 'b')))
        self.assertEqual((['a'], [(VF, 'it is offered already under the name '
                                       'a')]), self.screened([one, two]))
        for kept, other in ((one, two), (two, one)):
            name, = (d.name for d in kept.deployables)
            self.assertEqual(
                ([name], [(VF, 'it is allocated under the name ' + name)]),
                self.screened([one, two], stored(kept, in_use=True)))

    def test_allocated_where_nothing_is_found(self):
        """By a row whose device is not there under this control path."""
        row = stored(device(OTHER, deployable('gone', handle(VF))),
                     in_use=True)
        self.assertEqual(
            ([], [(VF, 'it is allocated under the name gone')]),
            self.screened([device(PF, deployable('new', handle(VF)))], row))

    def test_only_allocated_handles_are_in_the_way(self):
        row = with_rows(stored(device(OTHER, deployable(
            'old', handle(VF)))), (VF, False), (VF2, True))
        now = [device(PF, deployable('one', handle(VF))),
               device('0000:7a:00.0', deployable('two', handle(VF2)))]
        self.assertEqual(
            (['one'], [(VF2, 'it is allocated under the name old')]),
            self.screened(now, row))

    def test_a_free_handle_beside_an_allocated_one(self):
        """It is offered under the name it has, wherever that is found."""
        kept = device(OTHER, deployable('old', handle(VF), handle(VF2)))
        row = with_rows(stored(kept), (VF, False), (VF2, True))
        new = device(PF, deployable('new', handle(VF)))
        for now in ([kept, new], [new, kept]):
            names, faults = self.screened(now, row)
            self.assertEqual(['old'], names)
            self.assertEqual([(VF, 'it is offered already under the name '
                                   'old')], faults)

    def test_one_that_is_in_the_way_hides_no_other(self):
        names, faults = self.screened([
            device(PF, deployable('a', handle(VF))),
            device(OTHER, deployable('b', handle(VF))),
            device('0000:7a:00.0', deployable('c', handle(VF))),
            device('0000:7b:00.0', deployable('d', handle(VF2))),
            device('0000:7c:00.0', deployable('e', handle(VF2)))])
        self.assertEqual(['a', 'd'], names)
        self.assertEqual([VF, VF, VF2], [label for label, _ in faults])

    def test_parts_of_one_function(self):
        """Mediated devices stand beside each other, never beside the whole.
        """
        parts = [device(path, deployable(name, handle(PF, 'MDEV',
                                                      asked_type=name)))
                 for path, name in ((PF, 'a'), (OTHER, 'b'))]
        self.assertEqual((['a', 'b'], []), self.screened(parts))
        whole = device('0000:7a:00.0', deployable('c', handle(PF)))
        self.assertEqual(
            (['a', 'b'], [(PF, 'it is offered already under the name a')]),
            self.screened([*parts, whole]))

    def test_what_is_left_of_a_device(self):
        """Its other deployables are offered."""
        row = stored(device(OTHER, deployable('old', handle(VF))),
                     in_use=True)
        now = device(PF, deployable('one', handle(VF)),
                     deployable('two', handle(VF2)))
        names, faults = self.screened([now], row)
        self.assertEqual(['two'], names)
        self.assertEqual([VF], [label for label, _ in faults])

    def test_stub(self):
        """What stands there in no driver's name is in nobody's way."""
        stub = dataclasses.replace(
            device(PF, deployable('stub', handle(VF))), stub=True)
        self.assertEqual((['stub', 'new'], []), self.screened(
            [stub, device(OTHER, deployable('new', handle(VF)))]))

    def test_handles_without_an_address(self):
        odd = values.DiscoveredHandle('PCI', '{}')
        self.assertEqual((['odd', 'new'], []), self.screened([
            device(PF, deployable('odd', odd)),
            device(OTHER, deployable('new', handle(VF)))]))


class StoredNamesTest(base.TestCase):
    """ID-1: a changed name of the host renames nothing a guest has."""

    def names(self, now, *rows):
        left = relatives.with_stored_names({now.key: now}, host(*rows))
        return [each.name for each in left[now.key].deployables]

    def now(self):
        return device(PF, deployable('new-1', handle(VF)),
                      deployable('new-2', handle(VF2)))

    def row(self, *in_use):
        made = stored(device(PF, deployable('old-1', handle(VF)),
                             deployable('old-2', handle(VF2))))
        return dataclasses.replace(made, deployables=tuple(
            dataclasses.replace(each, handles=tuple(
                dataclasses.replace(h, in_use=used) for h in each.handles))
            for each, used in zip(made.deployables, in_use)))

    def test_which_are_kept(self):
        for in_use, expected in (
                ((False, False), ['new-1', 'new-2']),
                ((True, False), ['old-1', 'new-2']),
                ((False, True), ['new-1', 'old-2']),
                ((True, True), ['old-1', 'old-2'])):
            self.assertEqual(expected, self.names(
                self.now(), self.row(*in_use)), in_use)

    def test_nothing_else_of_the_device_changes(self):
        now = self.now()
        left = relatives.with_stored_names(
            {now.key: now}, host(self.row(True, False)))
        self.assertEqual(
            dataclasses.replace(now, deployables=(
                deployable('old-1', handle(VF)), now.deployables[1])),
            left[now.key])

    def test_names_that_are_there_stay(self):
        """One that already has a row's name is that row's."""
        now = device(PF, deployable('old-2', handle(VF)),
                     deployable('new-2', handle(VF2)))
        self.assertEqual(['old-2', 'new-2'],
                         self.names(now, self.row(True, False)))

    def test_one_name_is_given_once(self):
        now = device(PF, deployable('new-1', handle(VF)),
                     deployable('new-2', handle(VF)))
        self.assertEqual(['old-1', 'new-2'],
                         self.names(now, self.row(True, False)))

    def test_only_what_is_allocated_tells(self):
        """A free handle of the row may be anywhere by now."""
        row = with_rows(stored(device(PF, deployable('old', handle(VF)))),
                        (VF, False), (VF2, True))
        self.assertEqual(['new-1', 'old'], self.names(self.now(), row))

    def test_other_devices_are_left_alone(self):
        now = found(OTHER)
        self.assertEqual([now.deployables[0].name],
                         self.names(now, self.row(True, True)))

    def test_a_row_without_control_path_ends_nothing(self):
        bare = dataclasses.replace(stored(found(OTHER), 7, in_use=True),
                                   controlpath=None)
        self.assertEqual(['old-1', 'new-2'], self.names(
            self.now(), bare, self.row(True, False)))


class SharedTest(base.TestCase):

    def test_by_pf_in_order(self):
        rows = []
        for number, (pf, *vfs) in enumerate(
                ((OTHER, '0000:5e:02.0'), (PF, VF2, VF))):
            for place, address in enumerate((pf, *vfs)):
                made = device(address, board=None if address == pf
                              else '{"physfn": "%s"}' % pf)
                rows.append(stored(made, 10 * number + place + 1,
                                   in_use=True))
        self.assertEqual(
            [('compute-1', PF, (VF, VF2)),
             ('compute-1', OTHER, ('0000:5e:02.0',))],
            [(each.hostname, each.address, each.functions)
             for each in relatives.shared(host(*rows))])

    def test_only_where_both_are_allocated(self):
        for pf, vf_ in ((True, False), (False, True)):
            self.assertEqual([], relatives.shared(host(
                stored(found(PF), in_use=pf),
                stored(vf(VF), 2, in_use=vf_))))

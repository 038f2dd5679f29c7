# SPDX-License-Identifier: Apache-2.0

import json

from cyborg import objects
from cyborg.agent import former_release
from cyborg.tests import base

objects.register_all()

ADDRESS = {'bus': '3b', 'device': '00', 'domain': '0000', 'function': '1'}


def device(*infos, board='{"product_id": "1eb8", "controller": null}'):
    return objects.DriverDevice(
        vendor='10de', model='1eb8', type='PCI', std_board_info=board,
        deployable_list=[objects.DriverDeployable(
            name='n', num_accelerators=1, attach_handle_list=[
                objects.DriverAttachHandle(
                    attach_type='PCI', attach_info=info)])
            for info in infos])


class FormerReleaseTest(base.TestCase):
    """ID-7"""

    def sent(self, found):
        sent, = former_release.devices([found])
        return [deployable.attach_handle_list[0].attach_info
                for deployable in sent.deployable_list]

    def test_what_2026_2_does_not_know_is_left_out(self):
        plain = json.dumps(ADDRESS)
        for settings in ({'managed': False}, {'managed': True},
                         {'stateful': True}, {'numa_node': 0},
                         {'managed': True, 'stateful': False,
                          'numa_node': None}):
            found = device(json.dumps({**ADDRESS, **settings}), plain)
            before = found.obj_to_primitive()
            self.assertEqual([plain, plain], self.sent(found))
            self.assertEqual(before, found.obj_to_primitive())

    def test_what_a_driver_wrote_else_is_sent_as_it_is(self):
        """To the byte: 2026.2 compares texts."""
        for text in ('{"domain":"0000","bus":"3b","device":"00",'
                     '"function":"1"}', 'junk', '[1]', '{"a": 1}'):
            found = device(text)
            self.assertIs(found, former_release.devices([found])[0])
        self.assertEqual(
            [json.dumps({**ADDRESS, 'vendor_word': 'x'}, sort_keys=True)],
            self.sent(device(json.dumps(
                {'vendor_word': 'x', 'stateful': True, **ADDRESS}))))

    def test_the_pf_of_a_vf_is_left_out(self):
        board = '{"product_id": "1eb8", "controller": null}'
        found = device(board=json.dumps(
            {**json.loads(board), 'physfn': '0000:3b:00.0'}))
        sent, = former_release.devices([found])
        self.assertEqual(board, sent.std_board_info)
        self.assertIn('physfn', found.std_board_info)

    def test_fields_that_a_driver_left_out(self):
        found = objects.DriverDevice(vendor='10de')
        self.assertEqual([found], former_release.devices([found]))
        found = objects.DriverDevice(deployable_list=[
            objects.DriverDeployable(attach_handle_list=None)])
        self.assertEqual([found], former_release.devices([found]))

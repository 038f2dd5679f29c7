# SPDX-License-Identifier: Apache-2.0
"""Attach info in requests: JSON types kept, texts for older peers."""

from cyborg import objects
from cyborg.common import exception
from cyborg.tests import base

objects.register_all()

INFO = {'bus': '0c', 'domain': '0000', 'managed': False, 'stateful': True,
        'numa_node': 0, 'rate': 1.5, 'note': None}


class TestAttachHandleInfo(base.TestCase):

    def test_types_survive_the_wire(self):
        """API-1: booleans stay booleans, numbers numbers, null null."""
        request = objects.ARQ(attach_handle_info=INFO)
        received = objects.ARQ.obj_from_primitive(request.obj_to_primitive())
        self.assertEqual(INFO, received.attach_handle_info)
        self.assertIs(False, received.attach_handle_info['managed'])
        self.assertIs(True, received.attach_handle_info['stateful'])

    def test_before_1_2(self):
        """API-2: texts only, and none of the settings."""
        request = objects.ARQ(attach_handle_info=INFO)
        data = request.obj_to_primitive('1.1')['cyborg_object.data']
        self.assertEqual({'bus': '0c', 'domain': '0000', 'rate': '1.5'},
                         data['attach_handle_info'])
        self.assertEqual(INFO, request.attach_handle_info)

    def test_null_stays_null(self):
        request = objects.ARQ(attach_handle_info=None)
        data = request.obj_to_primitive('1.1')['cyborg_object.data']
        self.assertIsNone(data['attach_handle_info'])

    def test_no_nested_values(self):
        for value in ({'a': {}}, {'a': []}, {'a': object()}):
            self.assertRaises(ValueError, objects.ARQ,
                              attach_handle_info=value)

    def test_damaged_info_can_not_be_read(self):
        """API-4: an error that names the handle, no default."""
        request = objects.ARQ(attach_handle_uuid='h', hostname='compute-1')
        error = self.assertRaises(exception.AttachInfoInvalid, getattr,
                                  request, 'attach_handle_info')
        self.assertEqual(
            'The stored attach info of attach handle h on host compute-1 is '
            'not usable: attach_info is no JSON object of plain values: it '
            'cannot be shown. Repair attach_handles.attach_info in the '
            'database.', error.message)

    def test_other_fields_are_not_made_up(self):
        self.assertRaises(NotImplementedError, getattr, objects.ARQ(), 'uuid')

    def test_states(self):
        """Known fault 14: UnbindFailed is a state on the wire."""
        for state in ('Initial', 'BindStarted', 'Bound', 'Unbound',
                      'BindFailed', 'UnbindFailed', 'Deleting'):
            self.assertEqual(state, objects.ARQ(state=state).state)
        self.assertRaises(ValueError, objects.ARQ, state='Other')

# SPDX-License-Identifier: Apache-2.0
"""Settings of a handle: what may change, when, and the words of a refusal."""

from cyborg import objects
from cyborg.common import exception
from cyborg.objects import base as objects_base
from cyborg.tests.fixtures import rows
from cyborg.tests.functional.objects import base

ADDRESS = '0000:0c:00.0'


class TestUpdateAttachInfo(base.ObjectTestCase):

    def setUp(self):
        super().setUp()
        self.row = rows.device().handles[0]

    def _handle(self, **changes):
        """The handle as an agent has read it."""
        if changes:
            rows.change(self.row, **changes)
        return objects.HostInventory.get_by_host(
            self.context, 'compute-1').attach_handles[0]

    def _stored(self):
        return rows.read(self.row).attach_info

    def test_managed_in_place(self):
        """REC-4: same row, UUID and topology; the object follows."""
        handle = self._handle()
        handle.update_attach_info(rows.address(managed=False))
        stored = rows.read(self.row)
        self.assertEqual(rows.address(managed=False), stored.attach_info)
        self.assertEqual((self.row.uuid, self.row.cpid_id),
                         (stored.uuid, stored.cpid_id))
        self.assertEqual(stored.attach_info, handle.attach_info)
        self.assertEqual(set(), handle.obj_what_changed())

    def test_again_and_again(self):
        """After an update the object is what the next one starts from."""
        handle = self._handle()
        for managed in (False, True, False):
            handle.update_attach_info(rows.address(managed=managed))
        self.assertEqual(rows.address(managed=False), self._stored())

    def test_absent_is_true(self):
        """REC-2: no effective change, nothing is written."""
        handle = self._handle()
        with self.db.count_statements() as sql:
            handle.update_attach_info(rows.address(managed=True))
        self.assertEqual([], sql.statements)
        self.assertEqual(rows.address(), self._stored())

    def test_other_form_of_the_address(self):
        """REC-1: the address is compared, its stored form kept."""
        handle = self._handle()
        handle.update_attach_info(
            '{"function":"0","bus":"0C","device":"0","domain":"0",'
            '"managed":false}')
        self.assertEqual(rows.address(managed=False), self._stored())

    def test_allocated_as_read(self):
        """REC-3: a conflict, whichever mark says allocated."""
        for mark in ('in_use', 'arq'):
            arq = 'none known'
            if mark == 'in_use':
                handle = self._handle(in_use=True)
            else:
                arq = rows.arq(rows.profile(), self.row).uuid
                handle = self._handle(in_use=False)
            error = self.assertRaises(
                exception.ManagedModeConflict, handle.update_attach_info,
                rows.address(managed=False))
            self.assertEqual(
                'Device %s of host compute-1 is allocated with managed=true '
                '(attach handle %s, accelerator request %s), so the '
                'configured managed=false is refused. Put true back into '
                '[pci] device_spec, or delete the instance first.'
                % (ADDRESS, self.row.uuid, arq), error.message)
        self.assertEqual(rows.address(), self._stored())

    def test_allocated_since(self):
        """REC-5: the agent reads again; nothing was changed."""
        handle = self._handle()
        arq = rows.arq(rows.profile(), self.row)
        rows.change(self.row, in_use=True)
        error = self.assertRaises(
            exception.AttachHandleChanged, handle.update_attach_info,
            rows.address(managed=False))
        self.assertEqual(
            'Attach handle %s of host compute-1 is not what was read before '
            '(accelerator request %s has it); nothing was changed. Read it '
            'again.' % (self.row.uuid, arq.uuid), error.message)
        self.assertEqual(rows.address(), self._stored())
        self.assertEqual(rows.address(), handle.attach_info)

    def test_changed_since(self):
        handle = self._handle()
        rows.change(self.row, attach_info=rows.address(numa_node=1))
        self.assertRaises(
            exception.AttachHandleChanged, handle.update_attach_info,
            rows.address(managed=False))
        self.assertEqual(rows.address(numa_node=1), self._stored())

    def test_metadata_of_an_allocated_handle(self):
        """REC-6: added and refreshed in place."""
        rows.arq(rows.profile(), self.row)
        handle = self._handle(in_use=True)
        handle.update_attach_info(rows.address(stateful=True, numa_node=0))
        self.assertEqual(rows.address(stateful=True, numa_node=0),
                         self._stored())
        handle.update_attach_info(rows.address(numa_node=1))
        self.assertEqual(rows.address(numa_node=1), self._stored())
        self.assertTrue(rows.read(self.row).in_use)

    def test_metadata_of_a_handle_allocated_since(self):
        handle = self._handle()
        rows.change(self.row, in_use=True)
        handle.update_attach_info(rows.address(numa_node=0))
        self.assertEqual(rows.address(numa_node=0), self._stored())

    def test_managed_smuggled_in(self):
        """REC-6: metadata beside it does not let managed through."""
        handle = self._handle(in_use=True)
        self.assertRaises(
            exception.ManagedModeConflict, handle.update_attach_info,
            rows.address(managed=False, numa_node=0))
        # A caller that hides the allocation is found out by the UPDATE.
        handle.in_use = False
        handle.arq_uuids = []
        self.assertRaises(
            exception.AttachHandleChanged, handle.update_attach_info,
            rows.address(managed=False, numa_node=0))
        # One that claims the old value was another, too.
        handle.attach_info = rows.address(managed=False)
        self.assertRaises(
            exception.AttachHandleChanged, handle.update_attach_info,
            rows.address(managed=False, numa_node=0))
        self.assertEqual(rows.address(), self._stored())

    def _unacceptable(self, text, reason):
        handle = self._handle()
        error = self.assertRaises(exception.ObjectActionError,
                                  handle.update_attach_info, text)
        self.assertEqual(
            'The action update_attach_info on the object failed: new attach '
            'info for handle %s: %s' % (self.row.uuid, reason), error.message)
        self.assertEqual(rows.address(), self._stored())

    def test_unacceptable_texts(self):
        self._unacceptable(rows.address(1), 'it names another address')
        self._unacceptable('nonsense', 'not JSON')
        self._unacceptable(rows.address(managed='no'),
                           '"managed" is "no" and must be true or false')
        self._unacceptable(
            rows.address(physical_network='net'),
            'it differs in more than managed, stateful, numa_node')
        self._unacceptable(
            rows.address(numa_node=10 ** 200),
            'it has 280 characters, more than 255')

    def test_damaged_stored_text(self):
        """Never a silent default: managed would be guessed."""
        damaged = rows.address(managed='maybe')
        handle = self._handle(attach_info=damaged)
        error = self.assertRaises(
            exception.AttachInfoInvalid, handle.update_attach_info,
            rows.address(managed=False))
        self.assertEqual(
            'The stored attach info of attach handle %s on host compute-1 is '
            'not usable: attach_info is %s: "managed" is "maybe" and must be '
            'true or false. Repair attach_handles.attach_info in the '
            'database.' % (self.row.uuid, damaged), error.message)

    def test_other_settings_are_kept(self):
        """REC-10: physical_network is no setting of ours."""
        before = rows.address(physical_network='net')
        handle = self._handle(attach_info=before)
        handle.update_attach_info(
            rows.address(physical_network='net', managed=False))
        self.assertEqual(rows.address(physical_network='net', managed=False),
                         self._stored())


class TestUpdateAll(base.ObjectTestCase):
    """``AttachHandleList.update_attach_info``: all or none."""

    def setUp(self):
        super().setUp()
        self.rows = rows.device(handles=3).handles

    def _list(self):
        return objects.HostInventory.get_by_host(
            self.context, 'compute-1').attach_handles

    def _texts(self, **settings):
        return {row.uuid: rows.address(number, **settings)
                for number, row in enumerate(self.rows)}

    def _stored(self):
        return {row.uuid: rows.read(row).attach_info for row in self.rows}

    def test_all(self):
        handles = self._list()
        handles.update_attach_info(self._texts(managed=False))
        self.assertEqual(self._texts(managed=False), self._stored())
        self.assertEqual(self._stored(), {
            handle.uuid: handle.attach_info for handle in handles})
        handles.update_attach_info(self._texts(managed=True))
        self.assertEqual(self._texts(managed=True), self._stored())

    def test_none_where_one_is_allocated_since(self):
        before = self._stored()
        handles = self._list()
        arq = rows.arq(rows.profile(), self.rows[2])
        error = self.assertRaises(
            exception.AttachHandleChanged, handles.update_attach_info,
            self._texts(managed=False))
        self.assertIn(self.rows[2].uuid, error.message)
        self.assertIn(arq.uuid, error.message)
        self.assertEqual(before, self._stored())
        self.assertEqual(before, {
            handle.uuid: handle.attach_info for handle in handles})

    def test_none_where_one_was_allocated_as_read(self):
        rows.change(self.rows[1], in_use=True)
        before = self._stored()
        self.assertRaises(
            exception.ManagedModeConflict, self._list().update_attach_info,
            self._texts(managed=False))
        self.assertEqual(before, self._stored())

    def test_texts_of_other_handles(self):
        texts = self._texts(managed=False)
        texts.pop(self.rows[0].uuid)
        error = self.assertRaises(exception.ObjectActionError,
                                  self._list().update_attach_info, texts)
        self.assertIn('one new attach info for each of the handles %s'
                      % self.rows[0].uuid, error.message)


class TestUpdateAllRemotely(base.RemoteMixin, TestUpdateAll):

    def test_one_call(self):
        handles = self._list()
        del self.conductor.calls[:]
        handles.update_attach_info(self._texts(managed=False))
        self.assertEqual([('AttachHandleList', 'update_attach_info')],
                         self.conductor.calls)

    def test_what_fits_nothing(self):
        """IND-1: rows that are none, and texts that are none."""
        handles = self._list()
        texts = self._texts(managed=False)
        for wrong in ('text', ['a'], {'a': 5}, {5: 'a'}, {'a': 'b\0'}):
            error = self.assertRaises(
                exception.RemoteArgumentsRefused, self.api.object_action,
                self.context, handles, 'update_attach_info', (wrong,), {})
            self.assertIn('not texts by name', error.message)
        del handles.objects[1]._obj_uuid
        error = self.assertRaises(
            exception.RemoteArgumentsRefused, self.api.object_action,
            self.context, handles, 'update_attach_info', (texts,), {})
        self.assertIn('number 1: it has no uuid', error.message)


class TestUpdateAttachInfoRemotely(base.RemoteMixin, TestUpdateAttachInfo):

    def test_one_call(self):
        handle = self._handle()
        del self.conductor.calls[:]
        handle.update_attach_info(rows.address(managed=False))
        self.assertEqual([('AttachHandle', 'update_attach_info')],
                         self.conductor.calls)

    def test_nothing_else_can_be_called(self):
        """A peer on the bus can't use other methods or objects."""
        handle = self._handle()
        for method in ('obj_reset_changes', '_settings', 'get', 'nonsense'):
            self.assertRaises(
                exception.RemoteMethodRefused, self.api.object_action,
                self.context, handle, method, (), {})
        self.assertRaises(
            exception.RemoteMethodRefused,
            self.api.object_class_action_versions, self.context, 'Device',
            'list', {'Device': '1.5'}, (), {})


class TestGet(base.ObjectTestCase):

    def test_get(self):
        card = rows.device()
        arq = rows.arq(rows.profile(), card.handles[0])
        handle = objects.AttachHandle.get(self.context, card.handles[0].uuid)
        self.assertEqual((card.handles[0].id, False, [arq.uuid]),
                         (handle.id, handle.in_use, handle.arq_uuids))
        self.assertEqual(set(), handle.obj_what_changed())
        self.assertRaises(exception.ResourceNotFound,
                          objects.AttachHandle.get, self.context, 'none')

    def test_not_for_agents(self):
        with objects_base.indirection(object()):
            self.assertRaises(exception.RemoteMethodRefused,
                              objects.AttachHandle.get, self.context, 'u')

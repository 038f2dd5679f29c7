# SPDX-License-Identifier: Apache-2.0
"""Attach handles of which nothing can be read.

No release writes such rows. A question about one request or one instance is
refused with the handle named, since its answer decides how a guest is built.
Lists of everything go on showing the other requests; from 2.4 on, where each
answer has to have the settings, they are refused, and name all that has to be
repaired.
"""

import json

from cyborg.tests.fixtures import rows
from cyborg.tests.functional.api import base
from cyborg.tests.functional.api import test_handle_settings

OLD = ('2.0', '2.1', '2.2', '2.3')
TEXTS = ('[]', '"x"', 'null', '7', '', 'no JSON', '{"bus": NaN}',
         '{"bus": 1e999}', '{"bus": {"a": 1}}')
OTHER = '10000000-0000-4000-8000-000000000002'


class DamagedHandles(test_handle_settings.SettingsTestCase):

    def setUp(self):
        super().setUp()
        self.whole, _handle, self.address = self.bound(
            1, 'PCI', {}, instance_uuid=OTHER)
        self.arq, self.handle, _address = self.bound(2, 'PCI', {})

    def damaged(self):
        for text in TEXTS:
            rows.change(self.handle, attach_info=text)
            yield text

    def assertNamed(self, answer, *handles):
        self.assertFault(500, answer, 'host compute-1')
        for handle in handles or (self.handle,):
            self.assertIn(handle.uuid, answer.fault['faultstring'])
        self.assertIn('Repair attach_handles.attach_info in the database',
                      answer.fault['faultstring'])

    def test_one_request_and_one_instance_are_refused(self):
        """No default in place of what a guest would be built by."""
        for _text in self.damaged():
            for version in (*OLD, '2.4'):
                for path in ('/' + self.arq.uuid,
                             '?instance=' + base.INSTANCE,
                             '?bind_state=resolved&instance='
                             + base.INSTANCE):
                    self.assertNamed(self.ask(version, path))

    def test_others_are_not_concerned(self):
        for _text in self.damaged():
            for version in (*OLD, '2.4'):
                for path in ('/' + self.whole.uuid, '?instance=' + OTHER):
                    self.assertEqual(200, self.ask(version, path).status)
        for name in ('devices', 'deployables', 'attributes',
                     'device_profiles'):
            for version in (*OLD, '2.4'):
                self.assertEqual(200, self.admin.as_(version=version).get(
                    '/v2/' + name).status)

    def test_lists_before_2_4_show_all_requests(self):
        for text in self.damaged():
            for version in OLD:
                for path in ('', '?bind_state=resolved'):
                    answer = self.ask(version, path)
                    self.assertEqual(200, answer.status, (text, answer))
                    shown = {arq['uuid']: arq for arq in answer.body['arqs']}
                    self.assertEqual(self.address, shown[self.whole.uuid][
                        'attach_handle_info'])
                    odd = shown[self.arq.uuid]
                    # Neither {}, which says that there is no handle, nor
                    # what cannot be read.
                    self.assertIsNone(odd['attach_handle_info'])
                    self.assertEqual(
                        ('Bound', self.handle.uuid, 'PCI'),
                        (odd['state'], odd['attach_handle_uuid'],
                         odd['attach_handle_type']))

    def test_the_log_names_the_handle_once(self):
        rows.change(self.handle, attach_info='[]')
        for _ in range(3):
            self.ask('2.3', '')
        line, = [message for message in self.logs.messages('WARNING')
                 if self.handle.uuid in message]
        self.assertIn('host compute-1', line)
        self.assertIn('Repair attach_handles.attach_info', line)

    def test_lists_of_2_4_name_all_that_has_to_be_repaired(self):
        """API-4: 200 would need settings that nobody knows."""
        wrong_type = self.bound(3, 'PCI', {'managed': 'no'})[1]
        for _text in self.damaged():
            for path in ('', '?bind_state=resolved'):
                self.assertNamed(self.ask('2.4', path), self.handle,
                                 wrong_type)

    def test_a_refusal_is_one_line(self):
        """A client that asks again fills no log."""
        rows.change(self.handle, attach_info='[]')
        wrong = self.bound(3, 'PCI', {'managed': 'no'})[1]
        self.ask('2.4', '')
        self.assertEqual([], self.logs.messages('ERROR'))
        line, = [message for message in self.logs.messages('WARNING')
                 if 'Request failed' in message]
        self.assertNotIn('\n', line)
        self.assertEqual([], [record for record in self.logs.records
                              if record.exc_info])
        for handle in (self.handle, wrong):
            self.assertIn(handle.uuid, line)

    def test_very_many_are_not_all_named(self):
        for bus in range(3, 33):
            self.bound(bus, 'PCI', {'managed': 'no'})
        text = self.ask('2.4', '').fault['faultstring']
        self.assertEqual(10, text.count("attach info of attach handle"))
        self.assertIn('20 more', text)

    def test_they_can_be_unbound_and_deleted(self):
        """PCI handles need nothing of the text to be given free."""
        rows.change(self.handle, attach_info='[]')
        self.assertEqual(202, self.patch(
            {self.arq.uuid: self.unbinding()}).status)
        self.assertFalse(rows.read(self.handle).in_use)
        for path in ('?instance=' + base.INSTANCE, '?arqs=%s'):
            arq, handle, _address = self.bound(
                4 + len(path), 'PCI', {})
            rows.change(handle, attach_info='[]')
            self.assertEqual(204, self.nova.delete(
                '/v2/accelerator_requests'
                + path.replace('%s', arq.uuid)).status)
            self.assertFalse(rows.read(handle).in_use)


class DamagedMdevs(test_handle_settings.SettingsTestCase):
    """Mediated devices: the agent has to know which one."""

    def test_a_bind_names_the_handle(self):
        device = self.device(7)
        handle = device.handles[0]
        for text in ('[]', 'no JSON', json.dumps({'bus': 'xyz'})):
            rows.change(handle, attach_info=text, attach_type='MDEV')
            arq = rows.arq(self.row, project_id=base.PROJECT_A)
            answer = self.patch({arq.uuid: self.binding(device)})
            self.assertFault(500, answer, handle.uuid)
            self.assertIn('Repair attach_handles.attach_info',
                          answer.text)
            self.assertEqual('BindFailed', rows.read(arq).state)
            self.assertFalse(rows.read(handle).in_use)
            rows.remove(arq)

    def test_an_unbind_names_the_handle(self):
        arq, handle, _address = self.bound(8, 'MDEV', {})
        rows.change(handle, attach_info='[]')
        for answer in (
                self.patch({arq.uuid: self.unbinding()}),
                self.nova.delete('/v2/accelerator_requests?arqs='
                                 + arq.uuid)):
            self.assertFault(503, answer, handle.uuid)
            self.assertIn('Repair attach_handles.attach_info', answer.text)
        # What a guest may have is given to nobody else.
        self.assertTrue(rows.read(handle).in_use)
        rows.change(handle, attach_info=rows.address(
            0, 8, asked_type='nvidia-1'))
        self.assertEqual(202, self.patch(
            {arq.uuid: self.unbinding()}).status)

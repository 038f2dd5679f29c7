# SPDX-License-Identifier: Apache-2.0
"""CON-2: the SDK and the OpenStackClient show what 2.4 adds, with types."""

import json

import testscenarios

from cyborg.tests.fixtures import rows
from cyborg.tests.functional.consumers import base

load_tests = testscenarios.load_tests_apply_scenarios

#: What the service returns at 2.4, by what is stored.
SETTINGS = {
    'false': {'managed': False, 'stateful': True, 'numa_node': 0},
    'true': {'managed': True, 'stateful': False, 'numa_node': None},
    'absent': {'managed': True, 'stateful': False, 'numa_node': None},
}
PATCHED = [('released', {'patched': False}), ('patched', {'patched': True})]


class ClientTestCase(testscenarios.WithScenarios, base.ConsumerTestCase):

    def info(self, name: str, settings: bool) -> dict:
        """The attach handle information that is expected."""
        address = {'domain': '0000', 'bus': '25', 'device': '00',
                   'function': str(4 + list(SETTINGS).index(name))}
        return address | (SETTINGS[name] if settings else {})

    def assertTypes(self, expected, seen):
        """Equal as JSON text: True is not 1 there, and 0 is not false."""
        self.assertEqual(json.dumps(expected, sort_keys=True),
                         json.dumps(seen, sort_keys=True))


class SDKTest(ClientTestCase):
    """CON-2: the SDK, as released and patched."""

    scenarios = PATCHED

    def sdk(self, endpoint: base.Front, action: str, **arguments) -> dict:
        python, tree = base.consumer('sdk', self.patched)
        return self.probe('sdk_probe', python, [tree],
                          endpoint.url, action,
                          *('%s=%s' % item for item in arguments.items()))

    def assertSeen(self, seen, settings: bool):
        self.assertNotIn('error', seen)
        for name, uuid in self.arqs.items():
            for how in ('shown', 'listed'):
                self.assertTypes(self.info(name, settings),
                                 seen[how][uuid]['attach_handle_info'])

    def test_read(self):
        """CON-2: the patched SDK asks for 2.4 of its own accord."""
        endpoint = self.ours()
        seen = self.sdk(endpoint, 'read')
        self.assertSeen(seen, settings=self.patched)
        self.assertEqual(
            [None, 'enabled'][self.patched], seen['devices'][0]['status'])
        self.assertEqual(
            {('GET', 'accelerator_requests'):
                 {'2.4' if self.patched else None},
             ('GET', 'devices'): {'2.3' if self.patched else None}},
            endpoint.versions)

    def test_read_asking(self):
        """CON-2: with 2.4 asked for, either SDK shows the settings."""
        endpoint = self.ours()
        self.assertSeen(self.sdk(endpoint, 'read', version='2.4'),
                        settings=True)

    def test_service_of_2026_2(self):
        """CON-2: an older service is read as far as it goes."""
        self.as_2026_2_stored_them()
        endpoint = self.older()
        seen = self.sdk(endpoint, 'read')
        self.assertSeen(seen, settings=False)
        expected = '2.3' if self.patched else None
        self.assertEqual(
            {('GET', 'accelerator_requests'): {expected},
             ('GET', 'devices'): {expected}}, endpoint.versions)
        # What was asked for is not silently replaced.
        self.assertIn('2.4', self.sdk(
            endpoint, 'read', version='2.4').get('error', ''))

    def test_bind(self):
        """CON-2: binding works with the version the SDK picks for it."""
        provider = 'f4b7fe6c-8ab4-4914-a113-547af0229300'
        free = rows.device(bus=0x26, rp_uuid=provider)
        endpoint = self.ours()
        seen = self.sdk(
            endpoint, 'bind', profile='dp-pci', hostname='compute-1',
            instance_uuid='1ce4a597-9836-4e02-bea1-a3a6cbe7b900',
            device_rp_uuid=provider)
        self.assertNotIn('error', seen)
        self.assertEqual(('Bound', 'Unbound'), (
            seen['bound']['state'], seen['unbound']['state']))
        self.assertEqual('26', seen['bound']['attach_handle_info']['bus'])
        self.assertEqual(
            self.patched, 'managed' in seen['bound']['attach_handle_info'])
        self.assertEqual({}, seen['unbound']['attach_handle_info'])
        self.assertFalse(rows.read(free.handles[0]).in_use)
        self.assertEqual(
            {'2.4' if self.patched else None},
            endpoint.versions['PATCH', 'accelerator_requests'])

    def test_profile_by_name(self):
        """CON-2: a device profile by its name needs 2.2."""
        seen = self.sdk(self.ours(), 'profile', name='dp-pci')
        if self.patched:
            self.assertEqual(self.profile.uuid, seen['uuid'])
        else:
            self.assertIn('from version 2.2 on', seen['error'])


class OpenStackClientTest(ClientTestCase):
    """CON-2: the OpenStackClient with either SDK."""

    scenarios = testscenarios.multiply_scenarios(
        [('released client', {'patched_client': False}),
         ('patched client', {'patched_client': True})],
        [('released SDK', {'patched_sdk': False}),
         ('patched SDK', {'patched_sdk': True})])

    def client(self, endpoint: base.Front, *words: str, check: bool = True):
        python, tree = base.consumer('client', self.patched_client)
        _, sdk = base.consumer('sdk', self.patched_sdk)
        return self.run_probe(python, [tree, sdk], [
            '-m', 'openstackclient.shell', '--os-auth-type', 'none',
            '--os-endpoint', endpoint.url, *words], check=check)

    def show(self, endpoint, name, *options) -> dict:
        done = self.client(endpoint, *options, 'accelerator', 'arq', 'show',
                           '-f', 'json', self.arqs[name])
        return json.loads(done.stdout)['attach_handle_info']

    def list(self, endpoint, *options) -> dict:
        done = self.client(endpoint, *options, 'accelerator', 'arq', 'list',
                           '-f', 'json')
        return {arq['uuid']: arq['attach_handle_info']
                for arq in json.loads(done.stdout)}

    def test_json(self):
        """CON-2: types are kept; the SDK negotiates or is told to."""
        endpoint = self.ours()
        told = ('--os-accelerator-api-version', '2.4')
        for options, settings in (((), self.patched_sdk), (told, True)):
            listed = self.list(endpoint, *options)
            for name, uuid in self.arqs.items():
                self.assertTypes(self.info(name, settings), listed[uuid])
            self.assertTypes(self.info('false', settings),
                             self.show(endpoint, 'false', *options))

    def test_table(self):
        """CON-2: a person sees JSON with the patched client."""
        done = self.client(
            self.ours(), '--os-accelerator-api-version', '2.4',
            'accelerator', 'arq', 'show', self.arqs['false'])
        managed = '"managed": false' if self.patched_client else (
            "'managed': False")
        self.assertIn(managed, done.stdout)

    def test_service_of_2026_2(self):
        """CON-2: an older service is shown as far as it goes."""
        self.as_2026_2_stored_them()
        endpoint = self.older()
        self.assertTypes(self.info('false', False),
                         self.show(endpoint, 'false'))
        told = self.client(endpoint, '--os-accelerator-api-version', '2.4',
                           'accelerator', 'arq', 'list', check=False)
        self.assertNotEqual(0, told.returncode)
        self.assertIn('2.4', told.stderr)

# SPDX-License-Identifier: Apache-2.0
"""The samples of the API reference are what the service really says.

Run with ``CYBORG_WRITE_SAMPLES=1`` to write them anew.
"""

import json
import os
import pathlib
import re

from cyborg.common import context
from cyborg.tests import contract
from cyborg.tests.functional.api import base

FOLDER = (pathlib.Path(__file__).resolve().parents[4] / 'api-ref' / 'source'
          / 'samples')
_UUID = re.compile('[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}')
_TIME = re.compile(r'\d{4}-\d\d-\d\d([T ])\d\d:\d\d:\d\d(?:\.\d+)?')


class TestSamples(base.ApiTestCase):

    def setUp(self):
        super().setUp()
        self.uuids: dict[str, str] = {}
        self.used: set[str] = set()
        devices = json.loads((contract.RECORDS / '_setup.json').read_text())[
            'driver_device_list']
        self.service.report(context.get_admin_context(), [
            device for device in devices
            if device['cyborg_object.data']['vendor'] == '10de'][:1])

    def stable(self, text: str) -> str:
        """The text with the same UUIDs and times in every run."""
        def uuid(found):
            return self.uuids.setdefault(
                found.group(), '%08x-0000-4000-8000-000000000000'
                % (len(self.uuids) + 1))

        text = _UUID.sub(uuid, text)
        return _TIME.sub(lambda found: '2027-04-01%s08:00:00'
                         % found.group(1), text)

    def sample(self, name: str, value) -> None:
        """Compare with ``samples/name.json``, or write it."""
        text = self.stable(json.dumps(value, indent=4)) + '\n'
        path = FOLDER / (name + '.json')
        self.used.add(path.name)
        if os.environ.get('CYBORG_WRITE_SAMPLES'):
            FOLDER.mkdir(exist_ok=True)
            path.write_text(text)
        self.assertEqual(path.read_text(), text, name)

    def ask(self, name: str, method: str, path: str, body=None,
            client=None, status: int = 200):
        if body is not None:
            self.sample(name + '-req', body)
        answer = (client or self.admin).request(method, path, body)
        self.assertEqual(status, answer.status, answer)
        if answer.body is not None:
            self.sample(name + ('-resp' if status < 400 else '-error'),
                        answer.body)
        return answer.body

    def test_samples(self):
        if not FOLDER.parent.is_dir():
            self.skipTest('%s is not there: the API reference comes with a '
                          'clone only' % FOLDER)
        self.documents()
        profile = self.profiles()
        self.requests()
        self.inventory()
        self.ask('device-profile-delete', 'DELETE',
                 '/v2/device_profiles/' + profile, status=204)
        self.assertEqual(self.used,
                         {path.name for path in FOLDER.glob('*.json')})

    def documents(self):
        self.ask('versions-get', 'GET', '/')
        self.ask('version-get', 'GET', '/v2')
        self.ask('not-found', 'GET', '/v2/devices/' + base.UNKNOWN,
                 status=404)
        answer = self.admin.as_(version='2.99').get('/v2')
        self.sample('not-acceptable-error', answer.body)

    def profiles(self) -> str:
        body = [{'name': 'gpu', 'description': 'One GPU',
                 'groups': [{'resources:CUSTOM_PCI': '1',
                             'trait:CUSTOM_PCI_NVIDIA': 'required'}]}]
        created = self.ask('device-profile-create', 'POST',
                           '/v2/device_profiles', body, status=201)
        self.ask('device-profiles-list', 'GET', '/v2/device_profiles')
        self.ask('device-profile-get', 'GET',
                 '/v2/device_profiles/' + created['name'])
        return created['uuid']

    def requests(self):
        path = '/v2/accelerator_requests'
        created = self.ask('accelerator-request-create', 'POST', path,
                           {'device_profile_name': 'gpu'}, self.member, 201)
        arq = created['arqs'][0]['uuid']
        provider = self.admin.get('/v2/deployables').body[
            'deployables'][0]['rp_uuid']
        self.ask('accelerator-request-bind', 'PATCH', path,
                 {arq: self.binding(provider)}, self.nova, 202)
        self.ask('accelerator-requests-list', 'GET',
                 path + '?bind_state=resolved', client=self.member)
        self.ask('accelerator-request-get', 'GET', '%s/%s' % (path, arq),
                 client=self.member)
        self.ask('accelerator-request-get-v23', 'GET',
                 '%s/%s' % (path, arq),
                 client=self.member.as_(version='2.3'))
        self.ask('accelerator-request-unbind', 'PATCH', path,
                 {arq: self.unbinding()}, self.nova, 202)
        self.ask('accelerator-request-delete', 'DELETE',
                 '%s?arqs=%s' % (path, arq), client=self.member, status=204)

    def inventory(self):
        devices = self.ask('devices-list', 'GET', '/v2/devices')['devices']
        device = '/v2/devices/' + devices[0]['uuid']
        self.ask('device-get', 'GET', device)
        self.ask('device-disable', 'POST', device + '/disable', status=204)
        self.ask('device-enable', 'POST', device + '/enable', status=204)
        parts = self.ask('deployables-list', 'GET',
                         '/v2/deployables')['deployables']
        part = '/v2/deployables/' + parts[0]['uuid']
        self.ask('deployable-get', 'GET', part)
        self.ask('deployable-program', 'PATCH', part + '/program', [
            {'op': 'replace', 'path': '/bitstream_id', 'value': [
                {'image_uuid': '90000000-0000-4000-8000-000000000001'}]}])
        self.ask('attributes-list', 'GET', '/v2/attributes?deployable_id=1')
        created = self.ask(
            'attribute-create', 'POST', '/v2/attributes',
            {'deployable_id': 1, 'key': 'colour', 'value': 'blue'},
            status=201)
        path = '/v2/attributes/' + created['uuid']
        self.ask('attribute-get', 'GET', path)
        self.ask('attribute-delete', 'DELETE', path, status=204)

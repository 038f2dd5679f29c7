# SPDX-License-Identifier: Apache-2.0
"""Takes one device through its life, over HTTP, as Nova would."""

import json
from typing import Any
from typing import TextIO
import uuid

import requests

from cyborg.common import exception
from cyborg.common.i18n import _

_PROFILE = 'demo'
_VERSION = {'OpenStack-API-Version': 'accelerator 2.4'}
_SECONDS = 60


class DemoFailed(exception.CyborgException):
    _msg_fmt = _('%(method)s %(path)s was answered %(status)s: %(text)s')


class _Api:
    """Calls to the API, each told in one line."""

    def __init__(self, url: str, out: TextIO):
        self._url = url
        self._out = out

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """:raises DemoFailed: any answer but a success."""
        answer = requests.request(method, self._url + path, json=body,
                                  headers=_VERSION, timeout=_SECONDS)
        self.say('  %s %s -> %d' % (method, path, answer.status_code))
        if not answer.ok:
            raise DemoFailed(method=method, path=path,
                             status=answer.status_code, text=answer.text)
        return answer.json() if answer.content else None

    def say(self, text: str) -> None:
        print(text, file=self._out, flush=True)


def run(url: str, host: str, out: TextIO) -> int:
    """discover -> profile -> ARQ -> bind -> show -> unbind -> delete.

    :param url: of the API, without version.
    :returns: 0; whatever goes wrong is raised.
    :raises DemoFailed: an answer is not a success, or not what it should be.
    """
    api = _Api(url, out)
    api.say('\n1. What was discovered')
    deployables = api.call('GET', '/v2/deployables')['deployables']
    deployable = choose(deployables)
    attributes = json.loads(deployable['attributes_list'])
    resource_class = next(pair['rc'] for pair in attributes if 'rc' in pair)
    api.say('  %d resources; taking %s (%s)' % (
        len(deployables), deployable['name'], resource_class))
    api.say('\n2. A device profile that asks for one of that class')
    profile = api.call('POST', '/v2/device_profiles', [{
        'name': '%s-%s' % (_PROFILE, uuid.uuid4().hex[:8]),
        'groups': [{'resources:%s' % resource_class: '1'}]}])
    api.say('\n3. An accelerator request (ARQ)')
    arq = api.call('POST', '/v2/accelerator_requests', {
        'device_profile_name': profile['name']})['arqs'][0]
    path = '/v2/accelerator_requests/' + arq['uuid']
    try:
        api.say('\n4. Bind it, as Nova does for an instance')
        _patch(api, arq, 'add', {
            'hostname': host, 'device_rp_uuid': deployable['rp_uuid'],
            'instance_uuid': str(uuid.uuid4())})
        api.say('\n5. What Nova attaches to the guest')
        bound = api.call('GET', path)
        _expect(path, bound, 'Bound')
        api.say('  %s %s' % (bound['attach_handle_type'], json.dumps(
            bound['attach_handle_info'], sort_keys=True)))
        api.say('\n6. Unbind it: the device is free again')
        _patch(api, arq, 'remove', dict.fromkeys(
            ('hostname', 'device_rp_uuid', 'instance_uuid')))
        _expect(path, api.call('GET', path), 'Unbound')
    finally:
        api.call('DELETE', '/v2/accelerator_requests?arqs=' + arq['uuid'])
        api.call('DELETE', '/v2/device_profiles/' + profile['uuid'])
    api.say('\nThat is all of it.')
    return 0


def choose(deployables: list[dict]) -> dict:
    """A VF if there is one: it is what guests mostly get.

    :raises DemoFailed: no device is offered.
    """
    usable = [d for d in deployables if d['rp_uuid']]
    if not usable:
        raise DemoFailed(method='GET', path='/v2/deployables', status=200,
                         text='no device is offered')
    return max(usable, key=lambda d: not d['name'].endswith('.0'))


def find(url: str) -> dict | None:
    """The deployable that a bind would be shown with, if there is one."""
    answer = requests.get(url + '/v2/deployables', timeout=_SECONDS)
    try:
        return choose(answer.json()['deployables'])
    except DemoFailed:
        return None


def _patch(api, arq, operation: str, values: dict) -> None:
    api.call('PATCH', '/v2/accelerator_requests', {arq['uuid']: [
        {'path': '/' + key, 'op': operation,
         **({'value': value} if operation == 'add' else {})}
        for key, value in values.items()]})


def _expect(path: str, shown: dict, state: str) -> None:
    if shown['state'] != state:
        raise DemoFailed(method='GET', path=path, status=200,
                         text='the state is %s, not %s' % (shown['state'],
                                                           state))

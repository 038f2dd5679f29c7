# SPDX-License-Identifier: Apache-2.0
"""The whole service on the lab's machine, and the calls that Nova makes."""

import json
import pathlib
import subprocess
import urllib.error
import urllib.request
import uuid

import libvirt_guest

HOST = 'lab'
API, PLACEMENT = 'http://127.0.0.1:6666/accelerator', 'http://127.0.0.1:6667'
HELPER = pathlib.Path('/tmp/privsep-helper')
#: Privilege is that of a process of its own, with its capabilities.
CONFIGURATION = """
[DEFAULT]
host = lab
periodic_interval = 3
rpc_response_timeout = 40
[cyborg_sys_admin]
helper_command = %s
""" % HELPER
SECONDS = 900


class Service:
    """``cyborg-standalone`` with the devices of this machine.

    :param options: text of a configuration file
    :param state: its directory; what is in it is found again
    """

    def __init__(self, options, state):
        self.state = pathlib.Path(state)
        self._file = pathlib.Path('/tmp/service.conf')
        self._file.write_text(CONFIGURATION + options)
        HELPER.write_text('#!/usr/bin/python3\nfrom oslo_privsep import '
                          'daemon\ndaemon.helper_main()\n')
        HELPER.chmod(0o755)

    def __enter__(self):
        self._output = open('/tmp/service.out', 'a')
        self._process = subprocess.Popen(
            ['cyborg-standalone', '--config-file', str(self._file),
             '--state-dir', str(self.state), '--port', '6666',
             '--placement-port', '6667'], stdin=subprocess.DEVNULL,
            stdout=self._output, stderr=subprocess.STDOUT)
        libvirt_guest.until(self._answers, 'service', SECONDS)
        return self

    def __exit__(self, *_exc_info):
        self._process.terminate()
        status = self._process.wait(SECONDS)
        if status:
            raise AssertionError('the service ended with %d:\n%s' % (
                status, pathlib.Path('/tmp/service.out').read_text()))

    def _answers(self):
        if self._process.poll() is not None:
            raise AssertionError('the service does not start:\n%s' % (
                pathlib.Path('/tmp/service.out').read_text()))
        try:
            return self.call('GET', '/v2/deployables') is not None
        except urllib.error.URLError:
            return False

    def log(self):
        return (self.state / 'standalone.log').read_text()

    def call(self, method, path, body=None, url=API,
             version='accelerator 2.4'):
        request = urllib.request.Request(
            url + path, method=method, headers={
                'OpenStack-API-Version': version,
                'Content-Type': 'application/json'},
            data=None if body is None else json.dumps(body).encode())
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                text = answer.read()
        except urllib.error.HTTPError as error:
            raise AssertionError('%s %s: %d %s' % (
                method, path, error.code, error.read())) from None
        return json.loads(text) if text else {}

    def deployable(self, address):
        for found in self.call('GET', '/v2/deployables')['deployables']:
            if found['name'] == '%s_%s' % (HOST, address):
                return found
        return None

    def inventory(self, address):
        """(total, reserved) of the device in Placement."""
        provider = self.deployable(address)['rp_uuid']
        found, = self.call(
            'GET', '/resource_providers/%s/inventories' % provider,
            url=PLACEMENT, version='placement 1.36')['inventories'].values()
        return found['total'], found['reserved']

    def profile(self, resource, **traits):
        name = 'profile-' + uuid.uuid4().hex[:8]
        self.call('POST', '/v2/device_profiles', [{
            'name': name, 'groups': [{
                'resources:' + resource: '1',
                **{'trait:' + trait: 'required' for trait in traits}}]}])
        return name

    def bind(self, address, profile):
        """The UUID of a request that is bound to a device."""
        arq, = self.call('POST', '/v2/accelerator_requests', {
            'device_profile_name': profile})['arqs']
        self._patch(arq['uuid'], 'add', {
            'hostname': HOST, 'instance_uuid': str(uuid.uuid4()),
            'device_rp_uuid': self.deployable(address)['rp_uuid']})
        self.expect(arq['uuid'], 'Bound')
        return arq['uuid']

    def unbind(self, arq):
        self._patch(arq, 'remove', dict.fromkeys(
            ('hostname', 'instance_uuid', 'device_rp_uuid')))

    def arq(self, arq):
        return self.call('GET', '/v2/accelerator_requests/' + arq)

    def expect(self, arq, state):
        def there():
            now = self.arq(arq)['state']
            if now.endswith('Failed') and now != state:
                raise AssertionError('request %s is %s:\n%s' % (
                    arq, now, self.log()[-3000:]))
            return now == state

        libvirt_guest.until(there, 'request %s %s' % (arq, state), SECONDS)

    def _patch(self, arq, operation, values):
        self.call('PATCH', '/v2/accelerator_requests', {arq: [
            {'path': '/' + key, 'op': operation,
             **({'value': value} if operation == 'add' else {})}
            for key, value in values.items()]})

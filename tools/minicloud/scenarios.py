# SPDX-License-Identifier: Apache-2.0
"""What servers with accelerators go through in the small cloud.

Each scenario ends with: no accelerator request, no allocation, no handle in
use. They run in the process of ``minicloud``, with plain HTTP.
"""

import contextlib
import json
import os
import pathlib
import time
import traceback
import urllib.error
import urllib.request

import settings

FPGA = [{'resources:FPGA': '1', 'trait:CUSTOM_FAKE_DEVICE': 'required'}]
PCI = [{'resources:CUSTOM_PCI': '1',
        'trait:CUSTOM_PCI_PRODUCT_ID_EFA1': 'required'}]
SCENARIOS = {}


class Failed(Exception):
    """Something is not as it has to be."""


def scenario(function):
    SCENARIOS[function.__name__.replace('_', '-')] = function
    return function


def check(condition, text, *details):
    if not condition:
        raise Failed(text % details if details else text)


class Client:
    """The four APIs that a scenario uses, as the administrator."""

    BASES = {'compute': settings.URLS['nova-api'] + '/v2.1',
             'accelerator': settings.URLS['cyborg-api'] + '/v2',
             'placement': settings.URLS['placement'],
             'image': settings.URLS['glance'] + '/v2'}
    VERSIONS = {'compute': 'compute latest', 'accelerator': 'accelerator 2.4',
                'placement': 'placement 1.39'}

    def __init__(self):
        body = {'auth': {
            'identity': {'methods': ['password'], 'password': {'user': {
                'name': 'admin', 'domain': {'name': 'Default'},
                'password': settings.PASSWORD}}},
            'scope': {'project': {'name': 'admin',
                                  'domain': {'name': 'Default'}}}}}
        answer = self._open('POST', settings.URLS['keystone'] +
                            '/auth/tokens', body, {})
        self.token = answer.headers['X-Subject-Token']

    @staticmethod
    def _open(method, url, body, headers):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            url, data, {'Content-Type': 'application/json', **headers},
            method=method)
        return urllib.request.urlopen(request, timeout=60)

    def call(self, service, method, path, body=None):
        headers = {'X-Auth-Token': self.token}
        if service in self.VERSIONS:
            headers['OpenStack-API-Version'] = self.VERSIONS[service]
        try:
            with self._open(method, self.BASES[service] + path, body,
                            headers) as answer:
                text = answer.read()
        except urllib.error.HTTPError as error:
            raise Failed('%s %s: %d %s' % (
                method, path, error.code, error.read()[:500])) from error
        return json.loads(text) if text else None


class Lab:
    """A cloud with helpers for scenarios.

    :ivar made: UUIDs of servers that a scenario has to delete
    """

    def __init__(self, cloud):
        self.cloud = cloud
        self.client = Client()
        self.made: list[str] = []
        self.image = cloud.command(
            'python', '-c', 'import sys; sys.path.insert(0, %r); import '
            'catalog, openstack; print(catalog.resources(openstack.connect()))'
            % str(pathlib.Path(__file__).parent)).split()[-1]

    def nova(self, method, path, body=None):
        return self.client.call('compute', method, path, body)

    def wait(self, what, condition, seconds=120):
        deadline = time.monotonic() + seconds
        while True:
            found = condition()
            if found:
                return found
            check(time.monotonic() < deadline, '%s: not within %d s', what,
                  seconds)
            time.sleep(0.5)

    def flavor(self, groups) -> str:
        """A flavor with a device profile; both stay for the next one."""
        name = 'minicloud-' + ('pci' if groups == PCI else
                               'fpga' if groups == FPGA else
                               'two' if groups == PCI * 2 else 'mixed')
        known = self.client.call('accelerator', 'GET', '/device_profiles')
        if name not in [one['name'] for one in known['device_profiles']]:
            self.client.call('accelerator', 'POST', '/device_profiles',
                             [{'name': name, 'groups': groups}])
        flavors = self.nova('GET', '/flavors')['flavors']
        for one in flavors:
            if one['name'] == name:
                return one['id']
        made = self.nova('POST', '/flavors', {'flavor': {
            'name': name, 'ram': 64, 'vcpus': 1, 'disk': 1}})['flavor']
        self.nova('POST', '/flavors/%s/os-extra_specs' % made['id'],
                  {'extra_specs': {'accel:device_profile': name}})
        return made['id']

    def create(self, groups=PCI) -> str:
        server = self.nova('POST', '/servers', {'server': {
            'name': 'scenario', 'imageRef': self.image, 'networks': 'none',
            'flavorRef': self.flavor(groups)}})['server']
        self.made.append(server['id'])
        return server['id']

    def show(self, server) -> dict:
        return self.nova('GET', '/servers/' + server)['server']

    def reach(self, server, *statuses) -> str:
        """Wait until nothing is under way and the status is one of these."""
        def there():
            shown = self.show(server)
            if shown['OS-EXT-STS:task_state'] is None and (
                    shown['status'] in statuses):
                return shown['status']
            check(shown['status'] != 'ERROR' or 'ERROR' in statuses,
                  'server %s: %s', server, shown.get('fault'))
        return self.wait('server %s' % '/'.join(statuses), there, 180)

    def act(self, server, status, **action) -> None:
        self.nova('POST', '/servers/%s/action' % server, action)
        # The task may not have begun when the answer comes.
        time.sleep(1)
        self.reach(server, status)

    def delete(self, *servers) -> None:
        for server in servers:
            self.nova('DELETE', '/servers/' + server)
        for server in servers:
            def gone(server=server):
                try:
                    self.show(server)
                except Failed as error:
                    return '404' in str(error)
            self.wait('delete of ' + server, gone)
            if server in self.made:
                self.made.remove(server)

    def arqs(self, server) -> list[dict]:
        return self.client.call(
            'accelerator', 'GET',
            '/accelerator_requests?instance=' + server)['arqs']

    def bound(self, server, count=1) -> list[dict]:
        """Its requests, each bound, each with the fields of 2.4."""
        found = self.arqs(server)
        check(len(found) == count, '%d requests: %s', len(found), found)
        for arq in found:
            info = arq['attach_handle_info']
            check(arq['state'] == 'Bound', 'not bound: %s', arq)
            check(isinstance(info['stateful'], bool), 'stateful: %s', info)
            if arq['attach_handle_type'] == 'PCI':
                check(info['managed'] is False, 'managed: %s', info)
                check(info['numa_node'] in (0, 1), 'numa_node: %s', info)
        return found

    def devices(self, server) -> list[str]:
        return sorted(arq['attach_handle_uuid'] for arq in self.arqs(server))

    def clean(self) -> None:
        """Nothing is left of what a scenario did."""
        def left():
            rows = {
                'requests': "SELECT uuid, state FROM extended_accelerator_"
                            "requests",
                'handles in use': 'SELECT uuid FROM attach_handles WHERE '
                                  'in_use = 1'}
            found = {name: self.cloud.sql(statement, 'cyborg')
                     for name, statement in rows.items()}
            found['allocations'] = self.cloud.sql(
                'SELECT consumer_id FROM allocations', 'placement')
            return {name: some for name, some in found.items() if some}
        deadline = time.monotonic() + 60
        while left():
            check(time.monotonic() < deadline, 'left: %s', left())
            time.sleep(1)

    @contextlib.contextmanager
    def rules(self, rules):
        """The agent started with other rules, and put back."""
        def restart(wanted):
            self.cloud.stop('cyborg-agent')
            self.cloud.settings.write_cyborg(wanted)
            self.cloud.agent()
        restart(rules)
        try:
            yield
        finally:
            restart([settings.RULE])


def _kept(lab, status, *actions):
    """A server keeps its device through the actions."""
    server = lab.create()
    lab.reach(server, 'ACTIVE')
    lab.bound(server)
    before = lab.devices(server)
    for reached, action in actions:
        lab.act(server, reached, **action)
    lab.bound(server)
    check(before == lab.devices(server), 'another device: %s, %s', before,
          lab.devices(server))
    lab.delete(server)


@scenario
def boot_delete(lab):
    """One accelerator of each driver."""
    for groups in (PCI, FPGA):
        server = lab.create(groups)
        lab.reach(server, 'ACTIVE')
        lab.bound(server)
        lab.delete(server)


@scenario
def nothing_free(lab):
    """A server too many finds no host, and leaves nothing behind."""
    servers = [lab.create() for _ in settings.DEVICES]
    for server in servers:
        lab.reach(server, 'ACTIVE')
    devices = {lab.devices(server)[0] for server in servers}
    check(len(devices) == len(servers), 'a device twice: %s', devices)
    late = lab.create()
    lab.reach(late, 'ERROR')
    check(lab.arqs(late) == [], 'requests of a server without a host')
    lab.delete(late, servers.pop())
    again = lab.create()
    lab.reach(again, 'ACTIVE')
    lab.delete(again, *servers)


@scenario
def two_accelerators(lab):
    """Two of one server, on their own providers."""
    server = lab.create(PCI * 2)
    lab.reach(server, 'ACTIVE')
    arqs = lab.bound(server, 2)
    check(len({arq['attach_handle_uuid'] for arq in arqs}) == 2,
          'one device twice: %s', arqs)
    lab.delete(server)


@scenario
def reboots(lab):
    _kept(lab, 'ACTIVE', ('ACTIVE', {'reboot': {'type': 'SOFT'}}),
          ('ACTIVE', {'reboot': {'type': 'HARD'}}))


@scenario
def stop_start(lab):
    _kept(lab, 'ACTIVE', ('SHUTOFF', {'os-stop': None}),
          ('ACTIVE', {'os-start': None}))


@scenario
def rebuild(lab):
    _kept(lab, 'ACTIVE', ('ACTIVE', {'rebuild': {'imageRef': lab.image}}))


@scenario
def rescue_unrescue(lab):
    _kept(lab, 'ACTIVE', ('RESCUE', {'rescue': None}),
          ('ACTIVE', {'unrescue': None}))


@scenario
def shelve_unshelve(lab):
    """An offloaded server gives its device back, and gets one again."""
    server = lab.create()
    lab.reach(server, 'ACTIVE')
    lab.act(server, 'SHELVED_OFFLOADED', shelve=None)
    check(lab.arqs(server) == [], 'requests of an offloaded server: %s',
          lab.arqs(server))
    lab.act(server, 'ACTIVE', unshelve=None)
    lab.bound(server)
    lab.delete(server)


@scenario
def conductor_killed(lab):
    """Killed while ten servers boot on four devices: none lost, none twice."""
    servers = [lab.create() for _ in range(10)]
    for _ in range(3):
        time.sleep(1.5)
        lab.cloud.stop('cyborg-conductor', 9)
        lab.cloud.start('cyborg-conductor', 'cyborg-conductor',
                        '--config-file', lab.cloud.etc / 'cyborg.conf')
    reached = [lab.reach(server, 'ACTIVE', 'ERROR') for server in servers]
    devices = [device for server in servers for device in lab.devices(server)]
    check(len(devices) == len(set(devices)), 'a device twice: %s', devices)
    print('    %d of 10 servers became active'
          % reached.count('ACTIVE'))
    check(reached.count('ACTIVE') <= len(settings.DEVICES), 'too many')
    lab.delete(*servers)
    again = [lab.create() for _ in settings.DEVICES]
    for server in again:
        lab.reach(server, 'ACTIVE')
    lab.delete(*again)


@scenario
def rule_dropped(lab):
    """MIS-5: the rule goes and comes back under a running server."""
    server = lab.create()
    lab.reach(server, 'ACTIVE')
    before = lab.devices(server)
    with lab.rules([]):
        lab.wait('the other devices to go', lambda: len(lab.cloud.sql(
            "SELECT 1 FROM attach_handles WHERE attach_type='PCI'",
            'cyborg')) == 1)
        check(lab.devices(server) == before, 'lost: %s', lab.arqs(server))
    lab.wait('the other devices to come back', lambda: len(lab.cloud.sql(
        "SELECT 1 FROM attach_handles WHERE attach_type='PCI'",
        'cyborg')) == len(settings.DEVICES))
    check(lab.devices(server) == before, 'changed: %s', lab.arqs(server))
    other = lab.create()
    lab.reach(other, 'ACTIVE')
    check(lab.devices(other) != before, 'one device twice')
    lab.delete(server, other)


@scenario
def released_agent(lab):
    """An agent of 2026.2 between this conductor and this API."""
    released = pathlib.Path(os.environ.get(
        'CYBORG_RELEASED_VENV',
        pathlib.Path(__file__).parents[2] / '.released')) / 'bin'
    check((released / 'cyborg-agent').exists(),
          'no 2026.2 in %s; tools/released-venv makes one', released)
    server = lab.create()
    lab.reach(server, 'ACTIVE')
    before = lab.devices(server)
    lab.cloud.stop('cyborg-agent')
    try:
        lab.cloud.agent(released)
        # Two of its reports.
        time.sleep(12)
        check(lab.cloud.pid('cyborg-agent'), 'the agent of 2026.2 has ended')
        check(lab.devices(server) == before, 'changed: %s', lab.arqs(server))
        other = lab.create()
        lab.reach(other, 'ACTIVE')
        lab.delete(other)
    finally:
        lab.cloud.stop('cyborg-agent')
        lab.cloud.agent()
    check(lab.bound(server) and lab.devices(server) == before,
          'changed: %s', lab.arqs(server))
    lab.delete(server)


SHORT = ('boot-delete',)


def main(cloud, options) -> int:
    if options.list:
        print('\n'.join(SCENARIOS))
        return 0
    unknown = set(options.scenarios) - set(SCENARIOS)
    if unknown:
        print('unknown: %s' % ', '.join(sorted(unknown)))
        return 2
    lab = Lab(cloud)
    lab.flavor(PCI)
    names = options.scenarios or (SHORT if options.short else SCENARIOS)
    failed = 0
    for name in names:
        began = time.monotonic()
        try:
            SCENARIOS[name](lab)
            lab.clean()
            said = 'ok'
        except (Failed, settings.CloudError, OSError, LookupError,
                ValueError):
            failed += 1
            said = 'FAILED\n' + traceback.format_exc()
            with contextlib.suppress(Failed, OSError):
                lab.delete(*list(lab.made))
            lab.made.clear()
        print('%-18s %4d s  %s' % (name, time.monotonic() - began, said),
              flush=True)
    print('%d passed, %d failed' % (len(list(names)) - failed, failed))
    return 1 if failed else 0

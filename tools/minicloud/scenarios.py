# SPDX-License-Identifier: Apache-2.0
"""What servers with accelerators go through in the small cloud.

Each scenario ends with: no accelerator request, no allocation, no handle in
use. They run in the process of ``minicloud``, with plain HTTP.
"""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import time
import traceback
import urllib.error
import urllib.request

import settings

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAKE, LIBVIRT = settings.FAKE, settings.LIBVIRT


def _pci(product: str) -> list[dict]:
    return [{'resources:CUSTOM_PCI': '1',
             'trait:CUSTOM_PCI_PRODUCT_ID_' + product.upper(): 'required'}]


FPGA = [{'resources:FPGA': '1', 'trait:CUSTOM_FAKE_DEVICE': 'required'}]
PCI = _pci(settings.PRODUCT)
#: Groups of the device profiles and flavors.
PROFILES = {'fpga': FPGA, 'pci': PCI, 'two': PCI * 2,
            'true': _pci('efa2'), 'absent': _pci('efa3')}
SCENARIOS = {}


class Failed(Exception):
    """Something is not as it has to be."""


def scenario(function):
    SCENARIOS[function.__name__.replace('_', '-')] = function
    return function


def on_libvirt(function):
    """A scenario that needs the second host."""
    function.on_libvirt = True
    return scenario(function)


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
        data = body if body is None or isinstance(
            body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(
            url, data, {'Content-Type': 'application/json', **headers},
            method=method)
        return urllib.request.urlopen(request, timeout=60)

    def call(self, service, method, path, body=None, kind=None):
        """:param kind: of the body, if it is no plain JSON"""
        headers = {'X-Auth-Token': self.token}
        if kind:
            headers['Content-Type'] = kind
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

    def wait(self, what, condition, seconds=300):
        deadline = time.monotonic() + seconds
        while True:
            found = condition()
            if found:
                return found
            check(time.monotonic() < deadline, '%s: not within %d s', what,
                  seconds)
            time.sleep(0.5)

    def flavor(self, profile) -> str:
        """A flavor with a device profile; both stay for the next one."""
        name, groups = 'minicloud-' + profile, PROFILES[profile]
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

    def create(self, profile='pci', host=FAKE) -> str:
        server = self.nova('POST', '/servers', {'server': {
            'name': 'scenario', 'imageRef': self.image, 'networks': 'none',
            'host': host.name, 'flavorRef': self.flavor(profile)}})['server']
        self.made.append(server['id'])
        return server['id']

    def boot(self, profile='pci', host=FAKE) -> str:
        """A server that runs.

        One after another: of two at once Nova's scheduler may try the same
        device, and it tries one of a host.
        """
        server = self.create(profile, host)
        self.reach(server, 'ACTIVE')
        return server

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
        return self.wait('server %s' % '/'.join(statuses), there, 600)

    def act(self, server, status, **action) -> None:
        self.nova('POST', '/servers/%s/action' % server, action)
        # The task may not have begun when the answer comes.
        time.sleep(1)
        self.reach(server, status)

    def offload(self, server) -> None:
        """Shelve; of Nova's fake driver the image has no contents then."""
        self.act(server, 'SHELVED_OFFLOADED', shelve=None)
        for image in self.client.call('image', 'GET', '/images')['images']:
            if image.get('instance_uuid') == server and (
                    image['status'] == 'queued'):
                path = '/images/' + image['id']
                self.client.call(
                    'image', 'PATCH', path,
                    [{'op': 'replace', 'path': '/disk_format', 'value': 'raw'},
                     {'op': 'replace', 'path': '/container_format',
                      'value': 'bare'}],
                    'application/openstack-images-v2.1-json-patch')
                self.client.call('image', 'PUT', path + '/file',
                                 bytes(65536), 'application/octet-stream')

    def sweep(self) -> None:
        """Delete the servers of a run that was ended."""
        self.delete(*[one['id'] for one in self.nova(
            'GET', '/servers?name=^scenario$')['servers']])

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

    def bound(self, server, count=1, host=FAKE) -> list[dict]:
        """Its requests, each bound there, each with the fields of 2.4."""
        found = self.arqs(server)
        check(len(found) == count, '%d requests: %s', len(found), found)
        for arq in found:
            info = arq['attach_handle_info']
            check(arq['state'] == 'Bound', 'not bound: %s', arq)
            check(arq['hostname'] == host.node, 'host: %s', arq)
            check(isinstance(info['stateful'], bool), 'stateful: %s', info)
            if arq['attach_handle_type'] == 'PCI':
                check(info['managed'] is False, 'managed: %s', info)
                check(info['numa_node'] in (0, 1), 'numa_node: %s', info)
        return found

    def devices(self, server) -> list[str]:
        return sorted(arq['attach_handle_uuid'] for arq in self.arqs(server))

    def stored_managed(self, profile):
        """What the second host's device of a profile has stored."""
        return json.loads(self._stored(profile)).get('managed')

    def address(self, profile) -> str:
        info = json.loads(self._stored(profile))
        return '%s:%s:%s.%s' % tuple(
            info[key] for key in ('domain', 'bus', 'device', 'function'))

    def _stored(self, profile) -> str:
        trait = list(PROFILES[profile][0])[1].partition(':')[2]
        return self.cloud.sql(
            'SELECT h.attach_info FROM attach_handles h JOIN deployables p '
            'ON p.id = h.deployable_id JOIN devices d ON d.id = p.device_id '
            "WHERE d.hostname = '%s' AND d.model LIKE '%%%s%%'" % (
                LIBVIRT.node, trait[-4:].lower()), 'cyborg')[0][0]

    def handles(self) -> int:
        """Number of attach handles of PCI devices of the first host."""
        return int(self.cloud.sql(
            'SELECT COUNT(*) FROM attach_handles h JOIN deployables p ON '
            'p.id = h.deployable_id JOIN devices d ON d.id = p.device_id '
            "WHERE h.attach_type = 'PCI' AND d.hostname = '%s'" % FAKE.node,
            'cyborg')[0][0])

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
            if not self.cloud.one_host:
                found['guests'] = self.cloud.hypervisor.virsh(
                    'list', '--all', '--name').split()
            return {name: some for name, some in found.items() if some}
        deadline = time.monotonic() + 180
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
            restart(FAKE.rules)


def _kept(lab, *actions, profile='pci', host=FAKE):
    """A server keeps its device through the actions."""
    server = lab.boot(profile, host)
    lab.bound(server, host=host)
    before = lab.devices(server)
    for reached, action in actions:
        lab.act(server, reached, **action)
    lab.bound(server, host=host)
    check(before == lab.devices(server), 'another device: %s, %s', before,
          lab.devices(server))
    lab.delete(server)


@scenario
def boot_delete(lab):
    """One accelerator of each driver."""
    for profile in ('pci', 'fpga'):
        server = lab.boot(profile)
        lab.bound(server)
        lab.delete(server)


@scenario
def nothing_free(lab):
    """A server too many finds no host, and leaves nothing behind."""
    servers = [lab.boot() for _ in FAKE.devices]
    devices = {lab.devices(server)[0] for server in servers}
    check(len(devices) == len(servers), 'a device twice: %s', devices)
    late = lab.create()
    lab.reach(late, 'ERROR')
    check(lab.arqs(late) == [], 'requests of a server without a host')
    lab.delete(late, servers.pop())
    again = lab.boot()
    lab.delete(again, *servers)


@scenario
def two_accelerators(lab):
    """Two of one server, on their own providers."""
    server = lab.boot('two')
    arqs = lab.bound(server, 2)
    check(len({arq['attach_handle_uuid'] for arq in arqs}) == 2,
          'one device twice: %s', arqs)
    lab.delete(server)


@scenario
def reboots(lab):
    _kept(lab, ('ACTIVE', {'reboot': {'type': 'SOFT'}}),
          ('ACTIVE', {'reboot': {'type': 'HARD'}}))


@scenario
def stop_start(lab):
    _kept(lab, ('SHUTOFF', {'os-stop': None}),
          ('ACTIVE', {'os-start': None}))


@scenario
def rebuild(lab):
    _kept(lab, ('ACTIVE', {'rebuild': {'imageRef': lab.image}}))


@scenario
def rescue_unrescue(lab):
    _kept(lab, ('RESCUE', {'rescue': None}),
          ('ACTIVE', {'unrescue': None}))


@scenario
def shelve_unshelve(lab):
    """An offloaded server gives its device back, and gets one again."""
    server = lab.boot()
    lab.act(server, 'SHELVED_OFFLOADED', shelve=None)
    check(lab.arqs(server) == [], 'requests of an offloaded server: %s',
          lab.arqs(server))
    lab.act(server, 'ACTIVE', unshelve={'host': FAKE.name})
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
    check(reached.count('ACTIVE') <= len(FAKE.devices), 'too many')
    lab.delete(*servers)
    lab.delete(*[lab.boot() for _ in FAKE.devices])


@scenario
def rule_dropped(lab):
    """MIS-5: the rule goes and comes back under a running server."""
    server = lab.boot()
    before = lab.devices(server)
    with lab.rules([]):
        lab.wait('the other devices to go', lambda: lab.handles() == 1)
        check(lab.devices(server) == before, 'lost: %s', lab.arqs(server))
    lab.wait('the other devices to come back',
             lambda: lab.handles() == len(FAKE.devices))
    check(lab.devices(server) == before, 'changed: %s', lab.arqs(server))
    other = lab.boot()
    check(lab.devices(other) != before, 'one device twice')
    lab.delete(server, other)


@scenario
def released_agent(lab):
    """An agent of 2026.2 between this conductor and this API."""
    released = pathlib.Path(os.environ.get(
        'CYBORG_RELEASED_VENV', ROOT / '.released'))
    made = subprocess.run([ROOT / 'tools/released-venv', released],
                          env=dict(os.environ, PYTHON=sys.executable),
                          stdout=subprocess.DEVNULL)
    if made.returncode:
        raise Failed('2026.2 could not be installed in %s' % released)
    server = lab.boot()
    before = lab.devices(server)
    lab.cloud.stop('cyborg-agent')
    asked = lab.cloud.settings.asked
    asked.unlink(missing_ok=True)
    try:
        lab.cloud.agent(released / 'bin')
        # It looks for devices before a report: the third look is after two.
        lab.wait('reports of 2026.2', lambda: asked.exists() and len(
            asked.read_text().splitlines()) > 2)
        check(lab.cloud.pid('cyborg-agent'), 'the agent of 2026.2 has ended')
        (arq,) = lab.arqs(server)
        # It does not know of NUMA nodes, and takes them out.
        check(lab.devices(server) == before and arq['state'] == 'Bound' and
              arq['attach_handle_info']['managed'] is False,
              'changed: %s', arq)
        check(lab.handles() == len(FAKE.devices), '%d handles',
              lab.handles())
        other = lab.boot()
        lab.delete(other)
    finally:
        lab.cloud.stop('cyborg-agent')
        lab.cloud.agent()
    lab.wait('a report of ours', lambda: lab.arqs(server)[0][
        'attach_handle_info']['numa_node'] is not None)
    check(lab.bound(server) and lab.devices(server) == before,
          'changed: %s', lab.arqs(server))
    lab.delete(server)


@on_libvirt
def libvirt_guest(lab):
    """A guest that runs in QEMU keeps the accelerator of a driver for tests.

    Nova gives guests those of type PCI only, and passes over this one.
    """
    _kept(lab, ('ACTIVE', {'reboot': {'type': 'HARD'}}),
          ('SHUTOFF', {'os-stop': None}), ('ACTIVE', {'os-start': None}),
          ('ACTIVE', {'rebuild': {'imageRef': lab.image}}),
          profile='fpga', host=LIBVIRT)


@on_libvirt
def libvirt_refuses(lab):
    """libvirt starts no guest with a device that it cannot pass through.

    What it was given is right for managed false, true and absent; the device
    is free again, so that the next server gets as far.
    """
    wanted = {'pci': (False, 'no', 'vfio'), 'true': (True, 'yes', None),
              'absent': (None, 'yes', None)}
    for profile, (managed, mode, driver) in wanted.items():
        check(lab.stored_managed(profile) == managed, 'stored: %s',
              lab.stored_managed(profile))
        if lab.cloud.stock_nova:
            # It never asks for 2.4: unsafe with managed false.
            mode, driver = 'yes', None
        for _ in range(2):
            server = lab.create(profile, LIBVIRT)
            lab.reach(server, 'ERROR')
            check(lab.arqs(server) == [], 'requests of a refused guest: %s',
                  lab.arqs(server))
            # Nova stores it after the status.
            fault = lab.wait('the fault', lambda one=server: lab.show(
                one).get('fault'))['message']
            check('PCI' in fault or '0000:d' in fault or 'hosts' in fault,
                  'fault: %s', fault)
            (device,) = lab.cloud.hypervisor.given(server)
            found = device.find('driver')
            given = (_address(device), device.get('managed'),
                     None if found is None else found.get('name'))
            check(given == (lab.address(profile), mode, driver),
                  '%s: libvirt was given %s', profile, given)
            lab.delete(server)
        print('    managed %s: managed=%r, driver %s' % (
            managed, mode, driver))


def _address(device) -> str:
    found = device.find('source/address').attrib
    return '%04x:%02x:%02x.%x' % tuple(
        int(found[key], 16) for key in ('domain', 'bus', 'slot', 'function'))


@on_libvirt
def unshelve_elsewhere(lab):
    """Offloaded from one host, unshelved on the other one, and back."""
    server = lab.boot('fpga')
    lab.bound(server)
    for host in (LIBVIRT, FAKE):
        lab.offload(server)
        check(lab.arqs(server) == [], 'requests: %s', lab.arqs(server))
        lab.act(server, 'ACTIVE', unshelve={'host': host.name})
        lab.bound(server, host=host)
    lab.delete(server)


@on_libvirt
def unshelve_refused(lab):
    """A failed unshelve leaves a bound request in Nova, with no allocation.

    Its device is not given to anybody else, and is free when the server is
    deleted.
    """
    server = lab.boot()
    lab.offload(server)
    lab.nova('POST', '/servers/%s/action' % server,
             {'unshelve': {'host': LIBVIRT.name}})
    lab.wait('libvirt', lambda: lab.cloud.hypervisor.given(server))
    lab.reach(server, 'SHELVED_OFFLOADED')
    (arq,) = lab.bound(server, host=LIBVIRT)
    check(not lab.cloud.sql("SELECT 1 FROM allocations WHERE consumer_id = "
                            "'%s'" % server, 'placement'), 'allocated')
    other = lab.create(host=LIBVIRT)
    lab.reach(other, 'ERROR')
    check(lab.arqs(other) == [], 'requests: %s', lab.arqs(other))
    check(lab.cloud.hypervisor.given(other) == [], 'one device twice')
    check(lab.bound(server, host=LIBVIRT) == [arq], 'lost')
    lab.delete(server, other)


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
    names = options.scenarios or (SHORT if options.short else SCENARIOS)
    if cloud.one_host:
        names = [name for name in names
                 if not hasattr(SCENARIOS[name], 'on_libvirt')]
    failed = 0
    lab.sweep()
    for name in names:
        began = time.monotonic()
        try:
            SCENARIOS[name](lab)
            lab.clean()
            said = 'ok'
        except (Failed, settings.CloudError, OSError, LookupError,
                ValueError):
            failed += 1
            said = 'FAILED\n' + traceback.format_exc(chain=False)
            with contextlib.suppress(Failed, OSError):
                lab.delete(*list(lab.made))
            lab.made.clear()
        print('%-19s %4d s  %s' % (name, time.monotonic() - began, said),
              flush=True)
    print('%d passed, %d failed' % (len(list(names)) - failed, failed))
    return 1 if failed else 0

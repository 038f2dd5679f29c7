# SPDX-License-Identifier: Apache-2.0
"""A deployment of real processes, each of which may be the released 2026.2.

Conductor, agent and API run from the environment of this project or from
one that holds the released package, on one database, one broker and one
Placement.
"""

import json
import os
import pathlib
import subprocess
import sys
import textwrap

import fixtures
import requests

from cyborg.tests.fixtures import needs
from cyborg.tests.fixtures import processes
from cyborg.tests.fixtures import rabbit

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[2]
OURS = pathlib.Path(sys.executable).parent
ADMIN = {'X-User-Id': 'u-admin',
         'X-Project-Id': 'adadadadadad4dad8dadadadadadadad',
         'X-Roles': 'admin,member,reader'}
SERVICE = dict(ADMIN, **{'X-Service-Roles': 'service'})
PLACEMENT = {'X-Auth-Token': 'admin', 'OpenStack-API-Version':
             'placement 1.39'}
PASTE = """
[pipeline:main]
pipeline = request_id api_v2
[app:api_v2]
paste.app_factory = cyborg.api.app:app_factory
[filter:request_id]
paste.filter_factory = oslo_middleware:RequestId.factory
"""


def released() -> pathlib.Path:
    """The ``bin`` folder of an environment with the released 2026.2.

    ``CYBORG_RELEASED_VENV`` names it; ``tools/released-venv`` makes one.
    """
    folder = pathlib.Path(os.environ.get(
        'CYBORG_RELEASED_VENV', ROOT / '.released')) / 'bin'
    if not (folder / 'cyborg-conductor').exists():
        needs.skip_or_fail(
            'no released 2026.2 service: make one with tools/released-venv '
            'and name it in CYBORG_RELEASED_VENV')
    return folder


class Deployment(fixtures.Fixture):
    """Files, Placement, Nova stand-in and broker; services on request.

    :param connection: database URL, shared by all services.
    :param lspci: what ``lspci`` prints for a released agent.
    """

    host = 'compute-1'

    def __init__(self, connection, *, lspci='', options=''):
        super().__init__()
        self.connection, self.lspci = connection, lspci
        self.options = options

    def _setUp(self):
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.transport_url = self.useFixture(rabbit.RabbitVirtualHost()).url
        self._start_placement()
        self.nova_port = processes.free_port()
        self.useFixture(processes.Process(
            [OURS / 'python', HERE / 'serve.py',
             'cyborg.tests.peers.nova_stand_in:application', self.nova_port],
            self.folder / 'nova.log', {
                'PYTHONPATH': str(ROOT),
                'NOVA_EVENTS': str(self.folder / 'events')},
        )).wait_for_port(self.nova_port)
        (self.folder / 'paste.ini').write_text(PASTE)
        fake = self.folder / 'bin' / 'lspci'
        fake.parent.mkdir()
        (self.folder / 'lspci.txt').write_text(self.lspci)
        fake.write_text('#!/bin/sh\ncat %s\n' % (self.folder / 'lspci.txt'))
        fake.chmod(0o755)
        self.configure()

    def _start_placement(self):
        port = processes.free_port()
        folder = self.folder / 'placement'
        folder.mkdir()
        (folder / 'placement.conf').write_text(textwrap.dedent("""
            [placement_database]
            connection = sqlite:///%s/placement.sqlite
            sync_on_startup = true
            [api]
            auth_strategy = noauth2
            """ % folder))
        self.placement = 'http://127.0.0.1:%d' % port
        server = self.useFixture(processes.Process(
            [OURS / 'python', HERE / 'serve.py',
             'placement.wsgi.api:application', port],
            self.folder / 'placement.log',
            {'OS_PLACEMENT_CONFIG_DIR': str(folder)}))
        server.wait_for_port(port)
        self.add_root()

    def add_root(self):
        """A provider for the host, as ``nova-compute`` makes it."""
        requests.post(self.placement + '/resource_providers',
                      headers=PLACEMENT, json={'name': self.host},
                      timeout=300).raise_for_status()

    def configure(self, options=''):
        """Write the configuration file all services read.

        :param options: more text of the same format.
        """
        self.config = self.folder / 'cyborg.conf'
        self.config.write_text(textwrap.dedent("""
            [DEFAULT]
            host = {host}
            state_path = {folder}
            transport_url = {transport}
            rpc_response_timeout = 20
            periodic_interval = 5
            [agent]
            resource_provider_name = {host}
            [api]
            api_paste_config = {folder}/paste.ini
            [database]
            connection = {connection}
            [placement]
            auth_type = admin_token
            endpoint = {placement}
            token = admin
            [nova]
            auth_type = none
            endpoint_override = http://127.0.0.1:{nova}/v2.1
            [oslo_concurrency]
            lock_path = {folder}
            """).format(
                host=self.host, folder=self.folder,
                transport=self.transport_url, nova=self.nova_port,
                connection=self.connection, placement=self.placement)
            + textwrap.dedent(self.options) + textwrap.dedent(options))

    def command(self, bin_folder, name, *arguments):
        """Run a command of either release to its end; its output.

        :raises AssertionError: when it fails.
        """
        done = subprocess.run(
            [str(bin_folder / name), '--config-file', str(self.config),
             *arguments], capture_output=True, text=True, timeout=300)
        if done.returncode:
            raise AssertionError('%s %s: %s\n%s' % (
                name, arguments, done.stdout, done.stderr))
        return done.stdout

    def service(self, bin_folder, name, *arguments, number=1):
        """Start ``cyborg-conductor`` or ``cyborg-agent``."""
        path = '%s:%s:%s' % (self.folder / 'bin', bin_folder,
                             os.environ['PATH'])
        return self.useFixture(processes.Process(
            [bin_folder / name, '--config-file', self.config, *arguments],
            self.folder / ('%s-%d.log' % (name, number)), {'PATH': path}))

    def api(self, bin_folder) -> 'Api':
        """Serve either release's WSGI application."""
        port = processes.free_port()
        process = self.useFixture(processes.Process(
            [bin_folder / 'python', HERE / 'serve.py',
             'cyborg.wsgi.api:application', port, '--config-file',
             self.config], self.folder / ('api-%d.log' % port)))
        process.wait_for_port(port)
        return Api('http://127.0.0.1:%d' % port, process)

    def providers(self) -> dict[str, dict]:
        """Inventories, traits and usage by provider name, root left out."""
        found = {}
        for provider in self._placement('/resource_providers')[
                'resource_providers']:
            if provider['parent_provider_uuid']:
                path = '/resource_providers/%s' % provider['uuid']
                found[provider['name']] = {
                    'uuid': provider['uuid'],
                    'inventories': self._placement(
                        path + '/inventories')['inventories'],
                    'traits': sorted(self._placement(
                        path + '/traits')['traits'])}
        return found

    def _placement(self, path):
        answer = requests.get(self.placement + path, headers=PLACEMENT,
                              timeout=300)
        answer.raise_for_status()
        return answer.json()

    def events(self) -> list[dict]:
        """Events that Nova was sent so far."""
        path = self.folder / 'events'
        if not path.exists():
            return []
        return [json.loads(line) for line in path.read_text().splitlines()]


class Api:
    """A caller of one running REST API, an administrator by default."""

    def __init__(self, url, process=None):
        self.url, self.process = url, process

    def call(self, method, path, body=None, version='2.3', headers=None):
        return requests.request(
            method, self.url + path, json=body, timeout=300,
            headers=dict(headers or ADMIN, **{
                'OpenStack-API-Version': 'accelerator ' + version}))

    def get(self, path, **arguments):
        answer = self.call('GET', path, **arguments)
        answer.raise_for_status()
        return answer.json()

    def request_arqs(self, profile) -> list[str]:
        answer = self.call('POST', '/v2/accelerator_requests',
                           {'device_profile_name': profile})
        answer.raise_for_status()
        return [arq['uuid'] for arq in answer.json()['arqs']]

    def bind(self, arq, host, provider, instance):
        return self.call('PATCH', '/v2/accelerator_requests', {arq: [
            {'op': 'add', 'path': '/' + name, 'value': value}
            for name, value in (('hostname', host),
                                ('device_rp_uuid', provider),
                                ('instance_uuid', instance))]},
            headers=SERVICE)

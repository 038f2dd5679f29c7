# SPDX-License-Identifier: Apache-2.0
"""Consumers of the API in environments of their own, over real HTTP.

Nova, the SDK and the OpenStackClient need other versions of the libraries
than the service does, so each runs in its own environment; what it saw comes
back as JSON. ``tools/run-consumer-tests`` makes the environments.
"""

import importlib.util
import json
import os
import pathlib
import subprocess

import requests

from cyborg.tests import base
from cyborg.tests.fixtures import api
from cyborg.tests.fixtures import needs
from cyborg.tests.fixtures import processes
from cyborg.tests.fixtures import rows
from cyborg.tests.fixtures import wsgi
from cyborg.tests.peers import deployment

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[3]
INSTANCE = '1ce4a597-9836-4e02-bea1-a3a6cbe7b9f9'
PROVIDER = 'f4b7fe6c-8ab4-4914-a113-547af022935b'

#: Settings that attach handles are stored with, by name.
STORED = {'false': {'managed': False, 'stateful': True, 'numa_node': 0},
          'true': {'managed': True},
          'absent': {}}

#: Where a series of patches is, by the name tests use.
SERIES = {'nova': 'nova_patches',
          'sdk': 'client_patches/openstacksdk',
          'client': 'client_patches/python-openstackclient',
          'tempest': 'client_patches/cyborg-tempest-plugin'}


def _patch_series():
    """The program that applies the series, as a module."""
    spec = importlib.util.spec_from_file_location(
        'patch_series', ROOT / 'tools' / 'patch_series.py')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def consumer(name: str, patched: bool) -> tuple[pathlib.Path, pathlib.Path]:
    """The interpreter and the source tree of a consumer.

    :param name: a key of :data:`SERIES`
    :raises unittest.SkipTest: when they were not made; a failure in CI
    """
    module = _patch_series()
    series = module.read_series(ROOT / SERIES[name])
    cache = module.default_cache()
    python = series.venv(cache) / 'bin' / 'python'
    tree = series.tree(cache, patched)
    for path in (python, tree):
        if not path.exists():
            needs.skip_or_fail(
                'no environment for %s %s, %s: make one with '
                'tools/run-consumer-tests --prepare' % (
                    series.package, series.version,
                    'patched' if patched else 'as released'))
    return python, tree


class _Mounted:
    """An application below a prefix, as web servers mount the service.

    Its version documents link to ``/accelerator``, so clients end up there.
    """

    PREFIX = '/accelerator'

    def __init__(self, application):
        self.application = application

    def __call__(self, environ, start_response):
        path = environ['PATH_INFO']
        if not path.startswith(self.PREFIX + '/'):
            start_response('404 Not Found', [])
            return [b'nothing is mounted here']
        below = dict(environ, SCRIPT_NAME=self.PREFIX,
                     PATH_INFO=path[len(self.PREFIX):])
        return self.application(below, start_response)


class _Forward:
    """A WSGI application that sends requests on to another process."""

    def __init__(self, url: str):
        self.url = url

    def __call__(self, environ, start_response):
        headers = {key[5:].replace('_', '-').title(): value
                   for key, value in environ.items()
                   if key.startswith('HTTP_')}
        if environ.get('CONTENT_TYPE'):
            headers['Content-Type'] = environ['CONTENT_TYPE']
        query = environ.get('QUERY_STRING')
        answer = requests.request(
            environ['REQUEST_METHOD'],
            self.url + environ['PATH_INFO'] + ('?' + query if query else ''),
            headers=headers, data=environ['wsgi.input'].read(),
            allow_redirects=False, timeout=300)
        start_response('%d %s' % (answer.status_code, answer.reason), [
            (key, value) for key, value in answer.headers.items()
            if key.lower() not in ('connection', 'content-length', 'date',
                                   'server', 'transfer-encoding')])
        return [answer.content]


class Front(wsgi.WSGIService):
    """An endpoint on a loopback port; it adds an administrator's identity.

    It stands for the authentication middleware, whose work on tokens is no
    concern of these tests.

    :ivar recorder: what consumers asked
    :ivar url: the URL of the catalog
    """

    name = 'accelerator'

    def __init__(self, application):
        super().__init__(http=True)
        self._application = application

    def make_app(self):
        return _Mounted(self._application)

    @property
    def url(self) -> str:
        return self.endpoint + _Mounted.PREFIX + '/v2'

    def extra_environ(self):
        return {'HTTP_' + key.upper().replace('-', '_'): value
                for key, value in api.ADMIN_SERVICE.items()}

    @property
    def versions(self) -> dict[tuple[str, str], set[str | None]]:
        """Microversions asked for, by method and collection, without the
        requests for version documents."""
        found: dict[tuple[str, str], set[str | None]] = {}
        for call in self.recorder.calls:
            collection = call.path.split('?')[0].strip('/').split('/')[2:3]
            if collection:
                found.setdefault((call.method, collection[0]), set()).add(
                    call.microversion)
        return found


class ConsumerTestCase(base.TestCase):
    """A service with bound accelerator requests of one instance.

    :ivar arqs: their UUIDs by what the attach handle is stored with, a key
        of :data:`STORED`
    """

    timeout = 300

    def setUp(self):
        super().setUp()
        self.service = self.useFixture(api.ServiceFixture())
        self.devices = rows.device(handles=4, rp_uuid=PROVIDER)
        self.profile = rows.profile(name='dp-pci')
        self.handles = dict(zip(STORED, self.devices.handles))
        for name, settings in STORED.items():
            self.store(name, **settings)
        self._rows = {name: self._arq(handle)
                      for name, handle in self.handles.items()}
        self.arqs = {name: row.uuid for name, row in self._rows.items()}

    def _arq(self, handle):
        return rows.arq(self.profile, handle, instance_uuid=INSTANCE,
                        project_id=api.ADMIN['X-Project-Id'],
                        hostname='compute-1', device_rp_uuid=PROVIDER)

    def store(self, name: str, **settings) -> None:
        """Give the attach handle of that name these settings alone."""
        rows.change(self.handles[name], in_use=True, attach_info=rows.address(
            function=4 + list(STORED).index(name), bus=0x25, **settings))

    def release(self, name: str) -> None:
        """Let the instance have one request fewer."""
        row = self._rows.pop(name)
        rows.change(row, instance_uuid=None)
        del self.arqs[name]

    def as_2026_2_stored_them(self) -> None:
        """Forget all settings: an agent of 2026.2 knew none."""
        for name in STORED:
            self.store(name)

    def ours(self) -> Front:
        """This service."""
        return self.useFixture(Front(self.service.application))

    def older(self) -> Front:
        """The API of 2026.2, which ends with 2.3, on the same rows."""
        python = deployment.released() / 'python'
        folder = pathlib.Path(self.temp_dir())
        (folder / 'paste.ini').write_text(deployment.PASTE)
        (folder / 'cyborg.conf').write_text(
            '[DEFAULT]\ntransport_url = fake:/\nstate_path = %(folder)s\n'
            '[api]\napi_paste_config = %(folder)s/paste.ini\n'
            '[database]\nconnection = %(url)s\n'
            '[oslo_concurrency]\nlock_path = %(folder)s\n'
            % {'folder': folder, 'url': self.service.db.url})
        port = processes.free_port()
        self.useFixture(processes.Process(
            [python, deployment.HERE / 'serve.py',
             'cyborg.wsgi.api:application', port, '--config-file',
             folder / 'cyborg.conf'], folder / 'api.log',
        )).wait_for_port(port)
        return self.useFixture(Front(_Forward('http://127.0.0.1:%d' % port)))

    def run_probe(self, python, trees, command, environment=None,
                  check: bool = True) -> subprocess.CompletedProcess:
        """Run a command with the interpreter of a consumer.

        :param trees: source trees, first come first served
        :param check: fail the test when the command does
        """
        done = subprocess.run(
            [str(word) for word in (python, *command)],
            cwd=self.temp_dir(), capture_output=True, text=True, timeout=300,
            env={'PATH': os.environ['PATH'], 'HOME': self.temp_dir(),
                 'PYTHONPATH': os.pathsep.join(str(tree) for tree in trees),
                 'PYTHONDONTWRITEBYTECODE': '1', 'LANG': 'C.UTF-8',
                 **(environment or {})})
        if check and done.returncode:
            self.fail('%s ended with %d:\n%s\n%s' % (
                command[0], done.returncode, done.stdout[-3000:],
                done.stderr[-3000:]))
        return done

    def probe(self, name: str, python, trees, *arguments,
              environment=None) -> dict:
        """What a program of ``probes`` saw."""
        output = pathlib.Path(self.temp_dir()) / 'seen.json'
        self.run_probe(python, trees,
                       [HERE / 'probes' / (name + '.py'), output, *arguments],
                       environment)
        return json.loads(output.read_text())

# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of a page as an administrator would type them."""

from importlib import metadata
import os
import pathlib
import re
import shlex
import subprocess
import sys

import fixtures

from cyborg.api import app as api_app
from cyborg.tests.fixtures import api
from cyborg.tests.fixtures import needs
from cyborg.tests.fixtures import pages
from cyborg.tests.fixtures import wsgi

TOKEN = 'a-token-of-a-service-user'
#: ``openstack``: the real client, for the two services that are here. What
#: it is asked of others is written down, and nothing is done.
OPENSTACK = r"""#!/bin/sh
case "$*" in
*"token issue"*) echo %(token)s; exit 0 ;;
*"resource provider"*) endpoint=%(placement)s ;;
*"accelerator "*) endpoint=%(accelerator)s ;;
*) echo "$@" >> %(folder)s/others; exit 0 ;;
esac
exec %(python)s -W ignore -m openstackclient.shell --os-auth-type none \
    --os-endpoint "$endpoint" "$@"
"""


#: Where version documents say that the API is.
_PREFIX = '/accelerator'


class _Mounted(wsgi.WSGIService):
    """An application on a loopback port, below a prefix or not.

    A request is an administrator's; it is also another service's when it has
    the service token, whose check is the authentication middleware's matter.
    """

    def __init__(self, application):
        super().__init__(http=True)
        self._application = application

    def make_app(self):
        def application(environ, start_response):
            environ.update({'HTTP_' + key.upper().replace('-', '_'): value
                            for key, value in api.ADMIN.items()})
            if environ.get('HTTP_X_SERVICE_TOKEN') == TOKEN:
                environ['HTTP_X_SERVICE_ROLES'] = 'service'
            path = environ['PATH_INFO']
            if path.startswith(_PREFIX + '/'):
                environ.update(SCRIPT_NAME=_PREFIX,
                               PATH_INFO=path.removeprefix(_PREFIX))
            return self._application(environ, start_response)
        return application


class Shell(fixtures.Fixture):
    """A shell beside a cloud.

    :param cloud: a ``services.Cloud``
    :ivar others: commands that were for services which are not here
    """

    def __init__(self, cloud):
        super().__init__()
        self._cloud = cloud

    def _setUp(self):
        try:
            metadata.distribution('osc-placement')
        except metadata.PackageNotFoundError:
            needs.skip_or_fail('osc-placement is not installed')
        self._folder = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path)
        accelerator = self.useFixture(_Mounted(api_app.make_app()))
        placement = self.useFixture(_Mounted(self._cloud.placement.recorder))
        self._url = accelerator.endpoint + _PREFIX
        program = self._folder / 'openstack'
        program.write_text(OPENSTACK % {
            'token': TOKEN, 'folder': self._folder, 'python': sys.executable,
            'placement': placement.endpoint,
            'accelerator': self._url + '/v2'})
        program.chmod(0o755)

    def run(self, block: pages.Block, **names: str) -> str:
        """Run a block's commands; what they print.

        :param names: what stands for a word in capitals
        :raises AssertionError: a command failed
        """
        script = commands(block)
        for name, value in names.items():
            script = re.sub(r'\b%s\b' % name, value, script)
        done = subprocess.run(
            ['sh', '-e', '-c', script], cwd=self._folder, text=True,
            capture_output=True, timeout=300, env={
                'PATH': '%s:%s' % (self._folder, os.environ['PATH']),
                'HOME': str(self._folder), 'LANG': 'C.UTF-8',
                'ACCELERATOR': self._url})
        if done.returncode:
            raise AssertionError('%s: %s ended with %s:\n%s%s' % (
                block.where, script, done.returncode, done.stdout,
                done.stderr))
        return done.stdout

    @property
    def others(self) -> list[str]:
        path = self._folder / 'others'
        return path.read_text().splitlines() if path.exists() else []


def commands(block: pages.Block) -> str:
    """The lines after a prompt, and those that go on with one."""
    lines, more = [], False
    for line in block.text.splitlines():
        if line.startswith('$ ') or more:
            lines.append(line.removeprefix('$ '))
            more = line.endswith('\\')
    return '\n'.join(lines) + '\n'


def words(block: pages.Block) -> list[list[str]]:
    """Each command of a block, split into words."""
    return [shlex.split(line) for line in
            commands(block).replace('\\\n', ' ').splitlines()]

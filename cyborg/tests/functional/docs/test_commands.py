# SPDX-License-Identifier: Apache-2.0
"""DOC-1: the commands of all pages.

Those that change or show a state have tests beside the tests of their page;
here the others are run, and every one is read by the client's own parser.
"""

from importlib import metadata
import re
import shlex
from unittest import mock

from cliff import commandmanager

from cyborg.tests import base as tests_base
from cyborg.tests.fixtures import pages
from cyborg.tests.functional.docs import base
from cyborg.tests.functional.docs import shell

LINE = re.compile(r'^ +(?:\$ )?((?:openstack|cyborg-[a-z]+)\b'
                  r'(?:[^\n\\]|\\\n)*)$', re.M)
GROUPS = ('openstack.common', 'openstack.identity.v3', 'openstack.compute.v2',
          'openstack.accelerator.v2', 'openstack.placement.v1',
          'openstack.cli.extension')


def commands(program: str) -> list[tuple[str, list[str]]]:
    """(page, words) of each command of a program in any literal block."""
    pages.blocks()  # or skip
    found = []
    for path in sorted(pages.SOURCE.rglob('*.rst')):
        for match in LINE.finditer(
                pages.without_messages(path.read_text())):
            # A loop's variable counts as one of its values.
            line = match[1].replace('\\\n', ' ').replace(
                '$interface', 'public')
            if '``' in line or not line.startswith(program):
                continue
            found.append((path.name, shlex.split(line, comments=True)))
    return found


def without_global_options(words: list[str]) -> list[str]:
    rest = list(words)
    while rest and rest[0].startswith('--os-'):
        del rest[:2]
    return rest


class ParserTest(tests_base.TestCase):

    def setUp(self):
        super().setUp()
        self.manager = commandmanager.CommandManager('openstack.cli')
        for group in GROUPS:
            self.manager.add_command_group(group)

    def parse(self, words: list[str]) -> None:
        """:raises SystemExit: the client would refuse the arguments"""
        factory, name, rest = self.manager.find_command(words)
        parser = factory(mock.MagicMock(), None).get_parser(name)
        parser.parse_args(rest)

    def test_client(self):
        found = commands('openstack')
        self.assertLess(20, len(found))
        for page, words in found:
            try:
                self.parse(without_global_options(words[1:]))
            except (SystemExit, ValueError) as error:
                self.fail('%s: %s: %s' % (page, words, error))

    def test_a_wrong_one_would_be_seen(self):
        self.assertRaises(ValueError, self.parse, ['accelerator', 'arqs'])
        self.assertRaises(SystemExit, self.parse, [
            'accelerator', 'arq', 'list', '--long-list'])

    def test_ours_exist(self):
        ours = {point.name for point in metadata.entry_points(
            group='console_scripts') if point.value.startswith('cyborg.')}
        found = {words[0] for _page, words in commands('cyborg-')}
        self.assertLess(3, len(found))
        self.assertEqual(set(), found - ours)


class RunTest(base.MessageCase):
    """The commands that only show something, and those of users."""

    page = 'user/index.rst'

    def test_they_run(self):
        self.cloud.plug(base.ONE)
        self.cloud.start_agent()
        arq = self.cloud.bind(base.ONE)
        # Placement knows no such trait before.
        self.cloud.unplug(base.ONE)
        self.cloud.report()
        terminal = self.useFixture(shell.Shell(self.cloud))
        for page in ('admin/errors.rst', 'admin/placement.rst',
                     'user/index.rst'):
            blocks = pages.blocks(page, language='console')
            self.assertNotEqual([], blocks)
            for block in blocks:
                terminal.run(block, UUID=arq)
        self.assertEqual(1, len(terminal.others))
        self.assertIn('my-gpu', self.cloud.api.get(
            '/v2/device_profiles').text)

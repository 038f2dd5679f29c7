# SPDX-License-Identifier: Apache-2.0
"""DOC-1: every id that the tree names is defined in the contributor guide."""

import re

from cyborg.tests import base
from cyborg.tests.fixtures import pages

PAGE = pages.SOURCE / 'contributor/requirements.rst'
GROUPS = ('BASE', 'CFG', 'DSC', 'RPC', 'IND', 'REC', 'MIS', 'API', 'CON',
          'PRV', 'DOC', 'PERF', 'CLEAN', 'ID', 'FAULT')
#: Requirements; reports from the field; hosts from the field, also as a part
#: of a test's name.
_ID = re.compile(
    r'\b(?:(?:%s)-[1-9]\d*|[BF]\d\d)\b|(?<=test_)f\d\d(?=_)'
    % '|'.join(GROUPS))
#: Numbers that mean nothing to a reader of the tree.
_ELSEWHERE = re.compile(r'\bREADME \d|\b[Ii]ssues? #?\d')
_TEXT = {'.py', '.rst', '.yaml', '.yml', '.toml', '.cfg', '.ini', '.sh',
         '.patch', '.txt', ''}
_PLACES = ('cyborg', 'doc/source', 'api-ref/source', 'releasenotes/notes',
           'tools', 'benchmarks', 'devstack', 'tempest_plugin',
           'nova_patches', 'client_patches')


def defined(page: str) -> list[str]:
    """The ids that the page explains, in its order."""
    return re.findall(r'^([A-Z]+-?\d+)\n  \S', page, re.M)


def texts():
    """(path, text) of every file that people read."""
    for place in _PLACES:
        for path in sorted((pages.ROOT / place).rglob('*')):
            if path.suffix in _TEXT and path.is_file() and not (
                    {'__pycache__', 'build', '.tox'} & set(path.parts)):
                yield path, path.read_text(errors='replace')


class TestRequirementsPage(base.TestCase):

    def setUp(self):
        super().setUp()
        if not PAGE.exists():
            self.skipTest('no documentation beside the installed package')

    def test_every_id_is_defined(self):
        known = set(defined(PAGE.read_text()))
        unknown = sorted({
            '%s: %s' % (path.relative_to(pages.ROOT), match[0])
            for path, text in texts() for match in _ID.finditer(text)
            if match[0].upper() not in known})
        self.assertEqual([], unknown)

    def test_no_id_is_defined_twice(self):
        ids = defined(PAGE.read_text())
        self.assertEqual(sorted(set(ids)), sorted(ids))

    def test_no_number_of_another_list(self):
        """A reader of the tree cannot look up what stands elsewhere."""
        found = ['%s: %s' % (path.relative_to(pages.ROOT), line.strip())
                 for path, text in texts() if path.suffix != '.patch'
                 and path != PAGE and path.name != 'test_requirements_page.py'
                 for line in text.splitlines() if _ELSEWHERE.search(line)]
        self.assertEqual([], found)

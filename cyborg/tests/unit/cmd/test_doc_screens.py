# SPDX-License-Identifier: Apache-2.0
"""The screens in the administrator guide are what the commands print."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import cyborg
from cyborg.tests import base

ROOT = pathlib.Path(cyborg.__file__).parent.parent
SCRIPT = ROOT / 'tools/doc_screens.py'
GENERATED = ROOT / 'doc/source/admin/generated'


class DocScreensTest(base.TestCase):

    def setUp(self):
        super().setUp()
        if not SCRIPT.exists():
            self.skipTest('%s is not here: not a clone of the repository'
                          % SCRIPT)

    def run_script(self, directory):
        return subprocess.run(
            [sys.executable, '-W', 'ignore', SCRIPT, '--check',
             '--directory', directory], capture_output=True, text=True,
            timeout=300, env=dict(os.environ, COLUMNS='50'))

    def test_they_are_up_to_date(self):
        """DOC-1; run tools/doc_screens.py when this fails."""
        done = self.run_script(GENERATED)
        self.assertEqual((0, ''), (done.returncode, done.stdout), done.stderr)

    def test_a_difference_is_seen(self):
        copy = pathlib.Path(self.temp_dir()) / 'generated'
        shutil.copytree(GENERATED, copy)
        (copy / 'tree.txt').write_text('another\n')
        (copy / 'list.conf').unlink()
        done = self.run_script(copy)
        self.assertEqual((1, 'differs: list.conf\ndiffers: tree.txt\n'),
                         (done.returncode, done.stdout), done.stderr)

    def test_every_file_is_shown(self):
        page = (GENERATED.parent / 'pci-devices.rst').read_text()
        files = {path.name for path in GENERATED.iterdir()}
        self.assertEqual(set(), {name for name in files
                                 if 'generated/' + name not in page})
        self.assertLessEqual(3, len([name for name in files if re.fullmatch(
            r'error-.*\.txt', name)]))

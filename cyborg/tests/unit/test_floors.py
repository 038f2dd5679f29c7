# SPDX-License-Identifier: Apache-2.0
"""BASE-4 and the architecture: imports point down."""

import os
import subprocess
import sys

import testtools

from cyborg.conf import default
from cyborg.tests import base


@testtools.skipUnless(
    os.path.exists(os.path.join(default.PACKAGE_PARENT, '.importlinter')),
    'only in a clone')
class FloorsTest(base.TestCase):

    def test_contracts_are_kept(self):
        result = subprocess.run(
            [sys.executable, '-c',
             'import sys; from importlinter import cli; '
             'sys.exit(cli.lint_imports(no_cache=True))'],
            cwd=default.PACKAGE_PARENT, capture_output=True, text=True,
            timeout=300)
        self.assertEqual(0, result.returncode,
                         result.stdout + result.stderr)

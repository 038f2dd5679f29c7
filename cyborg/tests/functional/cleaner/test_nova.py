# SPDX-License-Identifier: Apache-2.0
"""CLEAN-1, CLEAN-3, CLEAN-9, CLEAN-28: the failure table with Nova itself.

Each story runs in Nova's own functional-test harness, from its source tree
and with its interpreter; see ``probes/stories.py``.
"""

import os
import pathlib
import re
import subprocess
import sys

import testscenarios

from cyborg.tests import amount
from cyborg.tests import base
from cyborg.tests.functional.consumers import base as consumers

PLACE = pathlib.Path(__file__).parent / 'probes'
STORIES = re.findall(r'    def (test_\w+)\(self\)',
                     (PLACE / 'stories.py').read_text())
#: The rest is for a whole run: each story starts a Nova.
GATE = ('test_the_story_of_the_document',
        'test_made_anew_as_the_device_was_absent')


class NovaTest(testscenarios.WithScenarios, base.TestCase):

    timeout = 600
    scenarios = [(name.removeprefix('test_'), {'story': name})
                 for name in STORIES if name in GATE or amount.amount(
                     'CYBORG_TEST_CLEANER_NOVA', 0, 1)]

    def test_story(self):
        """The failure table, a row a story."""
        python, tree = consumers.consumer('nova', patched=False)
        done = subprocess.run(
            [python, '-W', 'ignore', PLACE / 'stories.py', sys.executable,
             PLACE / 'compute_host.py', self.story], cwd=tree,
            env={'PATH': os.environ['PATH'], 'HOME': os.environ.get(
                'HOME', '/'), 'PYTHONPATH': str(tree), 'LANG': 'C.UTF-8',
                'LANGUAGE': 'en_US',
                'OS_NOVA_DISABLE_EVENTLET_PATCHING': 'True'},
            capture_output=True, text=True, timeout=500)
        self.assertEqual(0, done.returncode, done.stderr[-8000:])
        self.assertIn('Ran 1 test', done.stderr)

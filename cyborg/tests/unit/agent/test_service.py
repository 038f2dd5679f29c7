# SPDX-License-Identifier: Apache-2.0

import pathlib
import re

import fixtures

from cyborg import accelerator
from cyborg import agent
from cyborg.agent import service
from cyborg.conf import CONF
from cyborg.tests import base


class OptionErrorsTest(base.TestCase):

    def test_each_group_that_is_read_is_looked_at(self):
        """A value of a wrong type is told at the start, not when it is due."""
        self.useFixture(fixtures.MonkeyPatch(
            'cyborg.common.option_values.errors',
            lambda conf, *groups: groups))
        read = {name for package in (agent, accelerator)
                for path in pathlib.Path(package.__path__[0]).rglob('*.py')
                for name in re.findall(r'\bCONF\.(\w+)', path.read_text())
                if name in CONF._groups}
        self.assertIn('agent', read)
        self.assertEqual(set(), read - set(service.option_errors()))

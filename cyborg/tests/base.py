# SPDX-License-Identifier: Apache-2.0
"""The base class of all tests."""

import os

import fixtures
import testtools

from cyborg.common import context
from cyborg.tests.fixtures import conf as conf_fixture
from cyborg.tests.fixtures import logging as log_fixture

# Seconds after which a hanging test fails.
TIMEOUT = int(os.environ.get('OS_TEST_TIMEOUT', '600'))


class TestCase(testtools.TestCase):
    """Fresh configuration, captured logs, a time limit.

    ``self.conf`` is the :class:`~cyborg.tests.fixtures.conf.ConfFixture`,
    ``self.logs`` the :class:`~cyborg.tests.fixtures.logging.LogFixture`.
    """

    #: Seconds; a class with slower tests sets more.
    timeout = TIMEOUT

    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.Timeout(max(self.timeout, TIMEOUT),
                                         gentle=True))
        # A first failure shows what was logged.
        self.logs = self.useFixture(log_fixture.LogFixture())
        self.addOnException(self._attach_logs)
        self.conf = self.useFixture(conf_fixture.ConfFixture())
        self.context = context.get_admin_context()

    def run_alone(self) -> None:
        """Run without a test runner, as a benchmark does.

        What fails is raised, and leaves no process and no database behind.
        """
        try:
            self.debug()
        finally:
            self.doCleanups()

    def _attach_logs(self, exc_info):
        self.addDetail('log', testtools.content.text_content(self.logs.text))

    def temp_dir(self) -> str:
        """A directory that is removed after the test."""
        return self.useFixture(fixtures.TempDir()).path

    def assertLogged(self, level: str, text: str) -> None:
        """One message of that level holds the text."""
        messages = self.logs.messages(level)
        if not any(text in message for message in messages):
            self.fail('%r is in none of these %s messages: %s' %
                      (text, level, messages))

    def assertNotLogged(self, level: str, text: str = '') -> None:
        found = [message for message in self.logs.messages(level)
                 if text in message]
        self.assertEqual([], found)

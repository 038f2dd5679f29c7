# SPDX-License-Identifier: Apache-2.0
"""Holds messages that a page shows to what the service says."""

import testtools

from cyborg.tests import base
from cyborg.tests.fixtures import pages
from cyborg.tests.fixtures import services

ONE, TWO, NVME, NVME2 = ('0000:25:00.4', '0000:25:00.5', '0000:45:00.0',
                         '0000:46:00.0')


class MessageCase(base.TestCase):
    """A host, the services around it, and one page.

    Each test is named after the message it lets the service say.
    """

    #: Path below ``doc/source``.
    page: str

    def setUp(self):
        super().setUp()
        self.messages = pages.messages(self.page)
        self.cloud = self.useFixture(
            services.InOneProcess(self.conf, self.logs))

    def assertShown(self, said: str) -> None:
        """The page has this under the test's name."""
        name = name_of(self._testMethodName)
        self.assertEqual(self.messages.get(name), pages.normal(said), name)

    def refused(self) -> str:
        """Why the agent does not start."""
        self.cloud.stop_agent()
        return str(self.assertRaises(services.StartRefused,
                                     self.cloud.start_agent))

    def line(self, level: str, part: str) -> str:
        """The one message of that level with ``part`` in it."""
        found = [message for message in self.logs.messages(level)
                 if part in message]
        self.assertEqual(1, len(found), (part, self.logs.messages(level)))
        return found[0]

    def execute(self, statement: str) -> None:
        """Write to the database behind everybody's back."""
        with self.cloud.db.engine.begin() as connection:
            connection.exec_driver_sql(statement)


def name_of(method: str) -> str:
    return method.removeprefix('test_').replace('_', '-')


class Completeness(testtools.TestCase):
    """Mixed into one test a page: no message is without its test."""

    page: str
    cases: tuple[type, ...]

    def test_every_message_has_its_test(self):
        """DOC-1"""
        tests = {name_of(name) for case in self.cases
                 for name in dir(case) if name.startswith('test_')}
        self.assertEqual(set(pages.messages(self.page)), tests)

# SPDX-License-Identifier: Apache-2.0
"""No test is passed over where its servers were promised."""

import unittest

import fixtures

from cyborg.tests import base
from cyborg.tests.fixtures import database
from cyborg.tests.fixtures import needs
from cyborg.tests.fixtures import rabbit


class NeedsTest(base.TestCase):

    def ci(self, value: str | None) -> None:
        self.useFixture(fixtures.EnvironmentVariable('CI', value))

    def test_a_failure_in_ci(self):
        for value in ('true', 'True', 'TRUE'):
            self.ci(value)
            error = self.assertRaises(AssertionError, needs.skip_or_fail,
                                      'no broker')
            self.assertEqual('no broker', str(error))

    def test_a_skip_elsewhere(self):
        for value in (None, '', 'false'):
            self.ci(value)
            # assertRaises would take the skip for its own.
            with self.assertRaisesRegex(unittest.SkipTest, 'no broker'):
                needs.skip_or_fail('no broker')

    def test_a_database_server_that_is_not_there(self):
        self.ci('True')
        self.useFixture(fixtures.MonkeyPatch(
            'cyborg.tests.fixtures.database.SERVERS', {
                'mariadb': 'mysql+pymysql://root@127.0.0.1:1/{name}'}))
        error = self.assertRaises(
            AssertionError, database._Server('mariadb').take, False)
        self.assertIn('mariadb is not reachable', str(error))

    def test_a_broker_that_is_not_there(self):
        self.ci('True')
        self.useFixture(fixtures.MonkeyPatch(
            'cyborg.tests.fixtures.rabbit.ADDRESS', ('127.0.0.1', 1)))
        error = self.assertRaises(AssertionError,
                                  rabbit.RabbitVirtualHost()._setUp)
        self.assertIn('no RabbitMQ at 127.0.0.1:1', str(error))

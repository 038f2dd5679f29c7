# SPDX-License-Identifier: Apache-2.0
"""Database tests run on each kind of database."""

import testscenarios

from cyborg.tests import base
from cyborg.tests.fixtures import database


class DatabaseTestCase(testscenarios.WithScenarios, base.TestCase):
    """Has an empty database with the schema, in ``self.db``.

    Runs once for each of ``scenarios``; by default on every database.
    """

    scenarios = database.SCENARIOS
    schema = True

    def setUp(self):
        super().setUp()
        self.db = self.useFixture(
            database.DATABASES[self.database](schema=self.schema))

# SPDX-License-Identifier: Apache-2.0

from cyborg.tests import base
from cyborg.tests.fixtures import services
from cyborg.tests.functional.agent import base as agent_base
from cyborg.tests.functional.agent import scenarios
from cyborg.tests.functional.agent import scenarios_later


class TestInOneProcess(scenarios.StartScenarios,
                       scenarios_later.LaterScenarios, base.TestCase):
    """Agent, conductor, API and Placement in this process, on SQLite."""

    def setUp(self):
        super().setUp()
        self.cloud = self.useFixture(
            services.InOneProcess(self.conf, self.logs))


class TestOnMariaDB(scenarios.StartScenarios,
                    scenarios_later.LaterScenarios,
                    agent_base.ServersTestCase):
    """The commands, over RabbitMQ."""

    timeout = 180
    database = 'mariadb'


class TestOnPostgreSQL(TestOnMariaDB):

    database = 'postgresql'

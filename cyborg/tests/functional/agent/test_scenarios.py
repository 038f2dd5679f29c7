# SPDX-License-Identifier: Apache-2.0

from cyborg.tests import base
from cyborg.tests.fixtures import servers
from cyborg.tests.fixtures import services
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
                    scenarios_later.LaterScenarios, base.TestCase):
    """The commands, over RabbitMQ."""

    timeout = 180
    database = 'mariadb'

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.servers = servers.RealServers(cls.database)
        cls.addClassCleanup(cls.servers.cleanUp)
        cls.servers.setUp()

    def setUp(self):
        super().setUp()
        self.cloud = self.useFixture(
            servers.InProcesses(self.conf, self.servers))


class TestOnPostgreSQL(TestOnMariaDB):

    database = 'postgresql'

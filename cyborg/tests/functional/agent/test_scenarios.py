# SPDX-License-Identifier: Apache-2.0

from cyborg.tests import base
from cyborg.tests.fixtures import services
from cyborg.tests.functional.agent import scenarios


class TestInOneProcess(scenarios.Scenarios, base.TestCase):
    """Agent, conductor, API and Placement in this process, on SQLite."""

    def setUp(self):
        super().setUp()
        self.cloud = self.useFixture(
            services.InOneProcess(self.conf, self.logs))


class TestOnMariaDB(scenarios.Scenarios, base.TestCase):
    """The commands, over RabbitMQ."""

    timeout = 180
    database = 'mariadb'

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.servers = services.RealServers(cls.database)
        cls.addClassCleanup(cls.servers.cleanUp)
        cls.servers.setUp()

    def setUp(self):
        super().setUp()
        self.cloud = self.useFixture(
            services.InProcesses(self.conf, self.servers))


class TestOnPostgreSQL(TestOnMariaDB):

    database = 'postgresql'

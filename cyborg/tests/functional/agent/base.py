# SPDX-License-Identifier: Apache-2.0
"""Tests of the commands, whose servers a whole class shares."""

from cyborg.tests import base
from cyborg.tests.fixtures import servers


class ServersTestCase(base.TestCase):
    """Each test has a host of its own in ``self.cloud``."""

    database = 'mariadb'
    real_servers = servers.RealServers

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.servers = cls.real_servers(cls.database)
        cls.addClassCleanup(cls.servers.cleanUp)
        cls.servers.setUp()

    def setUp(self):
        super().setUp()
        self.cloud = self.useFixture(
            servers.InProcesses(self.conf, self.servers))

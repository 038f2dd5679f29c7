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

# SPDX-License-Identifier: Apache-2.0
"""Caps of the conductor's client, looked at without a transport."""

from cyborg.agent import rpcapi as agent_rpcapi
from cyborg.common import exception
from cyborg.common import rpc
from cyborg.conductor import rpcapi
from cyborg.tests import base


class CapTest(base.TestCase):

    def cap(self, value):
        self.conf.set(group='upgrade_levels', conductor=value)
        return rpcapi.ConductorAPI()

    def test_local_check(self):
        """RPC-1, CFG-6: no transport exists, so nothing can be sent."""
        self.assertFalse(rpc.initialized())
        for value, supported in ((None, True), ('1.1', True), ('1.0', False),
                                 ('2026.1', False), ('2026.2', False),
                                 ('2027.1', True), (' 1.1 ', True)):
            self.assertIs(supported,
                          self.cap(value).supports_object_indirection(),
                          value)

    def test_unusable_values(self):
        """CFG-6: an error at the start that names option and choices."""
        for value in ('auto', '2.0', '1.2', '1', 'x.y', '', '2020.1',
                      '1.1.1', '-1.0'):
            error = self.assertRaises(exception.UpgradeLevelInvalid,
                                      self.cap, value)
            self.assertIn('[upgrade_levels] conductor = ' + value,
                          error.message)
            self.assertIn('2026.2, 2027.1', error.message)

    def test_newest_version_is_that_of_the_endpoint(self):
        from cyborg.conductor import manager
        self.assertEqual(manager.ConductorManager.target.version,
                         rpcapi.ConductorAPI.RPC_API_VERSION)
        self.assertEqual(rpcapi.ConductorAPI.RPC_API_VERSION,
                         rpcapi.VERSION_ALIASES['2027.1'])

    def test_agent_cap(self):
        self.conf.set(group='upgrade_levels', agent='9.9')
        self.assertRaises(exception.UpgradeLevelInvalid,
                          agent_rpcapi.AgentAPI)

# SPDX-License-Identifier: Apache-2.0
"""Caps of the conductor's client, looked at without a transport."""

from cyborg import objects
from cyborg.common import exception
from cyborg.common import rpc
from cyborg.conductor import rpcapi as earlier_rpcapi
from cyborg.objects import base as objects_base
from cyborg.rpcapi import agent as agent_rpcapi
from cyborg.rpcapi import conductor as conductor_rpcapi
from cyborg.tests import base

objects.register_all()


class _Bus:
    """In place of the message bus: what would be sent, and as what."""

    def __init__(self):
        self.calls = []

    def prepare(self, version, **options):
        self.version = version
        return self

    def call(self, context, method, **kwargs):
        self.calls.append((method, self.version, kwargs))


class CapTest(base.TestCase):

    def cap(self, value):
        self.conf.set(group='upgrade_levels', conductor=value)
        return conductor_rpcapi.ConductorAPI()

    def test_local_check(self):
        """RPC-1, CFG-6: no transport exists, so nothing can be sent."""
        self.assertFalse(rpc.initialized())
        for value, supported in ((None, True), ('1.1', True), ('1.0', False),
                                 ('2026.1', False), ('2026.2', False),
                                 ('2027.1', True), (' 1.1 ', True)):
            self.assertIs(supported,
                          self.cap(value).supports_object_indirection(),
                          value)

    def test_new_text_goes_out_in_a_version_that_2026_2_refuses(self):
        """ID-7: and under a cap as that release knows it."""
        for value, version, object_version in (
                (None, '1.1', '1.3'), ('2027.1', '1.1', '1.3'),
                ('1.0', '1.0', '1.2'), ('2026.2', '1.0', '1.2')):
            conductor, bus = self.cap(value), _Bus()
            vars(conductor)['client'] = bus
            conductor.report_data(self.context, 'compute-1', [])
            conductor.arq_create(
                self.context, objects.ExtARQ(arq=objects.ARQ()), 1)
            self.assertEqual([('report_data', version),
                              ('arq_create', version)],
                             [call[:2] for call in bus.calls])
            sent = objects_base.CyborgObjectSerializer().serialize_entity(
                self.context, bus.calls[1][2]['obj_extarq'])
            self.assertEqual(object_version, sent['cyborg_object.version'])

    def test_what_2026_2_understands_goes_out_as_it_knows_it(self):
        """BASE-1"""
        conductor, bus = self.cap(None), _Bus()
        vars(conductor)['client'] = bus
        conductor.device_profile_create(self.context, object())
        conductor.arq_apply_patch(self.context, {}, {})
        self.assertEqual({'1.0'}, {version for _, version, _ in bus.calls})

    def test_unusable_values(self):
        """CFG-6: an error at the start that names option and choices."""
        for value in ('auto', '2.0', '1.3', '1', 'x.y', '', '2020.1',
                      '1.1.1', '-1.0'):
            error = self.assertRaises(exception.UpgradeLevelInvalid,
                                      self.cap, value)
            self.assertIn('[upgrade_levels] conductor = ' + value,
                          error.message)
            self.assertIn('2026.2, 2027.1', error.message)

    def test_newest_version_is_that_of_the_endpoint(self):
        from cyborg.conductor import manager
        self.assertEqual(manager.ConductorManager.target.version,
                         conductor_rpcapi.ConductorAPI.RPC_API_VERSION)
        self.assertEqual(conductor_rpcapi.ConductorAPI.RPC_API_VERSION,
                         conductor_rpcapi.VERSION_ALIASES['2027.1'])

    def test_agent_cap(self):
        self.conf.set(group='upgrade_levels', agent='9.9')
        self.assertRaises(exception.UpgradeLevelInvalid,
                          agent_rpcapi.AgentAPI)

    def test_drivers_find_it_where_it_was(self):
        """The page for drivers told that place."""
        self.assertIs(conductor_rpcapi.ConductorAPI,
                      earlier_rpcapi.ConductorAPI)

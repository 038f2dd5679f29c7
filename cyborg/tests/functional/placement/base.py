# SPDX-License-Identifier: Apache-2.0
"""A host with a provider of its own in a real Placement."""

from cyborg.conductor.providers import sync as provider_sync
from cyborg.placement import client
from cyborg.placement import provider_plan
from cyborg.tests import base
from cyborg.tests.fixtures import placement

HOST = 'compute-2'
MARK = 'CUSTOM_CYBORG_MISSING'
OWNER = 'OWNER_CYBORG'


def wanted(address='01:00.0', rc='CUSTOM_PCI', total=1, traits=('CUSTOM_A',),
           host=HOST, **others):
    """The provider of one device of the host."""
    name = others.pop('name', '%s_0000:%s' % (host, address))
    return provider_plan.DesiredProvider(
        others.pop('uuid', provider_plan.provider_uuid(name)), name, rc, total,
        traits=frozenset(traits), **others)


class PlacementTestCase(base.TestCase):

    def setUp(self):
        super().setUp()
        self.placement = self.useFixture(placement.PlacementFixture())
        self.root = self.placement.add_provider(HOST)
        self.client = client.PlacementClient()
        self.sync = self.new_sync()

    def new_sync(self):
        """As after a restart of the conductor: nothing is remembered."""
        return provider_sync.ProviderSync(client.PlacementClient())

    def report(self, *desired, removed=(), sync=None, host=HOST):
        """One report; returns (result, calls as 'METHOD path' texts)."""
        known = set(self.placement.providers(self.root).values())
        changed = {d.uuid for d in desired if d.uuid not in known}
        self.placement.forget_calls()
        result = (sync or self.sync).sync(
            self.context, host, list(desired), changed, list(removed))
        return result, [str(call) for call in self.placement.calls]

    def kinds(self, result):
        return [outcome.kind for outcome in result.by_uuid.values()]

    def assertProvider(self, uuid, amounts, *traits):
        """``amounts``: resource class -> (total, reserved)"""
        self.assertEqual(amounts, self.placement.amounts(uuid))
        self.assertEqual({OWNER, *traits}, self.placement.traits(uuid))

    def assertConverges(self, *desired, removed=(), sync=None):
        """The next report ends as wanted, the one after changes nothing."""
        result, _calls = self.report(*desired, removed=removed, sync=sync)
        self.assertEqual({}, result.failed)
        for want in desired:
            self.assertEqual(
                {want.resource_class: (want.total, want.missing)},
                self.placement.amounts(want.uuid))
            marks = {MARK} if want.missing else set()
            self.assertEqual({OWNER, *want.traits} | marks,
                             self.placement.traits(want.uuid))
        for gone in removed:
            self.assertIsNone(self.placement.provider(gone.uuid))
        _result, calls = self.report(*desired, sync=sync)
        self.assertEqual(1 if desired else 0, len(calls), calls)

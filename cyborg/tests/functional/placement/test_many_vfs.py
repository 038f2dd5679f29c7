# SPDX-License-Identifier: Apache-2.0
"""Hosts with many equal providers, as one for each VF."""

from cyborg.tests.fixtures import placement
from cyborg.tests.functional.placement import base
from cyborg.tests.functional.placement.base import wanted

HOSTS = ('vf-host-1', 'vf-host-2')


class ManyVFsTestCase(base.PlacementTestCase):
    """B37: 64 VFs on 2 PFs, and a guest that wants three of them."""

    def _candidates(self, **options):
        self.placement = self.useFixture(
            placement.PlacementFixture(**options))
        self.sync = self.new_sync()
        hosts = {}
        for host in HOSTS:
            self.root = self.placement.add_provider(host)
            devices = [wanted('%02x:%02x.%d' % (pf, vf // 8 + 1, vf % 8),
                              host=host)
                       for pf in (0x3b, 0x5e) for vf in range(32)]
            result, _calls = self.report(*devices, host=host)
            self.assertEqual({}, result.failed)
            hosts.update({device.uuid: host for device in devices})
        found = self.placement.candidate_providers(*['CUSTOM_PCI:1'] * 3)
        for candidate in found:
            self.assertEqual(1, len({hosts[uuid] for uuid in candidate}))
        return len(found), {hosts[uuid] for c in found for uuid in c}

    def test_documented_setting(self):
        self.assertEqual((1000, set(HOSTS)), self._candidates(
            max_allocation_candidates=1000,
            allocation_candidates_generation_strategy='breadth-first'))

    def test_limit_alone_leaves_hosts_out(self):
        """Why the documentation asks for the strategy, too."""
        count, hosts = self._candidates(max_allocation_candidates=1000)
        self.assertEqual((1000, 1), (count, len(hosts)))

# SPDX-License-Identifier: Apache-2.0
"""Reports that change managed modes, beside binds, at random moments."""

import random
import threading
import time

from cyborg.agent import resource_tracker
from cyborg.common import exception
from cyborg.rpcapi import conductor as conductor_rpcapi
from cyborg.tests import amount
from cyborg.tests import base
from cyborg.tests.fixtures import services

ADDRESSES = ('0000:25:00.1', '0000:25:00.2')
#: Reports made; a campaign makes 500.
REPORTS = amount.amount('CYBORG_TEST_RACES', 20, 200)


class TestRandomRaces(base.TestCase):
    """REC-3..5: a bound device never changes its mode."""

    timeout = 900

    def setUp(self):
        super().setUp()
        self.cloud = self.useFixture(
            services.InOneProcess(self.conf, self.logs))
        self.cloud.plug(*ADDRESSES)
        self.trackers = {}
        for managed in (True, False):
            self.cloud.configure('pci', device_spec=[
                services.rule(managed=managed)])
            self.cloud.restart_agent()
            self.trackers[managed] = resource_tracker.ResourceTracker(
                self.cloud.agent.tracker.drivers,
                conductor_rpcapi.ConductorAPI())
        self.outcomes = {'reported': 0, 'refused': 0, 'changed': 0}
        self.errors = []
        self.over = threading.Event()

    def guests(self, address, dice):
        """Bind, look twice, delete; until the reports are over."""
        while not self.over.is_set():
            try:
                arq = self.cloud.bind(address)
                seen = set()
                for _ in range(2):
                    shown = self.cloud.arq(arq)
                    seen.add((shown['state'], shown['attach_handle_uuid'],
                              shown['attach_handle_info']['managed']))
                    time.sleep(dice.random() * 0.05)
                self.cloud.delete(arq)
                if len(seen) != 1 or 'Bound' not in next(iter(seen)):
                    self.errors.append((address, seen))
                time.sleep(dice.random() * 0.1)
            except Exception as error:
                self.errors.append((address, error))
                return

    def report(self, managed):
        try:
            self.trackers[managed].report(self.context, 'compute-1')
            self.outcomes['reported'] += 1
        except exception.ManagedModeConflict:
            self.outcomes['refused'] += 1
        except exception.AttachHandleChanged:
            self.outcomes['changed'] += 1

    def test_bound_devices_keep_their_mode(self):
        dice = random.Random(20270)
        identity = {address: handle.uuid for address, handle
                    in self.cloud.handles().items()}
        threads = [threading.Thread(target=self.guests, args=(
            address, random.Random(number)))
            for number, address in enumerate(ADDRESSES)]
        # The profile is made once, before both ask for it.
        self.assertTrue(self.cloud.profile)
        for thread in threads:
            thread.start()
        try:
            for _ in range(REPORTS):
                self.report(dice.random() < 0.5)
                time.sleep(dice.random() * 0.05)
        finally:
            self.over.set()
            for thread in threads:
                thread.join()
        self.assertEqual([], self.errors)
        self.assertGreater(self.outcomes['reported'], 0, self.outcomes)
        self.assertGreater(self.outcomes['refused'], 0, self.outcomes)
        # All is free now, so either mode is taken on, and nothing was lost.
        for managed in (True, False):
            self.trackers[managed].report(self.context, 'compute-1')
            handles = self.cloud.handles()
            self.assertEqual(identity, {
                address: handle.uuid for address, handle in handles.items()})
            for handle in handles.values():
                self.assertFalse(handle.allocated)
                self.assertEqual(
                    managed, '"managed": false' not in handle.attach_info)

# SPDX-License-Identifier: Apache-2.0
"""A first report that takes longer than its agent waits (PERF-3)."""

import threading

import oslo_messaging as messaging

from cyborg.tests.fixtures import processes
from cyborg.tests.functional.conductor import base
from cyborg.tests.functional.conductor import test_costs

COUNT = 40


class SlowReportTest(base.ConductorTestCase):

    def test_it_goes_on(self):
        """What is written once is not written again by the next report."""
        devices = test_costs.devices(COUNT)
        gate = threading.Event()
        self.addCleanup(gate.set)
        self.placement.before('POST /resource_providers', gate.wait, skip=20,
                              times=None)
        self.assertRaises(
            messaging.MessagingTimeout, self.conductor.report_data,
            self.context, base.HOST, devices, timeout=2)
        # The next one comes when the agent has given up the first.
        following = threading.Thread(
            target=self.report, args=devices, daemon=True)
        following.start()
        gate.set()
        following.join(300)
        self.assertFalse(following.is_alive())
        processes.wait_until(lambda: len(self.noted()) == COUNT,
                             'providers of all devices')
        sent = [(call.method, call.path, str(call.body))
                for call in self.placement.calls if call.method != 'GET']
        self.assertEqual(sorted(set(sent)), sorted(sent))
        self.placement.forget_calls()
        self.report(*devices)
        self.assertEqual(['GET'], [call.method
                                   for call in self.placement.calls])

    def noted(self) -> list[str]:
        return [deployable.rp_uuid for device in self.host().devices
                for deployable in device.deployables if deployable.rp_uuid]

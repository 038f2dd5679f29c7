# SPDX-License-Identifier: Apache-2.0
"""A first report that takes longer than its agent waits (PERF-3)."""

import threading

import oslo_messaging as messaging

from cyborg.common import exception
from cyborg.tests.fixtures import processes
from cyborg.tests.fixtures import wsgi
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
        processes.wait_until(lambda: len(noted(self.host())) == COUNT,
                             'providers of all devices')
        sent = [(call.method, call.path, str(call.body))
                for call in self.placement.calls if call.method != 'GET']
        self.assertEqual(sorted(set(sent)), sorted(sent))
        self.placement.forget_calls()
        self.report(*devices)
        self.assertEqual(['GET'], [call.method
                                   for call in self.placement.calls])



class AnsweredEarlyTest(base.ConductorTestCase):
    """By a conductor as the service starts it."""

    def setUp(self):
        super().setUp()
        self.patient = self.start_conductor('conductor-2', patience=0.5)
        self.gate = threading.Event()
        self.addCleanup(self.gate.set)

    def test_it_goes_on(self):
        devices = test_costs.devices(COUNT)
        self.placement.before('POST /resource_providers', self.gate.wait,
                              skip=20, times=None)
        self.report(*devices, by=self.patient)
        self.assertIn('The report of host compute-1 goes on; it is answered '
                      'before it is over, since it takes longer than 0.5 s.',
                      self.logs.text)
        self.assertLess(len(noted(self.host())), COUNT)
        self.gate.set()
        self.patient._stop()
        self.assertEqual(COUNT, len(noted(self.host())))

    def test_it_fails_later(self):
        def fails():
            self.gate.wait()
            return wsgi.Fault('', status=503)

        self.placement.before('GET /resource_providers', fails)
        self.report(base.device(1), by=self.patient)
        self.assertNotIn('failed after', self.logs.text)
        self.gate.set()
        self.patient._stop()
        self.assertIn('The report of host compute-1 failed after it was '
                      'answered; the next one tries again: Placement failed '
                      'to answer: status 503', self.logs.text)
        self.report(base.device(1))
        self.assertEqual(1, len(noted(self.host())))

    def test_it_fails_in_time(self):
        """The agent hears of it."""
        self.placement.fail('GET /resource_providers', status=503)
        error = self.assertRaises(base.EXPECTED, self.report, base.device(1),
                                  by=self.patient)
        self.assertIsInstance(error.exc_info[1],
                              exception.PlacementServerError)


def noted(host) -> list[str]:
    return [deployable.rp_uuid for device in host.devices
            for deployable in device.deployables if deployable.rp_uuid]

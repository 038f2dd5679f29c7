# SPDX-License-Identifier: Apache-2.0
"""An agent whose host has not changed sends two digests (PERF-5)."""

import oslo_messaging as messaging

from cyborg.tests import base
from cyborg.tests.fixtures import services

ONE, TWO = '0000:25:00.1', '0000:25:00.2'
WHOLE = ['object_class_action_versions', 'report_data']


class DigestTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.cloud = self.useFixture(
            services.InOneProcess(self.conf, self.logs))
        self.cloud.plug(ONE, TWO)
        self.cloud.start_agent()
        self.cloud.report()

    def calls(self, report=None):
        """What a report asks of conductors."""
        self.cloud.conductor.calls.clear()
        (report or self.cloud.report)()
        return list(self.cloud.conductor.calls)

    def assertSettles(self, first):
        """The calls of the next report, and then it is known again."""
        self.assertEqual(first, self.calls())
        self.calls()
        self.assertEqual(['report_digest'], self.calls())

    def test_cost(self):
        """PERF-5"""
        self.cloud.placement.forget_calls()
        with self.cloud.db.count_statements() as sql:
            self.assertEqual(['report_digest'], self.calls())
        self.assertEqual(2, len(sql), sql.statements)
        self.assertEqual(['GET'], [
            call.method for call in self.cloud.placement.calls])
        self.assertLogged('INFO', 'Host compute-1 has the same 2 devices of '
                          'pci_driver as before')

    def test_changes_of_the_host(self):
        """What was found differs: nothing is asked first."""
        self.cloud.unplug(TWO)
        self.assertSettles(WHOLE)
        self.assertEqual([ONE], list(self.cloud.handles()))
        self.cloud.plug(TWO)
        self.assertSettles(WHOLE)
        self.assertEqual(2, self.cloud.free())

    def test_binds_and_releases(self):
        arq = self.cloud.bind(ONE)
        self.assertSettles(['report_digest', *WHOLE])
        self.cloud.delete(arq)
        self.assertSettles(['report_digest', *WHOLE])

    def test_whole_once_an_hour(self):
        clock = self.cloud.agent.tracker._last
        now = clock._clock()
        clock._clock = lambda: now + 3500
        self.assertEqual(['report_digest'], self.calls())
        clock._clock = lambda: now + 3700
        self.assertEqual(WHOLE, self.calls())
        self.assertEqual(['report_digest'], self.calls())

    def test_switched_off(self):
        self.conf.set(group='agent', whole_report_interval=0)
        self.assertEqual(WHOLE, self.calls())

    def test_after_a_restart_and_a_failure(self):
        self.cloud.restart_agent()
        self.assertSettles(['report_digest'])

        def fail():
            raise messaging.MessagingTimeout()

        self.cloud.conductor.before('report_digest', fail)
        self.assertEqual(['report_digest'], self.calls())
        self.assertLogged('WARNING', 'Host compute-1 could not report')
        self.assertEqual(['report_digest'], self.calls())
        self.assertLogged('INFO', 'Host compute-1 reports again')

    def test_a_failed_whole_report_is_followed_by_a_whole_one(self):
        self.cloud.unplug(TWO)

        def fail():
            raise messaging.MessagingTimeout()

        self.cloud.conductor.before('report_data', fail)
        self.assertEqual(WHOLE, self.calls())
        self.cloud.plug(TWO)
        self.assertEqual(WHOLE, self.calls())

    def test_a_conductor_that_knows_no_digests(self):
        """It came back while this agent ran; asked once, no error more."""

        def refuse():
            raise messaging.UnsupportedVersion('1.2', method='report_digest')

        self.cloud.conductor.before('report_digest', refuse)
        self.assertEqual(['report_digest', *WHOLE], self.calls())
        self.assertEqual(WHOLE, self.calls())
        self.assertEqual([], self.logs.messages('WARNING', 'cyborg.agent'))

    def test_a_capped_agent(self):
        for cap in ('1.1', '1.0'):
            self.cloud.stop_agent()
            self.cloud.configure('upgrade_levels', conductor=cap)
            self.cloud.start_agent()
            self.assertEqual(WHOLE[1 if cap == '1.0' else 0:], self.calls())
            self.assertEqual(WHOLE[1 if cap == '1.0' else 0:], self.calls())

# SPDX-License-Identifier: Apache-2.0

import threading

from cyborg.agent import root_provider
from cyborg.common import exception
from cyborg.common import service
from cyborg.tests import base


class FakePlacement:
    """Answers ``find_providers`` from a list of answers, the last for ever."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []

    def find_providers(self, context, name):
        self.asked.append(name)
        answer = self.answers[0]
        if isinstance(answer, Exception):
            self.answers.pop(0)
            raise answer
        if name == self.asked[0] and len(self.asked) > 1 and len(
                self.answers) > 1:
            self.answers.pop(0)
            answer = self.answers[0]
        return [object()] if name in answer else []


class Impatient(threading.Event):
    """Remembers the pauses instead of taking them."""

    def __init__(self):
        super().__init__()
        self.pauses = []

    def wait(self, timeout=None):
        self.pauses.append(timeout)
        return self.is_set()


class TestRootProvider(base.TestCase):
    """Contract, placement.md: "Root provider"; B26, B32."""

    def setUp(self):
        super().setUp()
        self.stopping = Impatient()

    def names(self, host, name):
        self.conf.set(host=host)
        self.conf.set('agent', resource_provider_name=name)
        return root_provider.candidate_names()

    def wait(self, *answers):
        self.placement = FakePlacement(*answers)
        return root_provider.wait(self.placement, self.context, self.stopping)

    def test_names(self):
        self.assertEqual(['c1.example.org', 'c1'],
                         self.names('c1', 'c1.example.org'))
        self.assertEqual(['hyp', 'c1.example.org', 'c1'],
                         self.names('c1.example.org', 'hyp'))
        self.assertEqual(['c1'], self.names('c1', 'c1'))
        self.assertEqual(['192.0.2.7'], self.names('192.0.2.7', '192.0.2.7'))

    def test_configured_name_comes_first(self):
        self.names('c1.example.org', 'hyp')
        self.assertEqual('hyp', self.wait({'hyp', 'c1', 'c1.example.org'}))
        self.assertEqual(['hyp'], self.placement.asked)

    def test_short_name_is_found(self):
        self.names('c1.example.org', 'hyp')
        self.assertEqual('c1', self.wait({'c1'}))

    def test_name_that_appears_while_waiting(self):
        self.names('c1', 'c1')
        self.assertEqual('c1', self.wait(set(), {'c1'}))
        self.assertEqual([1], self.stopping.pauses)
        self.assertLogged('WARNING', 'Looking again in 1 s')

    def test_no_such_provider_is_fatal_after_the_retries(self):
        self.names('c1', 'hyp')
        error = self.assertRaises(
            exception.PlacementResourceProviderNotFound, self.wait, set())
        self.assertEqual([1, 2, 4], self.stopping.pauses)
        self.assertEqual(['hyp', 'c1'] * 4, self.placement.asked)
        self.assertIn('no resource provider for host c1; looked for: hyp, c1',
                      error.message)
        self.assertIn('[agent] resource_provider_name', error.message)

    def test_no_retries_look_once(self):
        self.names('c1', 'c1')
        self.conf.set('agent', resource_provider_startup_retries=0)
        self.assertRaises(root_provider.HostProviderNotFound, self.wait,
                          set())
        self.assertEqual([], self.stopping.pauses)

    def test_silent_placement_is_waited_for_without_limit(self):
        self.names('c1', 'c1')
        down = [exception.PlacementAPIConnectFailure(reason='refused')
                for _ in range(12)]
        self.assertEqual('c1', self.wait(*down, {'c1'}))
        self.assertEqual(12, len(self.stopping.pauses))
        self.assertLogged('WARNING', 'Waiting for Placement: Placement '
                          'cannot be reached: refused')

    def test_refused_credentials_are_said(self):
        self.names('c1', 'c1')
        refused = exception.PlacementUnauthorized(status=401, reason='who?')
        self.assertEqual('c1', self.wait(refused, {'c1'}))
        self.assertLogged('WARNING', '401')

    def test_stop_ends_the_wait(self):
        self.names('c1', 'c1')
        self.stopping.set()
        self.assertRaises(service.StopRequested, self.wait, set())

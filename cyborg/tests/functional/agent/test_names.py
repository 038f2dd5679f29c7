# SPDX-License-Identifier: Apache-2.0
"""A host that is called something else now (f01; ID-1, ID-2)."""

import os
from unittest import mock

import fixtures
import testscenarios

from cyborg.agent import machine
from cyborg.tests import base
from cyborg.tests.fixtures import services

ONE, TWO = '0001:d6:00.0', '0001:d8:00.0'


class Names(fixtures.Fixture):
    """What the operating system says this machine is called."""

    def __init__(self, nodename, fqdn):
        super().__init__()
        self._nodename, self._fqdn = nodename, fqdn

    def _setUp(self):
        uname = os.uname()
        self.useFixture(fixtures.MonkeyPatch(
            'os.uname', lambda: os.uname_result(
                (uname.sysname, self._nodename, *uname[2:]))))
        self.useFixture(fixtures.MonkeyPatch(
            'socket.getfqdn', lambda: self._fqdn))


class RenamedTest(base.TestCase):
    """On each database: their collations disagree about letter case."""

    scenarios = [(name, {'database': name}) for name in (
        'sqlite', 'mariadb', 'postgresql')]

    def setUp(self):
        super().setUp()
        self.cloud = self.useFixture(services.InOneProcess(
            self.conf, self.logs, database=self.database))
        self.cloud.plug(ONE, TWO)
        self.useFixture(Names('node-7', 'node-7.example.org'))
        # Its name is made from the host's, and a dot is no part of one.
        self.assertTrue(self.cloud.profile)

    def start_as(self, name, provider=None):
        """An agent of this machine with another name; Placement knows it."""
        self.cloud.stop_agent()
        if name not in self.cloud.placement.providers():
            self.cloud.placement.add_provider(name)
        self.cloud.configure(host=name)
        self.cloud.configure('agent', resource_provider_name=provider)
        self.cloud.start_agent()
        self.cloud.host = name

    def assert_refused(self, name, other, devices=2, allocated=1):
        before = self.cloud.stored()
        providers = self.cloud.placement.providers()
        self.cloud.placement.add_provider(name)
        error = str(self.assertRaises(
            services.StartRefused, self.start_as, name))
        for text in ('Host %s has devices stored under %s,' % (name, other),
                     '%d devices, %d of' % (devices, allocated),
                     'resource_provider_name = %s.' % other):
            self.assertIn(text, error)
        self.assertEqual(before, self.cloud.stored())
        self.assertEqual(set(providers) | {name},
                         set(self.cloud.placement.providers()))

    def test_short_name_to_long_name(self):
        """Three devices became six, and one was bound to two instances."""
        self.start_as('c1')
        self.cloud.bind(ONE)
        self.assert_refused('c1.example.org', 'c1')

    def test_long_name_to_short_name(self):
        """No name of the configuration leads back to the former one."""
        self.start_as('c1.example.org')
        self.cloud.bind(ONE)
        self.assert_refused('c1', 'c1.example.org')

    def test_other_letter_case(self):
        self.start_as('Compute-9')
        self.cloud.bind(ONE)
        self.assert_refused('COMPUTE-9', 'Compute-9')

    def test_a_name_of_the_operating_system(self):
        self.start_as('node-7')
        self.assert_refused('anything', 'node-7', allocated=0)

    def test_an_agent_that_cannot_ask(self):
        """ID-2: nor can one of 2026.2; the conductor looks at the rows."""
        self.conf.set(group='upgrade_levels', conductor='2026.2')
        self.start_as('c1')
        self.cloud.bind(ONE)
        self.assert_refused('c1.example.org', 'c1')
        self.assert_refused('C1.example.org', 'c1')

    def test_the_way_back(self):
        self.start_as('c1')
        arq = self.cloud.bind(ONE)
        self.assert_refused('c1.example.org', 'c1')
        self.cloud.configure('agent', resource_provider_name='c1')
        self.cloud.start_agent()
        self.cloud.host = 'c1'
        self.assertEqual({ONE, TWO}, set(self.cloud.handles()))
        self.assertTrue(self.cloud.handles()[ONE].allocated)
        # The way on: what is stored is removed first.
        self.cloud.delete(arq)
        self.cloud.stop_agent()
        self.cloud.configure('agent', enabled_drivers=[])
        self.cloud.start_agent()
        self.assertEqual({}, self.cloud.handles())
        self.cloud.configure('agent', enabled_drivers=['pci_driver'])
        self.start_as('c1.example.org')
        self.assertEqual({ONE, TWO}, set(self.cloud.handles()))

    def test_another_machine_with_the_same_short_name(self):
        """No device of it is here."""
        self.start_as('c1.other.org')
        self.cloud.unplug(ONE, TWO)
        self.cloud.plug('0002:d6:00.0')
        self.start_as('c1')
        self.assertEqual({'0002:d6:00.0'}, set(self.cloud.handles()))
        self.assertTrue(self.cloud.said('INFO', 'are different machines'))

    def machine(self, boot, uptime):
        self.cloud.tree.proc('sys/kernel/random/boot_id', boot + '\n')
        self.cloud.tree.proc('uptime', '%.2f 1.00\n' % uptime)

    def test_another_machine_with_the_same_cards(self):
        """It has reported since this one was booted, so it is no other."""
        self.machine('b1', 90000)
        self.start_as('c1.east.org')
        self.cloud.bind(ONE)
        before = self.cloud.stored()
        # From here on this is the second machine, up for a day.
        self.machine('b2', 86400)
        self.start_as('c1.west.org')
        self.assertEqual({ONE, TWO}, set(self.cloud.handles()))
        self.assertTrue(self.cloud.said(
            'INFO', 'that one has reported since this one was booted'))
        self.assertFalse(self.cloud.handles()[ONE].allocated)
        self.cloud.host = 'c1.east.org'
        self.assertEqual(before, self.cloud.stored())

    def test_a_machine_that_moved_to_another_domain(self):
        """With a reboot or without, and whenever it reported before."""
        self.machine('b1', 90000)
        self.start_as('c1.east.org')
        self.cloud.bind(ONE)
        self.assert_refused('c1.west.org', 'c1.east.org')
        self.machine('b2', 30)
        self.assert_refused('c1.south.org', 'c1.east.org')

    def test_a_host_whose_machine_is_not_known(self):
        """Its agent is of 2026.2, or its kernel tells no boot."""
        self.start_as('c1.east.org')
        self.cloud.bind(ONE)
        self.machine('b2', 86400)
        self.assert_refused('c1.west.org', 'c1.east.org')

    def test_a_neighbour(self):
        for name in ('c1', 'c10', 'c11.example.org', 'c2'):
            self.start_as(name)

    def test_a_conductor_that_was_away_at_the_start(self):
        """Not asked is not answered: the first report that can asks."""
        self.start_as('c1')
        self.cloud.bind(ONE)
        self.cloud.stop_agent()
        self.cloud.placement.add_provider('c1.example.org')
        self.cloud.configure(host='c1.example.org')
        failing = mock.Mock(side_effect=RuntimeError('restarting'))
        self.cloud.conductor.before('object_class_action_versions',
                                    lambda: None, failing)
        self.cloud.start_agent()
        self.cloud.report()
        self.assertTrue(self.cloud.said('ERROR', 'is rejected',
                                        'stored under c1'))
        self.assertEqual(['c1'], sorted(
            {name.partition('_')[0] for name in
             self.cloud.placement.providers() if '_' in name}))


class MachineTest(base.TestCase):
    """Two machines under one host name."""

    def setUp(self):
        super().setUp()
        self.cloud = self.useFixture(
            services.InOneProcess(self.conf, self.logs))
        self.cloud.plug(ONE)

    def start_on(self, boot):
        self.cloud.tree.proc('sys/kernel/random/boot_id', boot + '\n')
        self.cloud.restart_agent()

    def warnings(self):
        return [text for text in self.logs.messages('WARNING')
                if 'Two machines' in text]

    def test_they_are_noticed(self):
        for boot in ('b1', 'b2', 'b1', 'b2', 'b1'):
            self.start_on(boot)
        text, = self.warnings()
        for word in (self.cloud.host, '/b1', '/b2', os.uname().nodename,
                     'resource_provider_name'):
            self.assertIn(word, text)

    def test_reboots_are_none(self):
        for boot in ('b1', 'b1', 'b2', 'b3'):
            self.start_on(boot)
            self.cloud.report()
        self.assertEqual([], self.warnings())

    def test_a_kernel_without_one(self):
        self.assertIsNone(machine.mark('/nowhere/sys'))


load_tests = testscenarios.load_tests_apply_scenarios

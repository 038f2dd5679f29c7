# SPDX-License-Identifier: Apache-2.0
"""A renamed host whose agent does not ask (f01; ID-1, ID-2)."""

from cyborg.common import exception
from cyborg.conductor.report import namesakes
from cyborg.db.sqlalchemy import models
from cyborg.tests import base as test_base
from cyborg.tests.functional.conductor import base

NAME = 'c1_0000:01:00.0'


class NamesakesTest(base.ConductorTestCase):

    def setUp(self):
        super().setUp()
        for name in ('c1', 'C1', 'c1.example.org', 'c1.other.org',
                     'c10.example.org'):
            self.placement.add_provider(name)
        self.report_as('c1', 1, 2)
        self.bind(self.arq(), name=NAME, host='c1')

    def report_as(self, host, *buses, **fields):
        self.report(*(base.device(bus, host=host, **fields)
                      for bus in buses), host=host)

    def refused(self, host, *buses):
        before = self.count(models.Device)
        error = self.assertRaises(exception.HostNameChanged, self.report_as,
                                  host, *buses)
        self.assertIn('Host %s has devices stored under c1, another name of '
                      'this machine: 2 devices, 1 of' % host, error.message)
        self.assertIn('[agent] resource_provider_name = c1', error.message)
        self.assertEqual(before, self.count(models.Device))

    def test_other_forms_of_the_name(self):
        for host in ('c1.example.org', 'C1'):
            self.refused(host, 1, 2)
            self.refused(host, 5, 2)
        self.assertEqual([], [
            name for name in self.placement.providers()
            if name.startswith(('c1.example.org_', 'C1_'))])

    def test_said_once(self):
        for _cycle in range(3):
            self.refused('c1.example.org', 1)
        error, = self.logs.messages('ERROR')
        self.assertIn('The report of host c1.example.org is refused: Host '
                      'c1.example.org has devices stored under c1', error)

    def test_other_machines(self):
        self.report_as('c10.example.org', 1, 2)
        # Other hardware at the same place, or at another one.
        self.report_as('c1.example.org', 3)
        self.report_as('c1.example.org', 1, 3, vendor='8086')
        # Two long names are two machines.
        self.report_as('c1.other.org', 3)

    def test_what_was_doubled_before(self):
        """Rows of 2026.2 under both names: its reports go on."""
        self.placement.add_provider('x9')
        self.report_as('x9', 1, 2)
        for device in self.host('x9').devices:
            self.change(models.Device, device.id, hostname='c1.example.org')
        self.report_as('c1.example.org', 1, 2, 4)
        self.report_as('c1', 1, 2, 3)

    def test_unchanged_reports_do_not_ask(self):
        with self.db.count_statements() as sql:
            self.report_as('c1', 1, 2)
        self.assertEqual([], [text for text in sql.statements
                              if 'lower(' in text.lower()])


class LikeTest(test_base.TestCase):

    def test_is_like(self):
        for one, two, alike in (
                ('c1', 'c1.example.org', True), ('c1', 'C1', True),
                ('C1.Example.org', 'c1', True), ('c1', 'c10', False),
                ('c1.a.org', 'c1.b.org', False),
                ('c1.a.org', 'C1.A.org', True), ('c1.a', 'c1.a.org', False),
                ('10.0.0.1', '10', False)):
            self.assertIs(alike, namesakes.is_like(one, two), (one, two))
            self.assertIs(alike, namesakes.is_like(two, one), (two, one))

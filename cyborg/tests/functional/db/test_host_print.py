# SPDX-License-Identifier: Apache-2.0
"""PERF-5: whatever changes in a host's rows gives them another print."""

import datetime

from oslo_utils import uuidutils
import sqlalchemy as sa

from cyborg.common import context
from cyborg.db import host_inventory
from cyborg.db import host_print
from cyborg.tests.fixtures import rows
from cyborg.tests.functional.db import base

#: Other values of columns that do not take any text.
_OTHERS = {'type': 'GPU', 'status': 'maintaining', 'in_use': True,
           'device_state': 'cleaning', 'attach_type': 'MDEV',
           'num_accelerators': 77}
#: A change of these is no change of the host's inventory; the rest of what
#: names other rows is tried by adding and removing rows.
_LEFT_OUT = {'id', 'created_at', 'updated_at', 'cpid_type', 'device_id',
             'deployable_id', 'cpid_id', 'parent_id', 'root_id'}


class HostPrintTest(base.DatabaseTestCase):

    def print(self):
        return host_print.of(context.get_admin_context(), 'compute-1')

    def assertChanges(self, what, change):
        before = self.print()
        change()
        self.assertNotEqual(before, self.print(), what)

    def test_each_column(self):
        """Also NULL against nothing, and what stands in quotes."""
        card = rows.device(handles=2)
        rows.device(hostname='compute-2', bus=9)
        tried = 0
        for row in (card.device, card.controlpath, card.deployable,
                    card.attributes[0], card.handles[0]):
            for column in sa.inspect(type(row)).columns:
                if column.name in _LEFT_OUT or column.name == 'hostname':
                    continue
                values = [_OTHERS.get(column.name, 'x')]
                if column.name == 'uuid':
                    values = [uuidutils.generate_uuid()]
                elif values == ['x']:
                    values += ['', "x'", 'X'] + [None] * column.nullable
                for value in values:
                    self.assertChanges(
                        '%s = %s' % (column, value), lambda row=row, n=(
                            column.name), v=value: rows.change(row, **{n: v}))
                    tried += 1
        self.assertGreater(tried, 60)

    def test_values_that_read_alike_side_by_side(self):
        card = rows.device(vendor="a", model="b','c")
        self.assertChanges('quotes', lambda: rows.change(
            card.device, vendor="a','b", model='c'))

    def test_rows_that_come_and_go(self):
        profile = rows.profile()
        self.assertEqual('0:0', self.print())
        cards = []
        self.assertChanges('device', lambda: cards.append(
            rows.device(handles=2)))
        card, = cards
        arqs = []
        self.assertChanges('request', lambda: arqs.append(
            rows.arq(profile, card.handles[0])))
        self.assertChanges('handle', lambda: rows.change(
            arqs[0], attach_handle_id=card.handles[1].id))
        self.assertChanges('no handle', lambda: rows.change(
            arqs[0], attach_handle_id=None))
        self.assertChanges('no deployable', lambda: rows.change(
            arqs[0], deployable_id=None))
        for row in (card.attributes[0], card.handles[1]):
            self.assertChanges(row, lambda row=row: rows.remove(row))

    def test_what_is_swapped(self):
        """Two changes at once do not make up for each other."""
        one, two = rows.device(bus=1), rows.device(bus=2)
        self.assertChanges('swapped', lambda: (
            rows.change(one.handles[0], deployable_id=two.deployable.id),
            rows.change(two.handles[0], deployable_id=one.deployable.id)))

    def test_times_and_other_hosts_do_not_count(self):
        card = rows.device()
        before = self.print()
        rows.device(hostname='compute-2', bus=9)
        rows.change(card.device, updated_at=datetime.datetime(2027, 1, 1))
        self.assertEqual(before, self.print())

    def test_one_statement_whatever_the_number_of_rows(self):
        for bus in range(5):
            rows.device(bus=bus, handles=3)
        with self.db.count_statements() as sql:
            self.print()
        self.assertEqual(1, len(sql))

    def test_loaded_with_the_rows(self):
        rows.device(handles=2)
        asker = context.get_admin_context()
        loaded, print_ = host_print.load(asker, 'compute-1')
        self.assertEqual(host_inventory.load(asker, 'compute-1'), loaded)
        self.assertEqual(self.print(), print_)

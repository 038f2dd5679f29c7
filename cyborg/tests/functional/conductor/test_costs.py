# SPDX-License-Identifier: Apache-2.0
"""What a report costs, in statements and Placement calls (PERF-1, PERF-3)."""

from cyborg.tests import amount
from cyborg.tests.functional.conductor import base

#: The most devices of a host.
MANY = amount.amount('CYBORG_TEST_DEVICES', 128, 1024)


def devices(count: int, **others) -> list:
    """Devices with names of their own, on up to 8 functions of a slot."""
    found = []
    for number in range(count):
        bus, rest = 1 + number // 256, number % 256
        where = base.address(bus, rest // 8, rest % 8)
        device = base.device(
            bus, name='%s_%d' % (base.HOST, number),
            handles=[base.handle(**where)], **others)
        device.controlpath_id.cpid_info = base.text(where)
        found.append(device)
    return found


class CostTest(base.ConductorTestCase):

    timeout = 900

    def measured(self, *reported):
        """(statements, Placement calls that read, that write)"""
        self.placement.forget_calls()
        with self.db.count_statements() as sql:
            self.report(*reported, by=self.manager)
        methods = [call.method for call in self.placement.calls]
        return len(sql), methods.count('GET'), (
            len(methods) - methods.count('GET'))

    def test_cost_of_first_and_unchanged_reports(self):
        before = 0
        for count in (16, MANY // 4, MANY):
            reported = devices(count)
            statements, reads, writes = self.measured(*reported)
            new = count - before
            self.assertLessEqual(statements, 4 * new)
            self.assertLessEqual(reads + writes, 4 * new)
            statements, reads, writes = self.measured(*reported)
            self.assertLessEqual(statements, 8)
            self.assertEqual((1, 0), (reads, writes))
            before = count

    def test_cost_grows_with_what_changed(self):
        """PERF-3: many devices of which one differs cost as one."""
        reported = devices(MANY // 4)
        self.measured(*reported)
        changed = devices(1, traits=('B',)) + reported[1:]
        statements, reads, writes = self.measured(*changed)
        # Two for the host's turn, one more for each transaction and each
        # provider that is written.
        self.assertLessEqual(statements, 16)
        self.assertLessEqual(reads + writes, 8)
        statements, reads, writes = self.measured(*changed[1:])
        # Three more that it is noted as absent, and three that it is gone.
        self.assertLessEqual(statements, 24)
        self.assertLessEqual(reads + writes, 4)

    def test_first_look_of_another_conductor(self):
        """It reads every provider once, writes nothing, and knows then."""
        self.look_of_another(16, 2 * 16 + 4)

    def test_first_look_where_memory_is_left(self):
        """As on nearly every host: one answer tells of all providers."""
        self.placement.set_inventory(self.root, MEMORY_MB={'total': 4096})
        for count in (1, 2, MANY):
            self.look_of_another(count, 3)

    def look_of_another(self, count: int, most_reads: int) -> None:
        reported = devices(count)
        self.measured(*reported)
        self.manager = self.start_conductor('conductor-%d' % count)
        statements, reads, writes = self.measured(*reported)
        self.assertLessEqual(statements, 8)
        self.assertLessEqual(reads, most_reads)
        self.assertEqual(0, writes)
        self.assertEqual((1, 0), self.measured(*reported)[1:])

# SPDX-License-Identifier: Apache-2.0
"""PERF-5: what an unchanged report costs a conductor at any size."""

import json
import time

import requests

from cyborg.common import context
from cyborg.conductor.providers import sync as provider_sync
from cyborg.conductor.report import reporter as reporters
from cyborg.conductor.report import unchanged
from cyborg.db import host_print
from cyborg.db import report_order
from cyborg.placement import client
from cyborg.placement import tree_print
from cyborg.tests import base
from cyborg.tests.fixtures import database
from cyborg.tests.fixtures import fleet

HOST = 'fleet-0'
ROOT = '00000000-0000-0000-0000-000000000000'
FOUND, STORED = 'f' * 64, 's' * 64
#: Seconds of processor that a conductor may take.
LIMIT = 0.010


class Placement:
    """In place of the HTTP client: one tree, as Placement answers it."""

    def __init__(self, count: int):
        self.calls = 0
        self.body = json.dumps({'resource_providers': [{
            'uuid': '%08x-0000-0000-0000-%012x' % (number, number) if number
            else ROOT, 'name': HOST + '_%d' % number if number else HOST,
            'generation': 3, 'root_provider_uuid': ROOT,
            'parent_provider_uuid': ROOT if number else None,
            'links': [{'rel': rel, 'href': '/resource_providers/%s/%s' % (
                number, rel)} for rel in ('self', 'inventories', 'usages')],
        } for number in range(count + 1)]}).encode()

    def request(self, url, method, **_options):
        self.calls += 1
        answer = requests.Response()
        answer.status_code, answer._content = 200, self.body
        return answer


class CostTest(base.TestCase):

    timeout = 300

    def known(self, count: int) -> tuple[int, int, float]:
        """Statements, calls to Placement, and seconds of processor."""
        db = self.useFixture(database.MariaDatabase())
        fleet.fill(db.engine, 1, count)
        placement = client.PlacementClient(Placement(count))
        reporter = reporters.Reporter(provider_sync.ProviderSync(placement))
        asker = context.get_admin_context()
        turn = report_order.begin(asker, HOST)
        turn.note(asker, unchanged.Settled(
            FOUND, STORED, host_print.of(asker, HOST), HOST, ROOT,
            tree_print.of(placement.get_tree(asker, ROOT)), None).text())
        self.assertTrue(reporter.is_known(asker, HOST, FOUND, STORED))
        placement._adapter.calls = 0
        with db.count_statements() as sql:
            self.assertTrue(reporter.is_known(asker, HOST, FOUND, STORED))
        best = 1.0
        for _repeat in range(7):
            begun = time.process_time()
            reporter.is_known(asker, HOST, FOUND, STORED)
            best = min(best, time.process_time() - begun)
        return len(sql), placement._adapter.calls - 7, best

    def test_any_number_of_devices(self):
        for count in (16, 256, 4096):
            statements, calls, seconds = self.known(count)
            self.assertEqual((2, 1), (statements, calls))
            self.assertLessEqual(seconds, LIMIT, count)

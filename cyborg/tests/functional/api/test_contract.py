# SPDX-License-Identifier: Apache-2.0
"""Every recorded answer of the 2026.2 release, replayed (BASE-1)."""

import testscenarios

from cyborg.tests import base
from cyborg.tests import contract
from cyborg.tests.contract import replay
from cyborg.tests.fixtures import api
from cyborg.tests.fixtures import contract as contract_fixture

load_tests = testscenarios.load_tests_apply_scenarios


class TestRecordedAnswers(base.TestCase):
    """Each stream, on each database; the exceptions are in one file."""

    timeout = 600
    scenarios = [
        ('%s on %s' % (name, database), {'stream': stream,
                                         'database': database})
        for database in ('sqlite', 'mariadb', 'postgresql')
        for stream, name in (('m', 'main'), ('o', 'policy defaults'),
                             ('n', 'new policy defaults'))
    ] + [('Keystone', {'stream': 'k', 'database': 'sqlite'})]

    def test_replay(self):
        state = self.useFixture(contract_fixture.RecordedState(
            self.conf, self.stream, database_kind=self.database))
        records = replay.load(self.stream, str(contract.RECORDS))
        if self.database == 'mariadb':
            records = contract.on_mariadb(records)
        results = list(contract.run(
            records, api.send_with(state.service.application),
            base_url=api.BASE_URL, before=state.before,
            inventory=self.stream != 'k'))
        self.assertEqual([], [str(r) for r in results if r.failed])
        self.assertGreater(
            sum(bool(result.outcome.ok) for result in results),
            len(records) * 0.8)
        # Refusing clients' mistakes is nothing to log a traceback for.
        self.assertEqual([], [
            record.getMessage() for record in self.logs.records
            if record.name.startswith('cyborg') and record.exc_info
            and 'FPGA' not in record.getMessage()
            and 'RemoteError' not in record.getMessage()])

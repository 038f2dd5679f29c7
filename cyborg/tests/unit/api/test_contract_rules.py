# SPDX-License-Identifier: Apache-2.0
"""The file that says where we differ from the recorded answers."""

from cyborg.tests import base
from cyborg.tests import contract
from cyborg.tests.contract import replay


class TestRules(base.TestCase):

    def setUp(self):
        super().setUp()
        self.records = [record for stream in 'monk' for record in
                        replay.load(stream, str(contract.RECORDS))]

    def test_every_rule_names_the_fault_and_is_needed(self):
        for rule in contract.load_rules():
            self.assertRegex(rule.reason,
                             'contract fault|B56|newest version')
            self.assertTrue(
                any(rule.speaks_of(record) for record in self.records),
                'no record needs the rule: %s' % rule.reason)

    def test_no_rule_lets_a_success_become_a_server_error(self):
        for rule in contract.load_rules():
            self.assertTrue(all(status < 500 for status in rule.status))

    def test_a_rule_without_ids_is_bound_to_errors_or_callers(self):
        for rule in contract.load_rules():
            if rule.ids is None:
                self.assertTrue(rule.personas or rule.text)

    def test_a_rule_covers_what_it_says_only(self):
        rule = contract.Rule(reason='x', status=(400,), recorded=(500,),
                             text='needed')
        record = {'id': 'm-1', 'persona': 'admin',
                  'request': {'path': '/v2'},
                  'response': {'status': 500, 'body': 'name needed'}}
        self.assertTrue(rule.covers(record, 400))
        self.assertFalse(rule.covers(record, 404))
        record['response']['body'] = 'other'
        self.assertFalse(rule.covers(record, 400))

# SPDX-License-Identifier: Apache-2.0
"""BASE-1: the policy rules are those of 2026.2."""

import json
import os
import pathlib
import subprocess
import sys

from oslo_policy import policy

from cyborg import policies
from cyborg.common import context
from cyborg.common import exception
from cyborg.common import policy as cyborg_policy
from cyborg.tests import base

RECORDED = json.loads(
    (pathlib.Path(__file__).parent / 'rules_2026_2.json').read_text())


def as_recorded(rule: policy.RuleDefault) -> dict:
    found = {'name': rule.name, 'check_str': rule.check_str,
             'kind': type(rule).__name__, 'scope_types': rule.scope_types,
             'deprecated_for_removal': rule.deprecated_for_removal,
             'deprecated_since': rule.deprecated_since}
    if isinstance(rule, policy.DocumentedRuleDefault):
        found['operations'] = rule.operations
    if rule.deprecated_rule:
        former = rule.deprecated_rule
        found['deprecated_rule'] = {
            'name': former.name, 'check_str': former.check_str,
            'deprecated_since': former.deprecated_since}
    return found


class RulesTest(base.TestCase):

    def test_rules_are_those_of_2026_2(self):
        self.maxDiff = None
        self.assertEqual(RECORDED, [as_recorded(rule)
                                    for rule in policies.list_policies()])

    def test_every_rule_has_a_description(self):
        for rule in policies.list_policies():
            self.assertTrue(rule.description, rule.name)

    def test_sample_can_be_generated(self):
        path = os.path.join(self.temp_dir(), 'policy.yaml.sample')
        subprocess.run(
            [sys.executable, '-c',
             'import sys; from oslo_policy import generator; '
             'sys.exit(generator.generate_sample())',
             '--namespace', 'cyborg.api', '--output-file', path],
            check=True, capture_output=True, timeout=300)
        text = pathlib.Path(path).read_text()
        for rule in RECORDED:
            self.assertIn('"%s"' % rule['name'], text)


class EnforcerTest(base.TestCase):

    def may(self, action, roles, project='p1', new_defaults=False, **kwargs):
        cyborg_policy.policy_opts.set_defaults(cyborg_policy.CONF)
        self.conf.set(group='oslo_policy', enforce_new_defaults=new_defaults)
        caller = context.RequestContext(user_id='u1', project_id=project,
                                        roles=roles, **kwargs)
        return cyborg_policy.Enforcer().allows(caller, action)

    def test_admin_may_create_profiles_and_a_member_may_not(self):
        self.assertTrue(self.may('cyborg:device_profile:create', ['admin']))
        self.assertFalse(self.may('cyborg:device_profile:create',
                                  ['member', 'reader']))

    def test_former_default_lets_members_list_devices(self):
        """Contract, upstream fault 3: decided by enforce_new_defaults."""
        self.assertTrue(self.may('cyborg:device:get_all', ['member']))
        self.assertFalse(self.may('cyborg:device:get_all', ['member'],
                                  new_defaults=True))
        self.assertTrue(self.may('cyborg:device:get_all', ['manager'],
                                 new_defaults=True))

    def test_new_defaults_are_off_unless_set(self):
        cyborg_policy.Enforcer()
        self.assertFalse(
            cyborg_policy.CONF.oslo_policy.enforce_new_defaults)

    def test_service_may_bind(self):
        self.assertTrue(self.may('cyborg:arq:update', ['service'],
                                 new_defaults=True))
        self.assertFalse(self.may('cyborg:arq:update', ['reader'],
                                  new_defaults=True))

    def test_system_scope_is_refused(self):
        self.assertFalse(self.may('cyborg:arq:get_all', ['admin'], None,
                                  system_scope='all'))

    def test_refusal_names_the_rule(self):
        caller = context.RequestContext(user_id='u1', project_id='p1',
                                        roles=['member'])
        error = self.assertRaises(
            exception.PolicyNotAuthorized,
            cyborg_policy.Enforcer().authorize, caller,
            'cyborg:device:disable')
        self.assertEqual(403, error.code)
        self.assertEqual('Policy does not allow this caller to use '
                         'cyborg:device:disable.', error.message)

    def test_unknown_rule_is_a_programming_error(self):
        self.assertRaises(policy.PolicyNotRegistered, self.may,
                          'cyborg:device:explode', ['admin'])

    def test_policy_file_of_the_operator_counts(self):
        path = os.path.join(self.temp_dir(), 'policy.yaml')
        with open(path, 'w') as file:
            file.write('"cyborg:device:enable": "role:member"\n')
        cyborg_policy.policy_opts.set_defaults(cyborg_policy.CONF)
        self.conf.set(group='oslo_policy', policy_file=path)
        self.assertTrue(self.may('cyborg:device:enable', ['member']))

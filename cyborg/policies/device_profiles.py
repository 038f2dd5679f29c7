# SPDX-License-Identifier: Apache-2.0
"""Rules for device profiles."""

from oslo_policy import policy

from cyborg.policies import base

_ALL = '/v2/device_profiles'
_ONE = '/v2/device_profiles/{device_profiles_uuid}'


def list_policies() -> list[policy.RuleDefault]:
    def rule(action, check, former, description, *operations):
        return base.resource_rule('device_profile', action, check,
                                  description, list(operations), former, 'W')

    return [
        rule('get_all', base.PROJECT_READER_OR_ADMIN,
             base.RULE_ADMIN_OR_OWNER, 'List device profiles.',
             ('GET', _ALL)),
        rule('get_one', base.PROJECT_READER_OR_ADMIN,
             base.RULE_ADMIN_OR_OWNER, 'Show a device profile.',
             ('GET', _ONE)),
        rule('create', base.RULE_ADMIN_API, base.RULE_IS_ADMIN,
             'Create a device profile.', ('POST', _ALL)),
        rule('delete', base.RULE_ADMIN_API, base.RULE_IS_ADMIN,
             'Delete device profiles, by UUID or by name.',
             ('DELETE', _ONE),
             ('DELETE', _ALL + '?value={device_profile_name1}')),
    ]

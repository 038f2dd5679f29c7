# SPDX-License-Identifier: Apache-2.0
"""Rules for accelerator requests.

Binding, and deleting what an instance uses, also asks for a service token,
whatever the policy says.
"""

from oslo_policy import policy

from cyborg.policies import base

_ALL = '/v2/accelerator_requests'
_ONE = '/v2/accelerator_requests/{arqs_uuid}'


def list_policies() -> list[policy.RuleDefault]:
    def rule(action, check, former, description, method, path=_ALL):
        return base.resource_rule('arq', action, check, description,
                                  [(method, path)], former, '2026.1')

    return [
        rule('get_all', base.PROJECT_READER_OR_ADMIN,
             base.RULE_ADMIN_OR_OWNER, 'List accelerator requests.', 'GET'),
        rule('get_one', base.PROJECT_READER_OR_ADMIN,
             base.RULE_ADMIN_OR_OWNER, 'Show an accelerator request.',
             'GET', _ONE),
        rule('create', base.PROJECT_MEMBER_OR_SERVICE,
             base.PROJECT_MEMBER_OR_ADMIN,
             'Create accelerator requests from a device profile.', 'POST'),
        rule('delete', base.PROJECT_MEMBER_OR_SERVICE,
             base.RULE_ADMIN_OR_OWNER,
             'Delete accelerator requests, by UUID or of an instance.',
             'DELETE'),
        rule('update', base.PROJECT_MEMBER_OR_SERVICE,
             base.RULE_ADMIN_OR_OWNER,
             'Bind accelerator requests to devices, or unbind them.',
             'PATCH'),
    ]

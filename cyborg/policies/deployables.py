# SPDX-License-Identifier: Apache-2.0
"""Rules for deployables."""

from oslo_policy import policy

from cyborg.policies import base

_ALL = '/v2/deployables'
_ONE = '/v2/deployables/{uuid}'


def list_policies() -> list[policy.RuleDefault]:
    return [
        base.resource_rule(
            'deployable', 'get_all', base.PROJECT_MANAGER_OR_ADMIN,
            'List deployables.', [('GET', _ALL)],
            base.RULE_ADMIN_API, '2026.1'),
        base.resource_rule(
            'deployable', 'get_one', base.PROJECT_MANAGER_OR_ADMIN,
            'Show a deployable.', [('GET', _ONE)],
            base.RULE_ADMIN_API, '2026.1'),
        base.resource_rule(
            'deployable', 'program', base.RULE_ADMIN_API,
            'Program an FPGA with a bitstream.',
            [('PATCH', _ONE + '/program')]),
    ]

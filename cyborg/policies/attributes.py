# SPDX-License-Identifier: Apache-2.0
"""Rules for attributes of deployables."""

from oslo_policy import policy

from cyborg.policies import base

_ALL = '/v2/attributes'
_ONE = '/v2/attributes/{uuid}'


def list_policies() -> list[policy.RuleDefault]:
    return [
        base.resource_rule(
            'attribute', 'get_all', base.PROJECT_MANAGER_OR_ADMIN,
            'List attributes.', [('GET', _ALL)],
            base.RULE_ADMIN_API, '2026.1'),
        base.resource_rule(
            'attribute', 'get_one', base.PROJECT_MANAGER_OR_ADMIN,
            'Show an attribute.', [('GET', _ONE)],
            base.RULE_ADMIN_API, '2026.1'),
        base.resource_rule(
            'attribute', 'create', base.RULE_ADMIN_API,
            'Add an attribute to a deployable.', [('POST', _ALL)]),
        base.resource_rule(
            'attribute', 'delete', base.RULE_ADMIN_API,
            'Take an attribute from a deployable.', [('DELETE', _ONE)]),
    ]

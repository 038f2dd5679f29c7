# SPDX-License-Identifier: Apache-2.0
"""Rules for devices."""

from oslo_policy import policy

from cyborg.policies import base

_ALL = '/v2/devices'
_ONE = '/v2/devices/{uuid}'


def list_policies() -> list[policy.RuleDefault]:
    return [
        base.resource_rule(
            'device', 'get_all', base.PROJECT_MANAGER_OR_ADMIN,
            'List devices.', [('GET', _ALL)], base.RULE_ADMIN_API, '2026.1'),
        base.resource_rule(
            'device', 'get_one', base.PROJECT_MANAGER_OR_ADMIN,
            'Show a device.', [('GET', _ONE)], base.RULE_ADMIN_API, '2026.1'),
        base.resource_rule(
            'device', 'disable', base.RULE_ADMIN_API,
            'Keep a device from being allocated.',
            [('POST', _ONE + '/disable')]),
        base.resource_rule(
            'device', 'enable', base.RULE_ADMIN_API,
            'Let a device be allocated again.',
            [('POST', _ONE + '/enable')]),
    ]

# SPDX-License-Identifier: Apache-2.0
"""Rules that the rules of the resources are made of."""

from oslo_policy import policy

_W = 'W'

#: Until 2026.2 the whole access control; ORed with the new rules unless
#: ``[oslo_policy] enforce_new_defaults`` is set.
ADMIN_OR_OWNER = 'is_admin:True or project_id:%(project_id)s'

RULE_ADMIN_API = 'rule:admin_api'
RULE_ADMIN_OR_OWNER = 'rule:admin_or_owner'
RULE_IS_ADMIN = 'rule:is_admin'
PROJECT_MEMBER_OR_ADMIN = 'rule:project_member_or_admin'
PROJECT_READER_OR_ADMIN = 'rule:project_reader_or_admin'
PROJECT_MANAGER_OR_ADMIN = 'rule:project_manager_or_admin'
PROJECT_MEMBER_OR_SERVICE = 'rule:project_member_or_service'

_SRBAC_REASON = """
Access follows the roles reader, member, manager and admin of the caller's
project instead of "administrator or owner".
"""

_FORMER_REASON = """
Superseded by the rules for project readers, members and managers.
"""


def _project_role(role: str) -> str:
    return f'role:{role} and project_id:%(project_id)s'


def _combined(name: str, check: str, description: str) -> policy.RuleDefault:
    return policy.RuleDefault(
        name, check, description=description,
        deprecated_rule=policy.DeprecatedRule(
            name=RULE_ADMIN_OR_OWNER, check_str=ADMIN_OR_OWNER,
            deprecated_reason=_SRBAC_REASON, deprecated_since=_W))


def _former(name: str, check: str, description: str) -> policy.RuleDefault:
    return policy.RuleDefault(
        name, check, description=description, deprecated_for_removal=True,
        deprecated_reason=_FORMER_REASON, deprecated_since=_W)


def resource_rule(resource: str, action: str, check: str, description: str,
                  operations: list[tuple[str, str]],
                  former: str | None = None,
                  since: str | None = None) -> policy.DocumentedRuleDefault:
    """A rule of one action on one resource.

    :param operations: (HTTP method, path) of the requests it protects
    :param former: check string that was valid before ``since``
    """
    name = f'cyborg:{resource}:{action}'
    deprecated = None
    if former is not None:
        deprecated = policy.DeprecatedRule(
            name=name, check_str=former, deprecated_since=since,
            deprecated_reason=_SRBAC_REASON)
    return policy.DocumentedRuleDefault(
        name, check, description,
        [{'method': method, 'path': path} for method, path in operations],
        scope_types=['project'], deprecated_rule=deprecated)


def list_policies() -> list[policy.RuleDefault]:
    return [
        policy.RuleDefault('admin_api', 'role:admin',
                           description='Administrators of the cloud.'),
        policy.RuleDefault('project_admin_api', _project_role('admin'),
                           description='Administrators of the project.'),
        policy.RuleDefault('project_member_api', _project_role('member'),
                           description='Members of the project.'),
        policy.RuleDefault('project_reader_api', _project_role('reader'),
                           description='Readers of the project.'),
        _combined('project_member_or_admin',
                  'rule:project_member_api or rule:admin_api',
                  'Members of the project, and administrators.'),
        _combined('project_reader_or_admin',
                  'rule:project_reader_api or rule:admin_api',
                  'Readers of the project, and administrators.'),
        policy.RuleDefault('service_api', 'role:service',
                           description='Other services, such as Nova.'),
        policy.RuleDefault('project_manager_api', _project_role('manager'),
                           description='Managers of the project.'),
        _combined('project_manager_or_admin',
                  'rule:project_manager_api or rule:admin_api',
                  'Managers of the project, and administrators.'),
        _combined('project_member_or_service',
                  'rule:project_member_api or rule:service_api',
                  'Members of the project, and other services.'),
        _former('public_api', 'is_public_api:True',
                'Requests that nobody has to authenticate for.'),
        _former('allow', '@', 'Everybody.'),
        _former('deny', '!', 'Nobody.'),
        _former('default', RULE_ADMIN_OR_OWNER,
                'Used for a rule that is not defined.'),
        _former('is_admin', RULE_ADMIN_API, 'Administrators of the cloud.'),
        _former('admin_or_owner', ADMIN_OR_OWNER,
                'Administrators, and everybody inside their own project.'),
        _former('admin_or_user', 'is_admin:True or user_id:%(user_id)s',
                'Administrators, and the user who owns the object.'),
    ]

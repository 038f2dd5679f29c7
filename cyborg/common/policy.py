# SPDX-License-Identifier: Apache-2.0
"""Asks oslo.policy whether a caller may do something."""

import argparse
import sys

from oslo_policy import opts as policy_opts
from oslo_policy import policy

from cyborg import policies
from cyborg.common import context as cyborg_context
from cyborg.common import exception
from cyborg.conf import CONF


def get_enforcer() -> policy.Enforcer:
    """What the ``oslopolicy-*`` commands ask, with ``--namespace cyborg``.

    They hand on nothing of their arguments, of which ours are those that
    name configuration files.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    for name in ('--config-file', '--config-dir'):
        parser.add_argument(name, action='append', default=[])
    given, _rest = parser.parse_known_args(sys.argv[1:])
    # They have read them, but not for a project with files of its own.
    CONF(['--config-file=' + path for path in given.config_file]
         + ['--config-dir=' + path for path in given.config_dir],
         project='cyborg')
    return Enforcer().rules


class Enforcer:
    """The policy of one application: its rules, its policy file.

    The rules that were deprecated before 2027.1 stay in force beside the new
    ones until the operator sets ``[oslo_policy] enforce_new_defaults``.
    """

    def __init__(self, conf=CONF):
        policy_opts.set_defaults(conf, enforce_new_defaults=False)
        self._enforcer = policy.Enforcer(conf)
        # Each rule that is still ORed with a former one would warn at start,
        # on every worker, about something the operator cannot change here.
        self._enforcer.suppress_deprecation_warnings = True
        self._enforcer.suppress_default_change_warnings = True
        self._enforcer.register_defaults(policies.list_policies())
        self._enforcer.load_rules()

    @property
    def rules(self) -> policy.Enforcer:
        """The rules as oslo.policy has them, defaults and file together."""
        return self._enforcer

    def authorize(self, context: cyborg_context.RequestContext, action: str,
                  target: dict | None = None) -> None:
        """Return when the caller may do ``action``.

        :param action: name of a rule, such as ``cyborg:arq:create``
        :param target: what the rule's ``%(project_id)s`` and ``%(user_id)s``
            stand for; the caller's own when left out
        :raises PolicyNotAuthorized: the caller may not, or the token has a
            scope that the rule does not accept
        """
        if target is None:
            target = {'project_id': context.project_id,
                      'user_id': context.user_id}
        try:
            self._enforcer.authorize(action, target, context,
                                     do_raise=True)
        except (policy.PolicyNotAuthorized, policy.InvalidScope):
            raise exception.PolicyNotAuthorized(resource=action) from None

    def allows(self, context: cyborg_context.RequestContext, action: str,
               target: dict | None = None) -> bool:
        """Whether ``authorize`` would return."""
        try:
            self.authorize(context, action, target)
        except exception.PolicyNotAuthorized:
            return False
        return True

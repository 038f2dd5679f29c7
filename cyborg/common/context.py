# SPDX-License-Identifier: Apache-2.0
"""Who asks, and for whom: the context of a request."""

import copy
import dataclasses
import math
from typing import Any

from oslo_context import context

# Only what a service behind the RPC boundary looks up in the catalog is
# carried there: the endpoint of the image service.
_CARRIED_SERVICE_TYPES = ('image',)

# What a context is rebuilt from after RPC; everything else in the dictionary
# is derived, or left out on purpose.
_CARRIED = ('auth_token', 'user_id', 'project_id', 'domain_id',
            'user_domain_id', 'project_domain_id', 'is_admin', 'read_only',
            'show_deleted', 'request_id', 'global_request_id',
            'resource_uuid', 'roles', 'user_name', 'project_name',
            'domain_name', 'is_admin_project', 'system_scope',
            'service_catalog', 'machine', 'report', 'not_after', 'noted')


@dataclasses.dataclass(frozen=True)
class Report:
    """The report of a host that a call of its agent belongs to.

    :ivar number: greater than that of every report before.
    """

    host: str
    number: int


class RequestContext(context.RequestContext):
    """oslo.context's context with the service catalog and service roles.

    ``service_roles`` and ``user_auth_plugin`` stay in this process: a service
    token was checked at the API, and a peer must not be able to claim one.

    :param machine: which machine sends a report, see
        ``cyborg.agent.machine``; older peers pass over it.
    :param is_admin: None (the default) derives it: whether the caller has
        the role ``admin``, in any case, as Keystone and oslo.policy compare
        roles. Policy and the project filter use it.
    :param report: a :class:`Report`, or its values as they travel.
    :param not_after: until when the caller waits for what it asked for, in
        seconds since the epoch, or None; see ``cyborg.common.deadline``.
    :param noted: whether the requests that a call binds are noted as asked
        for by their instance, see ``cyborg.db.arqs.note``.
    :ivar write_condition: called with the session when a transaction that
        writes begins; stays in this process.
    """

    def __init__(self, user_id=None, project_id=None, is_admin=None,
                 service_catalog=None, user_auth_plugin=None,
                 overwrite=True, machine=None, report=None, not_after=None,
                 noted=False, **kwargs):
        super().__init__(user_id=user_id, project_id=project_id,
                         is_admin=bool(is_admin), overwrite=overwrite,
                         **kwargs)
        self.service_catalog = [
            entry for entry in service_catalog or ()
            if entry.get('type') in _CARRIED_SERVICE_TYPES]
        self.user_auth_plugin = user_auth_plugin
        self.machine = machine
        self.report = _report(report)
        self.not_after = _moment(not_after)
        self.noted = noted is True
        self.write_condition = None
        if is_admin is None:
            self.is_admin = any(
                role.lower() == 'admin' for role in self.roles)

    def to_dict(self) -> dict:
        """The dictionary that travels over RPC (the keys are a contract)."""
        values = super().to_dict()
        values.pop('service_roles', None)
        values.update({
            'user_id': self.user_id,
            'project_id': self.project_id,
            'user_name': self.user_name,
            'project_name': self.project_name,
            'service_catalog': self.service_catalog,
        })
        if self.machine is not None:
            values['machine'] = self.machine
        # Keys that 2026.2 passes over, and only where they say something.
        if self.report is not None:
            values['report'] = dataclasses.asdict(self.report)
        if self.not_after is not None:
            values['not_after'] = self.not_after
        if self.noted:
            values['noted'] = True
        return values

    def changed(self, **values: Any) -> 'RequestContext':
        """A context that differs in these attributes."""
        other = copy.copy(self)
        # Not the transaction that this one may have open.
        vars(other).pop('_enginefacade_context', None)
        vars(other).update(values)
        return other

    def until(self, moment: float) -> 'RequestContext':
        """A context of which nothing is done after ``moment``.

        :param moment: seconds since the epoch; an earlier one that this
            context has counts.
        """
        return self.changed(not_after=moment if self.not_after is None
                            else min(moment, self.not_after))

    def unlimited(self) -> 'RequestContext':
        """A context for what has to be done whether anybody waits or not."""
        return self.changed(not_after=None)

    @classmethod
    def from_dict(cls, values: dict, **kwargs: Any) -> 'RequestContext':
        """The context a peer sent; keys unknown here are passed over."""
        known = {
            'domain_id': values.get('domain'),
            'user_domain_id': values.get('user_domain'),
            'project_domain_id': values.get('project_domain'),
            'user_id': values.get('user'),
            'project_id': values.get('project'),
        }
        for name in _CARRIED:
            if values.get(name) is not None:
                known[name] = values[name]
        known.update(kwargs)
        # A peer decides about admin itself; absent means no.
        known.setdefault('is_admin', False)
        return cls(**known)

    def to_policy_values(self) -> dict:
        values = super().to_policy_values()
        values['is_admin'] = self.is_admin
        return values


def _report(given) -> Report | None:
    """A peer's mistake in it makes no report."""
    if not isinstance(given, dict):
        return given
    host, number = given.get('host'), given.get('number')
    if isinstance(host, str) and type(number) is int and number > 0:
        return Report(host, number)
    return None


def _moment(given) -> float | None:
    """A peer's mistake in it is no time."""
    if type(given) in (int, float) and math.isfinite(given) and given > 0:
        return float(given)
    return None


def get_admin_context(show_deleted: bool = False) -> RequestContext:
    """A context of the service itself, outside any request."""
    return RequestContext(is_admin=True, show_deleted=show_deleted,
                          overwrite=False)

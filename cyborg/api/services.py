# SPDX-License-Identifier: Apache-2.0
"""What the controllers of one application work with."""

from collections.abc import Callable
import dataclasses

import pecan

from cyborg.api import microversions
from cyborg.api.middleware import mount
from cyborg.common import context as cyborg_context
from cyborg.common import exception
from cyborg.common import policy as cyborg_policy
from cyborg.conf import CONF
from cyborg.placement import client as placement
from cyborg.rpcapi import agent as agent_rpcapi
from cyborg.rpcapi import conductor as conductor_rpcapi


@dataclasses.dataclass(frozen=True)
class Services:
    """Clients of other services, and the policy; one set an application.

    :ivar warned: clients whose odd microversion header the log has told of
    :ivar damaged: what the log has told of rows that cannot be shown
    """

    enforcer: cyborg_policy.Enforcer
    conductor: conductor_rpcapi.ConductorAPI
    agent: agent_rpcapi.AgentAPI
    placement: placement.PlacementClient
    warned: set[str] = dataclasses.field(default_factory=set)
    damaged: set[str] = dataclasses.field(default_factory=set)

    @classmethod
    def from_conf(cls) -> 'Services':
        return cls(cyborg_policy.Enforcer(), conductor_rpcapi.ConductorAPI(),
                   agent_rpcapi.AgentAPI(), placement.PlacementClient())


def get() -> Services:
    return pecan.request.services


def context() -> cyborg_context.RequestContext:
    """Who makes the request that is being served."""
    return pecan.request.context


def version() -> microversions.Version:
    """Microversion of the request that is being served."""
    return pecan.request.version


def base_url() -> str:
    """What links start with, for example ``http://host/accelerator``."""
    return mount.base_url(pecan.request.host_url, pecan.request.script_name,
                          CONF.api.public_endpoint)


def policy(action: str) -> Callable[[], None]:
    """A function that returns when the caller may do ``action``.

    It raises ``exception.PolicyNotAuthorized`` when a rule forbids it.
    """
    return lambda: get().enforcer.authorize(context(), action)


def owner_policy(action: str) -> Callable[[], None]:
    """As :func:`policy`, for what belongs to a project.

    The rules compare the caller's project with itself, so a caller without
    one passes them; nothing belongs to such a caller, though, who is told
    so by ``exception.ProjectRequired`` unless it is an admin.
    """
    def check() -> None:
        get().enforcer.authorize(context(), action)
        if not (context().project_id or context().is_admin):
            raise exception.ProjectRequired()
    return check


def service_policy(action: str) -> Callable[[], None]:
    """As :func:`owner_policy`, for what only another service does."""
    def check() -> None:
        owner_policy(action)()
        require_service_token()
    return check


def has_service_token() -> bool:
    """Whether another service makes the request, by its service token."""
    wanted = CONF.keystone_authtoken.service_token_roles
    return not set(wanted).isdisjoint(context().service_roles)


def require_service_token() -> None:
    """:raises exception.ServiceTokenRequired:"""
    if not has_service_token():
        raise exception.ServiceTokenRequired(
            roles=', '.join(CONF.keystone_authtoken.service_token_roles))

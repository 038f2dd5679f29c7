# SPDX-License-Identifier: Apache-2.0
"""Who may do what: the defaults of all policy rules."""

import itertools

from oslo_policy import policy

from cyborg.policies import arqs
from cyborg.policies import attributes
from cyborg.policies import base
from cyborg.policies import deployables
from cyborg.policies import device_profiles
from cyborg.policies import devices


def list_policies() -> list[policy.RuleDefault]:
    """All rules, for the enforcer and for the sample generator."""
    return list(itertools.chain.from_iterable(
        module.list_policies() for module in
        (base, device_profiles, arqs, deployables, devices, attributes)))

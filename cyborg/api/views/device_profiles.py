# SPDX-License-Identifier: Apache-2.0
"""Device profiles as the API shows them."""

from collections.abc import Iterable
from typing import Any

from cyborg.api import views


def _groups(profile) -> list[dict]:
    return [dict(group) for group in profile.groups]


def item(profile: Any, base: str) -> dict:
    """A profile in a list, or as created."""
    return {
        'uuid': profile.uuid,
        'name': profile.name,
        'description': profile.description,
        'groups': _groups(profile),
        'created_at': views.timestamp(profile.created_at),
        'updated_at': views.timestamp(profile.updated_at),
        'links': [views.self_link(base, 'device_profiles', profile.uuid)],
    }


def listing(profiles: Iterable, base: str) -> dict:
    return {'device_profiles': [item(profile, base) for profile in profiles]}


def single(profile: Any, base: str) -> dict:
    """A profile alone, whose form differs from that in lists."""
    return {'device_profile': {
        'name': profile.name,
        'description': profile.description,
        'uuid': profile.uuid,
        'groups': _groups(profile),
        'created_at': views.spaced_timestamp(profile.created_at),
        'updated_at': views.spaced_timestamp(profile.updated_at),
        'links': [views.self_link(base, 'device_profiles', profile.uuid)],
    }}

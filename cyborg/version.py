# SPDX-License-Identifier: Apache-2.0
"""The version of this package, as its metadata gives it."""

import pbr.version

_info = pbr.version.VersionInfo('openstack-cyborg')


def release_string() -> str:
    """Such as ``18.0.0`` or ``18.0.0.dev12``."""
    return _info.release_string()

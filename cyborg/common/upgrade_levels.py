# SPDX-License-Identifier: Apache-2.0
"""Caps on RPC versions, as ``[upgrade_levels]`` sets them (CFG-6).

A cap pins methods of an RPC interface. Versions of objects are not its
business, they are negotiated by manifests.
"""

from collections.abc import Mapping
import re

from cyborg.common import exception
from cyborg.conf import CONF

_NUMBER = re.compile(r'(\d+)\.(\d+)')


def cap(service: str, newest: str, aliases: Mapping[str, str]) -> str:
    """The newest version this process may send to ``service``.

    :param service: ``conductor`` or ``agent``: name of the option.
    :param newest: newest version this code can send.
    :param aliases: RPC version by release name.
    :returns: a version; unset options give ``newest``.
    :raises exception.UpgradeLevelInvalid: neither a known release nor a
        version that leaves anything to send.
    """
    value = CONF.upgrade_levels[service]
    if value is None:
        return newest
    version = aliases.get(value.strip().lower(), value.strip())
    match = _NUMBER.fullmatch(version)
    # Another major version, or a cap below the first minor one, would
    # forbid every message: the service would start and do nothing.
    if not match or match.group(1) != newest.partition('.')[0]:
        raise exception.UpgradeLevelInvalid(
            service=service, value=value,
            known=', '.join(sorted(aliases)))
    return version


def permits(version_cap: str, version: str) -> bool:
    """Whether ``version`` may be sent under ``version_cap``."""
    allowed = tuple(map(int, version_cap.split('.')))
    wanted = tuple(map(int, version.split('.')))
    return allowed[0] == wanted[0] and wanted[1] <= allowed[1]

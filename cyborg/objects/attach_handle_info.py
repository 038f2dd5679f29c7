# SPDX-License-Identifier: Apache-2.0
"""What is stored of a handle, as its request has it."""

import json
import math
from typing import Any

from cyborg.common import exception
from cyborg.inventory import attach_info


def parsed(text: str) -> dict[str, Any] | None:
    """The stored attach info with its JSON types; None when damaged."""
    try:
        info = json.loads(text)
    except ValueError:
        return None
    if not isinstance(info, dict):
        return None
    for name in attach_info.METADATA:
        # Of the wrong type either way, but no reason to hide the address
        # from those who do not ask for settings.
        if isinstance(info.get(name), (dict, list)):
            info[name] = json.dumps(info[name])
    return info if all(map(_is_plain, info.values())) else None


def _is_plain(value) -> bool:
    """Whether clients can read it: Python also takes NaN and 1e999."""
    return (value is None or isinstance(value, (str, int))
            or isinstance(value, float) and math.isfinite(value))


def damaged(arq: Any) -> exception.AttachInfoInvalid:
    """For a request whose stored info is no JSON object of plain values."""
    return exception.AttachInfoInvalid(
        uuid=arq.attach_handle_uuid, host=arq.hostname,
        key='attach_info', value='no JSON object of plain values',
        reason='it cannot be shown')

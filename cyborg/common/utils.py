# SPDX-License-Identifier: Apache-2.0
"""Names that drivers written for 2026.2 import from here.

The service uses none of them. The driver page of the contributor guide says
what stands in the place of those that are gone.
"""

from typing import Any

from oslo_concurrency import lockutils

#: ``@synchronized('name')``; one at a time within this process.
synchronized = lockutils.synchronized_with_prefix('cyborg-')


def safe_rstrip(value: Any, chars: str | None = None) -> Any:
    """``value`` without what stands at its end.

    What is no text is returned as it is, and so is a text of which nothing
    would be left.
    """
    if not isinstance(value, str):
        return value
    return value.rstrip(chars) or value


class Singleton:
    """A class of which there is one object, made at the first call."""

    def __new__(cls, *args, **kwargs):
        if '_only' not in cls.__dict__:
            cls._only = super().__new__(cls)
        return cls._only

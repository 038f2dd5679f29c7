# SPDX-License-Identifier: Apache-2.0
"""What the API shows: one builder a resource, decided by microversion.

A view reads objects and returns new plain values; it never changes what it
was given.
"""

import datetime


def link(base: str, *path: str) -> str:
    """URL of something of this service.

    :param base: URL that the client knows us under, without a version
    """
    return '/'.join([base, *path])


def self_link(base: str, collection: str, uuid: str) -> dict[str, str]:
    return {'href': link(base, 'v2', collection, uuid), 'rel': 'self'}


def timestamp(moment: datetime.datetime | None) -> str | None:
    """A moment as ISO 8601 with offset, for example 2027-04-01T08:00:00+00:00.

    :param moment: with a time zone, or without one in UTC
    """
    if moment is None:
        return None
    if moment.tzinfo is None:
        return moment.isoformat() + '+00:00'
    return moment.isoformat()


def spaced_timestamp(moment: datetime.datetime | None) -> str:
    """The form that only a single device profile is shown with."""
    return 'None' if moment is None else _aware(moment).isoformat(sep=' ')


def _aware(moment: datetime.datetime) -> datetime.datetime:
    if moment.tzinfo is None:
        return moment.replace(tzinfo=datetime.UTC)
    return moment

# SPDX-License-Identifier: Apache-2.0
"""The ``filters`` argument of the lists of devices and deployables.

It came with the first release and is written ``filters.field=limit`` and
``filters.value=2``, or ``filters[0].field=…`` for several. Some of its names
never meant anything; they are accepted and have no effect.
"""

import dataclasses

import wsme.types

from cyborg.api import schemas
from cyborg.common import exception
from cyborg.common.i18n import _

FIELDS = ('availability', 'board', 'instance_uuid', 'interface_type',
          'limit', 'marker', 'name', 'parent_uuid', 'root_uuid', 'sort_dir',
          'sort_key')
DIRECTIONS = ('asc', 'desc')


class Filter(wsme.types.Base):
    """One filter as WSME reads it from a query."""

    field = wsme.types.wsattr(wsme.types.Enum(str, *FIELDS))
    value = wsme.types.text


@dataclasses.dataclass(frozen=True)
class Listing:
    """How a list is to be cut and sorted.

    :ivar given: any filter was given at all, even one without effect.
    """

    given: bool = False
    limit: int | None = None
    sort_key: str | None = None
    sort_dir: str | None = None
    name: str | None = None


def parse(filters: list | None, sortable: tuple[str, ...]) -> Listing:
    """What the ``filters`` of a request ask for; the last of a name wins.

    :param sortable: columns that a list can be sorted by
    :raises exception.InvalidParameterValue: a value cannot be used.
    """
    values: dict[str, str] = {}
    for item in filters or ():
        if not isinstance(item, Filter):
            _refuse(_('A filter has a field and a value.'))
        if item.field is wsme.types.Unset:
            continue
        if item.value is wsme.types.Unset and item.field in (
                'limit', 'name', 'sort_key', 'sort_dir'):
            _refuse(_('The filter %s needs a value.') % item.field)
        values[item.field] = item.value
    listing = Listing(given=bool(filters), limit=_limit(values.get('limit')),
                      sort_key=values.get('sort_key'),
                      sort_dir=values.get('sort_dir'),
                      name=values.get('name'))
    if listing.sort_key is not None and listing.sort_key not in sortable:
        _refuse(_('The list cannot be sorted by %s.') % listing.sort_key[:100])
    if listing.sort_dir not in (None, *DIRECTIONS):
        _refuse(_('sort_dir is asc or desc, not %s.') % listing.sort_dir[:100])
    return listing


def _limit(value: str | None) -> int | None:
    if value is None:
        return None
    try:
        number = int(value)
    except ValueError:
        number = None
    if number is None or number > schemas.MAX_INTEGER:
        _refuse(_('limit is a number, not %s.') % value[:100])
    # A negative limit has always meant no limit.
    return number if number >= 0 else None


def _refuse(reason: str):
    raise exception.InvalidParameterValue(err=reason)

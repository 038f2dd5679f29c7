# SPDX-License-Identifier: Apache-2.0
"""Where a database may differ from the models, and has since long ago.

Databases made by ``cyborg-dbsync upgrade`` and by ``create_schema`` of former
releases are not quite the same, and each is as good as the other. A revision
that is made of the differences would change what nobody asked to change.
"""

from typing import Any

#: Columns of ``deployables`` that refer to another row of it: what happens to
#: them when that one is deleted was written down on one of the ways only.
_SELF_REFERENCES = (['parent_id'], ['root_id'])
#: Unique constraints of ``device_profiles`` on the one way and on the other.
_PROFILE_UUIDS = ('uniq_device_profiles0uuid',
                  'uniq_device_profiles0uuid0name')


def is_compared(item: Any, name: str | None, kind: str, _reflected: bool,
                _compare_to: Any) -> bool:
    """Whether alembic looks at something when it compares; its signature."""
    if kind == 'foreign_key_constraint':
        return not (item.table.name == 'deployables'
                    and [column.name for column in item.columns]
                    in _SELF_REFERENCES)
    if kind in ('unique_constraint', 'index'):
        return name not in _PROFILE_UUIDS
    return True

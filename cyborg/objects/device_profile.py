# SPDX-License-Identifier: Apache-2.0
"""Device profiles: what an instance asks for, in groups."""

from collections.abc import Iterable
import json
import logging
from typing import Any

from oslo_utils import uuidutils

from cyborg.common import context as cyborg_context
from cyborg.common import exception
from cyborg.objects import base
from cyborg.objects import fields

LOG = logging.getLogger(__name__)

MAX_NAME_LENGTH = 255


def groups_of(profile_json: str | None) -> list[dict[str, str]] | None:
    """The groups in a stored profile; None when the text is damaged."""
    try:
        groups = json.loads(profile_json)['groups']
    except (TypeError, ValueError, KeyError):
        return None
    if isinstance(groups, list) and all(
            isinstance(group, dict) for group in groups):
        return groups
    return None


@base.CyborgObjectRegistry.register
class DeviceProfile(base.PersistentObject):
    # 1.1: description
    VERSION = '1.1'

    fields = {
        'id': fields.IntegerField(nullable=False),
        # Not a UUIDField: 2026.2 stored what it was given.
        'uuid': fields.StringField(nullable=False),
        'name': fields.StringField(nullable=False),
        'groups': fields.ListOfDictOfNullableStringsField(nullable=False),
        'description': fields.StringField(nullable=True),
    }

    def obj_make_compatible(self, primitive: dict[str, Any],
                            target_version: str) -> None:
        super().obj_make_compatible(primitive, target_version)
        if base.older(target_version, (1, 1)):
            primitive.pop('description', None)

    @classmethod
    def _from_db_object(cls, context, obj, row):
        for name in obj.fields:
            if name != 'groups':
                setattr(obj, name, getattr(row, name))
        groups = groups_of(row.profile_json)
        if groups is None:
            # Without groups the profile asks for nothing, and can still be
            # listed and deleted.
            LOG.warning('Device profile %(uuid)s has damaged groups in '
                        'device_profiles.profile_json; delete it.',
                        {'uuid': row.uuid})
            groups = []
        obj.groups = groups
        obj._context = context
        obj.obj_reset_changes()
        return obj

    @classmethod
    @base.local_only
    def get_by_uuid(cls, context: cyborg_context.RequestContext, uuid: str
                    ) -> 'DeviceProfile':
        """:raises exception.ResourceNotFound: no such profile."""
        from cyborg.db import device_profiles
        return cls._from_db_object(
            context, cls(context), device_profiles.get_by_uuid(context, uuid))

    @classmethod
    @base.local_only
    def get_by_name(cls, context: cyborg_context.RequestContext, name: str
                    ) -> 'DeviceProfile':
        """:raises exception.ResourceNotFound: no such profile."""
        from cyborg.db import device_profiles
        return cls._from_db_object(
            context, cls(context), device_profiles.get_by_name(context, name))

    @classmethod
    @base.local_only
    def get_by_id(cls, context: cyborg_context.RequestContext, profile_id: int
                  ) -> 'DeviceProfile':
        """:raises exception.ResourceNotFound: no such profile."""
        from cyborg.db import device_profiles
        return cls._from_db_object(
            context, cls(context),
            device_profiles.get_by_id(context, profile_id))

    @classmethod
    @base.local_only
    def list(cls, context: cyborg_context.RequestContext, *,
             names: Iterable[str] | None = None) -> list['DeviceProfile']:
        """Profiles, oldest first, in one SQL statement.

        :param names: only profiles with exactly one of these names.
        """
        from cyborg.db import device_profiles
        return [cls._from_db_object(context, cls(context), row)
                for row in device_profiles.list_(context, names)]

    @base.local_only
    def create(self) -> None:
        """Store a new profile; a missing uuid is made up.

        Needs ``name`` and ``groups``. ``id`` and the timestamps are ours to
        give, whatever the fields hold.

        :raises exception.DeviceProfileNameNeeded: no name.
        :raises exception.InvalidParameterValue: a name that is too long.
        :raises exception.DeviceProfileGroupsExpected: no groups.
        :raises exception.InvalidUUID: the uuid is none.
        :raises exception.DuplicateDeviceProfileName: the name is taken.
        :raises exception.DeviceProfileAlreadyExists: the uuid is taken.
        """
        from cyborg.db import device_profiles
        if not (self.obj_attr_is_set('name') and self.name):
            raise exception.DeviceProfileNameNeeded()
        if len(self.name) > MAX_NAME_LENGTH:
            # A 2026.2 API passes it on, and MariaDB would fail at it.
            raise exception.InvalidParameterValue(
                err='the name of a device profile has at most %d characters, '
                    'this one has %d.' % (MAX_NAME_LENGTH, len(self.name)))
        if not self.obj_attr_is_set('groups'):
            raise exception.DeviceProfileGroupsExpected()
        uuid = self.uuid if self.obj_attr_is_set('uuid') else None
        if uuid and not uuidutils.is_uuid_like(uuid):
            raise exception.InvalidUUID(uuid=uuid)
        row = device_profiles.create(
            self._context, uuid=uuid or uuidutils.generate_uuid(),
            name=self.name, groups=[dict(group) for group in self.groups],
            description=(self.description
                         if self.obj_attr_is_set('description') else None))
        self._from_db_object(self._context, self, row)

    @base.local_only
    def destroy(self) -> None:
        """:raises exception.ResourceNotFound: it is gone already.
        :raises exception.DeviceProfileInUse: ARQs refer to it.
        """
        from cyborg.db import device_profiles
        device_profiles.delete(self._context, self.uuid)

# SPDX-License-Identifier: Apache-2.0
"""Devices: the cards that drivers found."""

from typing import Any

from cyborg.common import context as cyborg_context
from cyborg.objects import base
from cyborg.objects import fields


@base.CyborgObjectRegistry.register
class Device(base.PersistentObject):
    # 1.1: type AICHIP
    # 1.2: status
    # 1.3: types MDEV and PCI
    # 1.4: type NVME
    # 1.5: device_state
    VERSION = '1.5'

    fields = {
        'id': fields.IntegerField(nullable=False),
        'uuid': fields.UUIDField(nullable=False),
        'type': fields.EnumField(valid_values=fields.DEVICE_TYPES,
                                 nullable=False),
        'vendor': fields.StringField(nullable=False),
        'model': fields.StringField(nullable=False),
        'std_board_info': fields.StringField(nullable=True),
        'vendor_board_info': fields.StringField(nullable=True),
        'hostname': fields.StringField(nullable=False),
        'status': fields.EnumField(valid_values=fields.DEVICE_STATUSES,
                                   nullable=False, default='enabled'),
        'device_state': fields.EnumField(valid_values=fields.DEVICE_STATES,
                                         nullable=True),
    }

    def obj_make_compatible(self, primitive: dict[str, Any],
                            target_version: str) -> None:
        super().obj_make_compatible(primitive, target_version)
        if base.older(target_version, (1, 5)):
            primitive.pop('device_state', None)
        if base.older(target_version, (1, 4)):
            self._refuse_new_values('type', ('NVME',), primitive)
        if base.older(target_version, (1, 3)):
            self._refuse_new_values('type', ('MDEV', 'PCI'), primitive)
        if base.older(target_version, (1, 2)):
            primitive.pop('status', None)
        if base.older(target_version, (1, 1)):
            self._refuse_new_values('type', ('AICHIP',), primitive)

    @classmethod
    @base.local_only
    def get(cls, context: cyborg_context.RequestContext, uuid: str
            ) -> 'Device':
        """:raises exception.ResourceNotFound: no such device."""
        from cyborg.db import devices
        return cls._from_db_object(context, cls(context),
                                   devices.get(context, uuid))

    @classmethod
    @base.local_only
    def get_by_id(cls, context: cyborg_context.RequestContext, device_id: int
                  ) -> 'Device':
        """:raises exception.ResourceNotFound: no such device."""
        from cyborg.db import devices
        return cls._from_db_object(context, cls(context),
                                   devices.get_by_id(context, device_id))

    @classmethod
    @base.local_only
    def list(cls, context: cyborg_context.RequestContext, *,
             type: str | None = None, vendor: str | None = None,
             hostname: str | None = None, limit: int | None = None,
             marker: str | None = None, sort_key: str | None = None,
             sort_dir: str | None = None) -> 'DeviceList':
        """Devices with exactly these values, in one SQL statement.

        Oldest first; with any filter or paging the newest comes first, as
        the 2026.2 API has it.

        :param limit: most devices wanted.
        :param marker: UUID of the last device of the page before.
        :param sort_key: field name, ``created_at`` by default.
        :param sort_dir: ``asc`` or ``desc`` (the default).
        :raises exception.InvalidParameterValue: bad sort_key or sort_dir.
        :raises exception.ResourceNotFound: no device has the marker.
        """
        from cyborg.db import devices
        return DeviceList.from_rows(context, devices.list_(
            context, type=type, vendor=vendor, hostname=hostname, limit=limit,
            marker=marker, sort_key=sort_key, sort_dir=sort_dir))

    @base.local_only
    def save(self) -> None:
        """Store the changed fields.

        :raises exception.ResourceNotFound: the device is gone.
        """
        from cyborg.db import devices
        changes = self.obj_get_changes()
        if changes:
            devices.update(self._context, self.uuid, changes)
        self.obj_reset_changes()


@base.CyborgObjectRegistry.register
class DeviceList(base.ObjectListBase):
    VERSION = '1.0'

    fields = {'objects': fields.ListOfObjectsField('Device')}
    obj_relationships = {'objects': [('1.0', '1.5')]}

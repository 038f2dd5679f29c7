# SPDX-License-Identifier: Apache-2.0
"""Deployables: the parts of a device that have a resource provider each."""

from typing import Any

from cyborg.common import context as cyborg_context
from cyborg.objects import base
from cyborg.objects import fields


@base.CyborgObjectRegistry.register
class Deployable(base.PersistentObject):
    # 1.1: as in 2026.2
    # 1.2: arq_uuids, set in lists of a host's inventory only
    VERSION = '1.2'

    fields = {
        'id': fields.IntegerField(nullable=False),
        'uuid': fields.UUIDField(nullable=False),
        'parent_id': fields.IntegerField(nullable=True),
        'root_id': fields.IntegerField(nullable=True),
        'name': fields.StringField(nullable=False),
        'num_accelerators': fields.IntegerField(nullable=False),
        'device_id': fields.IntegerField(nullable=False),
        'driver_name': fields.StringField(nullable=True),
        'rp_uuid': fields.UUIDField(nullable=True),
        'bitstream_id': fields.UUIDField(nullable=True),
        'arq_uuids': fields.ListOfStringsField(),
    }

    def obj_make_compatible(self, primitive: dict[str, Any],
                            target_version: str) -> None:
        super().obj_make_compatible(primitive, target_version)
        if base.older(target_version, (1, 2)):
            primitive.pop('arq_uuids', None)

    @classmethod
    def _from_db_object(cls, context, obj, row):
        for name in obj.fields:
            if name == 'arq_uuids' and not hasattr(row, name):
                continue
            setattr(obj, name, getattr(row, name))
        obj._context = context
        obj.obj_reset_changes()
        return obj

    @classmethod
    @base.local_only
    def get(cls, context: cyborg_context.RequestContext, uuid: str
            ) -> 'Deployable':
        """:raises exception.ResourceNotFound: no such deployable."""
        from cyborg.db import deployables
        return cls._from_db_object(context, cls(context),
                                   deployables.get(context, uuid))

    @classmethod
    @base.local_only
    def get_by_rp_uuid(cls, context: cyborg_context.RequestContext,
                       rp_uuid: str) -> 'Deployable':
        """:raises exception.ResourceNotFound: nothing has this provider.
        :raises exception.ExpectedOneObject: several deployables have.
        """
        from cyborg.db import deployables
        return cls._from_db_object(
            context, cls(context),
            deployables.get_by_rp_uuid(context, rp_uuid))

    @classmethod
    @base.local_only
    def list(cls, context: cyborg_context.RequestContext, *,
             name: str | None = None, device_id: int | None = None,
             device_uuid: str | None = None, limit: int | None = None,
             marker: str | None = None, sort_key: str | None = None,
             sort_dir: str | None = None) -> 'DeployableList':
        """Deployables with exactly these values, in one SQL statement.

        Order, paging and errors are those of ``Device.list``. The attributes
        of many deployables come from one ``Attribute.list``.
        """
        from cyborg.db import deployables
        return DeployableList.from_rows(context, deployables.list_(
            context, name=name, device_id=device_id, device_uuid=device_uuid,
            limit=limit, marker=marker, sort_key=sort_key,
            sort_dir=sort_dir))

    @base.local_only
    def save(self) -> None:
        """Store the changed fields.

        :raises exception.ResourceNotFound: the deployable is gone.
        """
        from cyborg.db import deployables
        changes = self.obj_get_changes()
        changes.pop('arq_uuids', None)
        if changes:
            deployables.update(self._context, self.uuid, changes)
        self.obj_reset_changes()


@base.CyborgObjectRegistry.register
class DeployableList(base.ObjectListBase):
    VERSION = '1.0'

    fields = {'objects': fields.ListOfObjectsField('Deployable')}
    obj_relationships = {'objects': [('1.0', '1.2')]}

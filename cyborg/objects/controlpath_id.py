# SPDX-License-Identifier: Apache-2.0
"""Control paths: where on its host a device is reached."""

from cyborg.common import context as cyborg_context
from cyborg.objects import base
from cyborg.objects import fields


@base.CyborgObjectRegistry.register
class ControlpathID(base.PersistentObject):
    VERSION = '1.1'

    fields = {
        'id': fields.IntegerField(nullable=False),
        'uuid': fields.UUIDField(nullable=False),
        'device_id': fields.IntegerField(nullable=False),
        # A text rather than a tuple: so it is on record for this version.
        'cpid_type': fields.EnumField(valid_values='PCI', nullable=False),
        'cpid_info': fields.StringField(nullable=False),
    }

    @classmethod
    @base.local_only
    def get_by_device_id(cls, context: cyborg_context.RequestContext,
                         device_id: int) -> 'ControlpathID':
        """:raises exception.ResourceNotFound: the device has none."""
        from cyborg.db import controlpaths
        return cls._from_db_object(
            context, cls(context),
            controlpaths.get_by_device_id(context, device_id))


@base.CyborgObjectRegistry.register
class ControlpathIDList(base.ObjectListBase):
    VERSION = '1.0'

    fields = {'objects': fields.ListOfObjectsField('ControlpathID')}
    obj_relationships = {'objects': [('1.0', '1.1')]}

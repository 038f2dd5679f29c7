# SPDX-License-Identifier: Apache-2.0
"""A part of a device that is handed out by itself, as a driver found it."""

from cyborg.objects import base
from cyborg.objects import fields


@base.CyborgObjectRegistry.register
class DriverDeployable(base.PersistentObject):
    VERSION = '1.0'

    fields = {
        'name': fields.StringField(nullable=False),
        'num_accelerators': fields.IntegerField(nullable=False),
        'attribute_list': fields.ListOfObjectsField(
            'DriverAttribute', default=[], nullable=True),
        'attach_handle_list': fields.ListOfObjectsField(
            'DriverAttachHandle', default=[], nullable=True),
        'driver_name': fields.StringField(nullable=True),
    }

    obj_relationships = {
        'attribute_list': [('1.0', '1.0')],
        'attach_handle_list': [('1.0', '1.0')],
    }

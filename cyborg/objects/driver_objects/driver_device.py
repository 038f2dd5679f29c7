# SPDX-License-Identifier: Apache-2.0
"""A device as a driver found it, with everything below it."""

from typing import Any

from cyborg.objects import base
from cyborg.objects import fields


@base.CyborgObjectRegistry.register
class DriverDevice(base.PersistentObject):
    # 1.1: type AICHIP
    # 1.2: types MDEV and PCI
    # 1.3: type NVME
    # 1.4: device_state
    VERSION = '1.4'

    fields = {
        'vendor': fields.StringField(nullable=False),
        'model': fields.StringField(nullable=False),
        'type': fields.DeviceTypeField(nullable=False),
        'std_board_info': fields.StringField(nullable=True),
        'vendor_board_info': fields.StringField(nullable=True),
        'controlpath_id': fields.ObjectField('DriverControlPathID',
                                             nullable=False),
        'deployable_list': fields.ListOfObjectsField(
            'DriverDeployable', default=[], nullable=False),
        # A device that stands for another service's; reports pass over it.
        'stub': fields.BooleanField(nullable=False, default=False),
        'device_state': fields.EnumField(valid_values=fields.DEVICE_STATES,
                                         nullable=True),
    }

    obj_relationships = {
        'controlpath_id': [('1.0', '1.0')],
        'deployable_list': [('1.0', '1.0')],
    }

    def obj_make_compatible(self, primitive: dict[str, Any],
                            target_version: str) -> None:
        super().obj_make_compatible(primitive, target_version)
        if base.older(target_version, (1, 4)):
            primitive.pop('device_state', None)
        if base.older(target_version, (1, 3)):
            self._refuse_new_values('type', ('NVME',), primitive)
        if base.older(target_version, (1, 2)):
            self._refuse_new_values('type', ('MDEV', 'PCI'), primitive)
        if base.older(target_version, (1, 1)):
            self._refuse_new_values('type', ('AICHIP',), primitive)

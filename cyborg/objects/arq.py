# SPDX-License-Identifier: Apache-2.0
"""Accelerator requests as users see them."""

from typing import Any

from cyborg.objects import attach_handle_info
from cyborg.objects import base
from cyborg.objects import fields

#: Keys of attach_handle_info that versions before 1.2 do not know.
_SETTINGS = ('managed', 'stateful', 'numa_node')


@base.CyborgObjectRegistry.register
class ARQ(base.PersistentObject):
    """What an instance needs, and the handle it got.

    ``attach_handle_type`` is ``""``, ``attach_handle_info`` is ``{}`` and
    ``attach_handle_uuid`` is None unless the request is Bound.

    A Bound request whose stored attach info is no JSON object has its
    ``attach_handle_info`` unset; reading the field raises AttachInfoInvalid.
    So such a request can be listed by others, and unbound.
    """

    # 1.1: as in 2026.2
    # 1.2: the values of attach_handle_info keep their JSON type
    VERSION = '1.2'

    fields = {
        'id': fields.IntegerField(nullable=False),
        'uuid': fields.UUIDField(nullable=False),
        'state': fields.ARQStateField(nullable=False),
        'device_profile_name': fields.StringField(nullable=False),
        'device_profile_group_id': fields.IntegerField(nullable=False),
        'hostname': fields.StringField(nullable=True),
        'device_rp_uuid': fields.StringField(nullable=True),
        'instance_uuid': fields.StringField(nullable=True),
        'project_id': fields.StringField(nullable=True),
        'attach_handle_type': fields.StringField(nullable=True),
        'attach_handle_uuid': fields.StringField(nullable=True),
        'attach_handle_info': fields.DictOfJsonScalarsField(nullable=True),
    }

    def obj_make_compatible(self, primitive: dict[str, Any],
                            target_version: str) -> None:
        super().obj_make_compatible(primitive, target_version)
        info = primitive.get('attach_handle_info')
        if base.older(target_version, (1, 2)) and info is not None:
            primitive['attach_handle_info'] = {
                key: str(value) for key, value in info.items()
                if key not in _SETTINGS and value is not None}

    def obj_load_attr(self, attrname: str) -> None:
        if attrname != 'attach_handle_info':
            return super().obj_load_attr(attrname)
        raise attach_handle_info.damaged(self)

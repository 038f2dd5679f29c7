# SPDX-License-Identifier: Apache-2.0
"""One way to attach a deployable to a guest, as a driver found it."""

from cyborg.objects import base
from cyborg.objects import fields


@base.CyborgObjectRegistry.register
class DriverAttachHandle(base.PersistentObject):
    VERSION = '1.0'

    fields = {
        'attach_type': fields.StringField(nullable=False),
        # JSON text.
        'attach_info': fields.StringField(nullable=False),
        # Part of the contract; nobody looks at it.
        'in_use': fields.BooleanField(nullable=False, default=False),
    }

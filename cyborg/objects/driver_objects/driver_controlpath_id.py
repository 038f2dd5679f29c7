# SPDX-License-Identifier: Apache-2.0
"""The control path of a device, as a driver found it."""

from cyborg.objects import base
from cyborg.objects import fields


@base.CyborgObjectRegistry.register
class DriverControlPathID(base.PersistentObject):
    VERSION = '1.0'

    fields = {
        'cpid_type': fields.StringField(nullable=False),
        # JSON text.
        'cpid_info': fields.StringField(nullable=False),
    }

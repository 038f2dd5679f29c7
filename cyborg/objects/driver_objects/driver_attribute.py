# SPDX-License-Identifier: Apache-2.0
"""A trait, the resource class or another note of a deployable."""

from cyborg.objects import base
from cyborg.objects import fields


@base.CyborgObjectRegistry.register
class DriverAttribute(base.PersistentObject):
    VERSION = '1.0'

    fields = {
        'key': fields.StringField(nullable=False),
        'value': fields.StringField(nullable=False),
    }

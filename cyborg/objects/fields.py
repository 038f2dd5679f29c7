# SPDX-License-Identifier: Apache-2.0
"""Field types of the objects: oslo's, and a few of our own."""

import re
from typing import Any

from oslo_versionedobjects import fields
from oslo_versionedobjects.fields import BooleanField
from oslo_versionedobjects.fields import DateTimeField
from oslo_versionedobjects.fields import DictOfStringsField
from oslo_versionedobjects.fields import EnumField
from oslo_versionedobjects.fields import IntegerField
from oslo_versionedobjects.fields import ListOfDictOfNullableStringsField
from oslo_versionedobjects.fields import ListOfObjectsField
from oslo_versionedobjects.fields import ListOfStringsField
from oslo_versionedobjects.fields import ObjectField
from oslo_versionedobjects.fields import StringField

__all__ = ('ARQStateField', 'BooleanField', 'DateTimeField',
           'DeviceTypeField', 'DictOfJsonScalarsField', 'DictOfStringsField',
           'EnumField', 'IntegerField', 'ListOfDictOfNullableStringsField',
           'ListOfObjectsField', 'ListOfStringsField', 'ObjectField',
           'StringField', 'UUIDField')

DEVICE_TYPES = ('GPU', 'FPGA', 'AICHIP', 'QAT', 'NIC', 'SSD', 'MDEV', 'PCI',
                'NVME')
DEVICE_STATUSES = ('enabled', 'maintaining')
DEVICE_STATES = ('available', 'allocated', 'pending_cleaning', 'cleaning',
                 'error')
ATTACH_TYPES = ('PCI', 'MDEV', 'TEST_PCI')


_UUID = re.compile('[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}')


class UUID(fields.UUID):
    """As the library's, which turns process-wide warning filters each time.

    That costs a fifth of a long list of requests, for a warning that a UUID
    in its usual form never causes. The name is part of the fingerprints.
    """

    def coerce(self, obj: Any, attr: str, value: Any) -> Any:
        if isinstance(value, str) and _UUID.fullmatch(value):
            return value
        return super().coerce(obj, attr, value)


class UUIDField(fields.AutoTypedField):
    AUTO_TYPE = UUID()


class ARQState(fields.Enum):
    """States of an accelerator request.

    ``UnbindFailed`` is known here and on the wire; the database has no such
    value.
    """

    INITIAL = 'Initial'
    BIND_STARTED = 'BindStarted'
    BOUND = 'Bound'
    UNBOUND = 'Unbound'
    BIND_FAILED = 'BindFailed'
    UNBIND_FAILED = 'UnbindFailed'
    DELETING = 'Deleting'
    ALL = (INITIAL, BIND_STARTED, BOUND, UNBOUND, BIND_FAILED, UNBIND_FAILED,
           DELETING)

    def __init__(self):
        super().__init__(valid_values=self.ALL)


class ARQStateField(fields.BaseEnumField):
    AUTO_TYPE = ARQState()


class DeviceTypeField(fields.AutoTypedField):
    AUTO_TYPE = fields.Enum(valid_values=DEVICE_TYPES)


class JsonScalar(fields.FieldType):
    """A JSON string, number, boolean or null, kept as what it is."""

    def coerce(self, obj: Any, attr: str, value: Any) -> Any:
        if value is None or isinstance(value, (str, bool, int, float)):
            return value
        raise ValueError(
            'A string, number, boolean or None is required in %s, not %s'
            % (attr, type(value).__name__))

    def get_schema(self) -> dict:
        return {'type': ['string', 'number', 'boolean', 'null']}


class DictOfJsonScalarsField(fields.AutoTypedField):
    """JSON scalars by name; the values may be None."""

    AUTO_TYPE = fields.Dict(JsonScalar(), nullable=True)

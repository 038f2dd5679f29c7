# SPDX-License-Identifier: Apache-2.0
"""Attributes: traits, resource class and notes of deployables."""

from collections.abc import Iterable

from oslo_utils import uuidutils

from cyborg.common import context as cyborg_context
from cyborg.common import exception
from cyborg.objects import base
from cyborg.objects import fields


@base.CyborgObjectRegistry.register
class Attribute(base.PersistentObject):
    VERSION = '1.0'

    fields = {
        'id': fields.IntegerField(nullable=False),
        'uuid': fields.UUIDField(nullable=False),
        'deployable_id': fields.IntegerField(nullable=False),
        'key': fields.StringField(nullable=False),
        'value': fields.StringField(nullable=False),
    }

    @classmethod
    @base.local_only
    def get(cls, context: cyborg_context.RequestContext, uuid: str
            ) -> 'Attribute':
        """:raises exception.ResourceNotFound: no such attribute."""
        from cyborg.db import attributes
        return cls._from_db_object(context, cls(context),
                                   attributes.get(context, uuid))

    @classmethod
    @base.local_only
    def list(cls, context: cyborg_context.RequestContext, *,
             deployable_id: int | None = None,
             deployable_ids: Iterable[int] | None = None,
             key: str | None = None) -> 'AttributeList':
        """Attributes, oldest first, in one SQL statement.

        :param deployable_ids: those of any of these deployables.
        """
        from cyborg.db import attributes
        return AttributeList.from_rows(context, attributes.list_(
            context, deployable_id=deployable_id,
            deployable_ids=deployable_ids, key=key))

    @base.local_only
    def create(self) -> None:
        """Store a new attribute; a missing uuid is made up.

        Needs ``deployable_id``, ``key`` and ``value``.

        :raises exception.AttributeInvalid: one of them is not set.
        :raises exception.InvalidUUID: the uuid is none.
        :raises exception.AttributeAlreadyExists: the uuid is taken.
        :raises exception.ResourceNotFound: no such deployable.
        """
        from cyborg.db import attributes
        needed = ('deployable_id', 'key', 'value')
        if not all(self.obj_attr_is_set(name) for name in needed):
            raise exception.AttributeInvalid()
        uuid = self.uuid if self.obj_attr_is_set('uuid') else None
        if uuid is not None and not uuidutils.is_uuid_like(uuid):
            raise exception.InvalidUUID(uuid=uuid)
        row = attributes.create(
            self._context, uuid=uuid or uuidutils.generate_uuid(),
            deployable_id=self.deployable_id, key=self.key, value=self.value)
        self._from_db_object(self._context, self, row)

    @base.local_only
    def destroy(self) -> None:
        """:raises exception.ResourceNotFound: it is gone already."""
        from cyborg.db import attributes
        attributes.delete(self._context, self.uuid)


@base.CyborgObjectRegistry.register
class AttributeList(base.ObjectListBase):
    VERSION = '1.0'

    fields = {'objects': fields.ListOfObjectsField('Attribute')}
    obj_relationships = {'objects': [('1.0', '1.0')]}

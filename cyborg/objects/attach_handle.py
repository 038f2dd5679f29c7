# SPDX-License-Identifier: Apache-2.0
"""Attach handles: what a guest gets."""

from typing import Any

from cyborg.common import context as cyborg_context
from cyborg.common import exception
from cyborg.inventory import attach_info
from cyborg.inventory import identity
from cyborg.objects import base
from cyborg.objects import fields


@base.CyborgObjectRegistry.register
class AttachHandle(base.PersistentObject):
    # 1.0: as in 2026.2
    # 1.1: arq_uuids; update_attach_info() is remotable
    VERSION = '1.1'

    fields = {
        'id': fields.IntegerField(nullable=False),
        'uuid': fields.UUIDField(nullable=False),
        'deployable_id': fields.IntegerField(nullable=False),
        'cpid_id': fields.IntegerField(nullable=False),
        'attach_type': fields.EnumField(valid_values=fields.ATTACH_TYPES,
                                        nullable=False),
        # JSON text; see cyborg.inventory.attach_info.
        'attach_info': fields.StringField(nullable=False),
        'in_use': fields.BooleanField(nullable=False, default=False),
        # No column: the ARQs that point at the handle.
        'arq_uuids': fields.ListOfStringsField(),
    }

    # The conditions of the UPDATE. Whether it is in use has a default, which
    # must not decide.
    needed_remotely = ('id', 'uuid', 'deployable_id', 'cpid_id',
                       'attach_type', 'attach_info', 'in_use')

    def obj_make_compatible(self, primitive: dict[str, Any],
                            target_version: str) -> None:
        super().obj_make_compatible(primitive, target_version)
        if base.older(target_version, (1, 1)):
            primitive.pop('arq_uuids', None)

    @classmethod
    def _from_db_object(cls, context, obj, row):
        for name in obj.fields:
            if name == 'in_use':
                obj.in_use = bool(row.in_use)
            elif name != 'arq_uuids' or hasattr(row, name):
                setattr(obj, name, getattr(row, name))
        obj._context = context
        obj.obj_reset_changes()
        return obj

    @classmethod
    @base.local_only
    def get(cls, context: cyborg_context.RequestContext, uuid: str
            ) -> 'AttachHandle':
        """:raises exception.ResourceNotFound: no such handle."""
        from cyborg.db import api
        from cyborg.db import attach_handles
        with api.reader(context):
            row = attach_handles.get(context, uuid)
            obj = cls._from_db_object(context, cls(context), row)
            obj.arq_uuids = attach_handles.arq_uuids(context, row.id)
        obj.obj_reset_changes()
        return obj

    @base.remotable
    def update_attach_info(self, new_attach_info: str) -> None:
        """Store other settings for this handle, if it is as it was read.

        Takes ``managed``, ``stateful`` and ``numa_node`` from the new text;
        what has the same effect as before keeps its stored form. Whether
        ``managed`` changes is decided by the effective values, here and not
        by the caller: if it does, the handle must be unallocated when this
        object was read and when it is written (REC-4); if it does not, the
        handle may be allocated (REC-6). One UPDATE whose conditions are the
        fields of this object decides, and on success they hold the new
        state.

        :param new_attach_info: JSON text for the same address.
        :raises exception.AttachHandleChanged: the row is not as this object
            has it; nothing was written. Read it again.
        :raises exception.ReportOutdated: a newer report of the host that the
            caller reports has begun; nothing was written.
        :raises exception.ManagedModeConflict: this object says that the
            handle is allocated, and ``managed`` would change.
        :raises exception.AttachInfoInvalid: the stored text is damaged.
        :raises exception.ObjectActionError: the new text is damaged, too
            long, or differs in more than the settings.
        """
        change = self.change_to(new_attach_info)
        if change is not None:
            _store(self._context, [change])
            self._stored(change.wanted)

    def change_to(self, new_attach_info: str) -> Any:
        """What has to be written for :meth:`update_attach_info`.

        :returns: a ``cyborg.db.attach_handles.NewText``, or None when
            nothing is to be written.
        :raises: as that method, from what is known before the UPDATE.
        """
        from cyborg.db import attach_handles
        stored = self.attach_info
        before, after = self._settings(new_attach_info)
        changes_managed = before.managed != after.managed
        if changes_managed and (self.in_use or self._known_arqs()):
            raise self._conflict(before, after)
        wanted = attach_info.AttachInfo.read(stored).merged(
            attach_info.AttachInfo.read(new_attach_info), take_managed=True,
            take_others=False)
        if len(wanted) > attach_info.MAX_LENGTH:
            raise self._unacceptable('it has %d characters, more than %d'
                                     % (len(wanted), attach_info.MAX_LENGTH))
        if wanted == stored:
            return None
        return attach_handles.NewText(
            id=self.id, uuid=self.uuid, deployable_id=self.deployable_id,
            cpid_id=self.cpid_id, stored=stored, wanted=wanted,
            only_if_free=changes_managed)

    def _stored(self, text: str) -> None:
        self.attach_info = text
        self.obj_reset_changes()

    def _known_arqs(self) -> list[str]:
        return self.arq_uuids if self.obj_attr_is_set('arq_uuids') else []

    def _settings(self, new: str) -> tuple[attach_info.Settings,
                                           attach_info.Settings]:
        """Effective settings before and after; both texts are checked."""
        try:
            stored = attach_info.AttachInfo.read(self.attach_info)
            before, key = stored.settings, stored.key(self.attach_type)
        except identity.InvalidInfo as error:
            raise exception.AttachInfoInvalid(
                uuid=self.uuid, host=self._host(), key='attach_info',
                value=self.attach_info, reason=error.reason) from None
        try:
            wanted = attach_info.AttachInfo.read(new)
            after = wanted.settings
            if wanted.key(self.attach_type) != key:
                raise self._unacceptable('it names another address')
        except identity.InvalidInfo as error:
            raise self._unacceptable(error.reason) from None
        if wanted.others != stored.others:
            raise self._unacceptable(
                'it differs in more than %s' % ', '.join(attach_info.METADATA))
        return before, after

    def _host(self) -> str:
        from cyborg.db import attach_handles
        return (attach_handles.hostname(self._context, self.id)
                or 'unknown')

    def _unacceptable(self, reason: str) -> exception.ObjectActionError:
        return exception.ObjectActionError(
            action='update_attach_info',
            reason='new attach info for handle %s: %s' % (self.uuid, reason))

    def _conflict(self, before, after) -> exception.ManagedModeConflict:
        return exception.ManagedModeConflict(
            address=attach_info.describe(self.attach_info),
            host=self._host(), handle=self.uuid,
            old=str(before.managed).lower(), new=str(after.managed).lower(),
            arq=', '.join(self._known_arqs()) or 'none known')


def _store(context, texts) -> None:
    from cyborg.db import attach_handles
    from cyborg.db import report_order
    attach_handles.replace_attach_infos(report_order.of_agent(context), texts)


@base.CyborgObjectRegistry.register
class AttachHandleList(base.ObjectListBase):
    # 1.0: read with a HostInventory
    # 1.1: update_attach_info()
    VERSION = '1.1'

    fields = {'objects': fields.ListOfObjectsField('AttachHandle')}
    obj_relationships = {'objects': [('1.0', '1.1'), ('1.1', '1.1')]}

    needed_remotely = ('objects',)

    @base.remotable
    def update_attach_info(self, new_attach_infos: dict[str, str]) -> None:
        """Store other settings for all these handles, or for none.

        As ``AttachHandle.update_attach_info`` for each, in one transaction:
        a configuration that changes the mode of a host's devices takes
        effect for all of them or for none, wherever somebody is killed.

        :param new_attach_infos: JSON text by UUID, for each of the handles.
        :raises exception.AttachHandleChanged: names a handle whose row is
            not as its object has it; nothing was written. Read all again.
        :raises exception.ObjectActionError: UUIDs and handles do not go
            together, or a text is not acceptable.
        :raises exception.ReportOutdated, exception.ManagedModeConflict,
            exception.AttachInfoInvalid: as the method of one.
        """
        uuids = [handle.uuid for handle in self.objects]
        if sorted(uuids) != sorted(new_attach_infos):
            raise exception.ObjectActionError(
                action='update_attach_info',
                reason='it needs one new attach info for each of the handles '
                       '%s, and has them for %s' % (
                           ', '.join(uuids), ', '.join(new_attach_infos)))
        changes = {handle.uuid: handle.change_to(new_attach_infos[handle.uuid])
                   for handle in self.objects}
        _store(self._context, [each for each in changes.values() if each])
        for handle in self.objects:
            if changes[handle.uuid]:
                handle._stored(changes[handle.uuid].wanted)
        self.obj_reset_changes()

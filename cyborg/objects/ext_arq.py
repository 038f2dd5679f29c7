# SPDX-License-Identifier: Apache-2.0
"""Accelerator requests with what the service keeps about them."""

from collections.abc import Iterable
import functools

from oslo_utils import uuidutils

from cyborg.objects import arq as arq_objects
from cyborg.objects import attach_handle_info
from cyborg.objects import base
from cyborg.objects import device_profile
from cyborg.objects import fields

# Sent for a request without a deployable since the first release.
_NO_DEPLOYABLE = '00000000-0000-0000-0000-000000000000'


class _ExtARQ(base.PersistentObject):
    """Common fields of ExtARQ and FPGAExtARQ.

    The request itself is the member ``arq``. ``deployable_uuid`` is all
    zeros while there is no deployable.
    """

    fields = {
        'arq': fields.ObjectField('ARQ'),
        'substate': fields.StringField(),
        'deployable_uuid': fields.UUIDField(nullable=True),
        'device_profile_group': fields.DictOfStringsField(nullable=True),
        'attach_handle_id': fields.IntegerField(nullable=True),
        'deployable_id': fields.IntegerField(nullable=True),
    }

    obj_relationships = {
        'arq': [('1.0', '1.0'), ('1.1', '1.1'), ('1.3', '1.2')],
    }

    def obj_make_compatible(self, primitive, target_version):
        super().obj_make_compatible(primitive, target_version)
        if base.older(target_version, (1, 2)):
            primitive.pop('deployable_id', None)

    @classmethod
    def _from_db_object(cls, context, obj, row):
        """Fill ``obj`` from a row of ``cyborg.db.arqs``."""
        stored = row.ExtARQ
        obj.arq = _arq(context, row)
        obj.substate = stored.substate
        obj.deployable_uuid = row.deployable_uuid or _NO_DEPLOYABLE
        obj.device_profile_group = _group(row)
        obj.attach_handle_id = stored.attach_handle_id
        obj.deployable_id = stored.deployable_id
        # They are those of the request, and there they are.
        obj.created_at = obj.updated_at = None
        obj._context = context
        # Not recursive: that looks at every field of both again, which takes
        # half the time of a long list.
        obj.arq.obj_reset_changes()
        obj.obj_reset_changes()
        return obj

    @classmethod
    @base.local_only
    def get(cls, context, uuid: str) -> 'ExtARQ':
        """One request that the caller may see, in one SQL statement.

        :raises exception.ResourceNotFound: there is none, or it belongs to
            another project and the caller is no admin.
        """
        from cyborg.db import arqs
        return cls._from_db_object(context, cls(context),
                                   arqs.get(context, uuid))

    @classmethod
    @base.local_only
    def list(cls, context, *, project_id: str | None = None,
             instance_uuid: str | None = None,
             uuids: Iterable[str] | None = None,
             beside_instance: str | None = None,
             states: Iterable[str] | None = None) -> list['ExtARQ']:
        """The requests that the caller may see, in one SQL statement.

        An admin sees all, others those of their project (``context``); a
        caller without a project who is no admin sees none. Oldest first.

        :param project_id: only those of this project.
        :param instance_uuid: only those bound to this instance.
        :param uuids: only these.
        :param beside_instance: these, and those of this instance, too.
        :param states: only those in one of these states.
        """
        from cyborg.db import arqs
        rows = arqs.list_(context, project_id=project_id, uuids=uuids,
                          instance_uuid=instance_uuid, states=states,
                          beside_instance=beside_instance)
        return [cls._from_db_object(context, cls(context), row)
                for row in rows]

    @classmethod
    @base.local_only
    def delete_without_instance(cls, context, uuids: Iterable[str]) -> bool:
        """See ``cyborg.db.arqs.delete_without_instance``."""
        from cyborg.db import arqs
        return arqs.delete_without_instance(context, uuids)

    @classmethod
    @base.local_only
    def withdraw(cls, context, uuid: str, device_profile_id: int) -> None:
        """See ``cyborg.db.arqs.withdraw``."""
        from cyborg.db import arqs
        arqs.withdraw(context, uuid, device_profile_id)

    @classmethod
    @base.local_only
    def note(cls, context, uuids: Iterable[str], instance_uuid: str,
             instead_of: Iterable[str] = ()) -> None:
        """See ``cyborg.db.arqs.note``."""
        from cyborg.db import arqs
        arqs.note(context, uuids, instance_uuid, instead_of)

    @base.local_only
    def create(self, device_profile_id: int | None = None) -> None:
        """Store a new request in state Initial; a missing uuid is made up.

        :param device_profile_id: row id of the profile; looked up by
            ``arq.device_profile_name`` when absent.
        :raises exception.ResourceNotFound: no such profile.
        :raises exception.ExtArqAlreadyExists: the uuid is taken.
        """
        from cyborg.db import arqs
        from cyborg.db import device_profiles
        context = self._context
        if device_profile_id is None:
            device_profile_id = device_profiles.get_by_name(
                context, self.arq.device_profile_name).id
        given = self.arq.as_dict()
        row = arqs.create(context, {
            'uuid': given.get('uuid') or uuidutils.generate_uuid(),
            'state': fields.ARQState.INITIAL,
            'device_profile_id': device_profile_id,
            'device_profile_group_id': given.get('device_profile_group_id',
                                                 0),
            'project_id': given.get('project_id'),
        })
        self._from_db_object(context, self, arqs.get_stored(context, row.id))

    @base.local_only
    def delete(self) -> None:
        """Remove the request, which must hold no handle.

        :raises exception.ResourceNotFound: it is gone already.
        :raises exception.ARQBadState: it holds a handle: unbind it first.
        """
        from cyborg.db import arqs
        arqs.delete(self._context, self.arq.uuid)


@base.CyborgObjectRegistry.register
class ExtARQ(_ExtARQ):
    # 1.2: deployable_id
    # 1.3: ARQ 1.2
    VERSION = '1.3'


@base.CyborgObjectRegistry.register
class FPGAExtARQ(_ExtARQ):
    # 1.2: deployable_id
    # 1.3: ARQ 1.2
    VERSION = '1.3'


def _arq(context, row) -> arq_objects.ARQ:
    stored = row.ExtARQ
    bound = (stored.state == fields.ARQState.BOUND
             and row.handle_uuid is not None)
    request = arq_objects.ARQ(
        context, id=stored.id, uuid=stored.uuid, state=stored.state,
        device_profile_name=row.profile_name or '',
        device_profile_group_id=stored.device_profile_group_id,
        hostname=stored.hostname, device_rp_uuid=stored.device_rp_uuid,
        instance_uuid=stored.instance_uuid, project_id=stored.project_id,
        attach_handle_type=row.attach_type if bound else '',
        attach_handle_uuid=row.handle_uuid if bound else None,
        created_at=stored.created_at, updated_at=stored.updated_at)
    info = attach_handle_info.parsed(row.attach_info) if bound else {}
    if info is not None:
        request.attach_handle_info = info
    return request


def _group(row) -> dict[str, str]:
    """The group of the profile that a request is for; empty when gone."""
    return dict(_group_in(row.profile_json,
                          row.ExtARQ.device_profile_group_id))


@functools.lru_cache(maxsize=256)
def _group_in(profile_json: str | None, number: int):
    """(key, value) pairs of a group; many requests share a profile."""
    groups = device_profile.groups_of(profile_json) or []
    if 0 <= number < len(groups):
        return tuple((key, str(value))
                     for key, value in groups[number].items())
    return ()

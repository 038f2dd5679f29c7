# SPDX-License-Identifier: Apache-2.0
"""Accelerator requests to be shown, many at a time (PERF-2).

No versioned objects: nothing here travels over RPC or is changed, and making
one takes three times as long as all else that a list does.
"""

from collections.abc import Sequence
import datetime
from typing import Any
from typing import NamedTuple

from cyborg.common import context as cyborg_context
from cyborg.common import exception
from cyborg.objects import attach_handle_info as handle_info
from cyborg.objects import base
from cyborg.objects import fields


class ShownARQ(NamedTuple):
    """The fields of ``ARQ``, with the same values, as plain ones.

    :ivar info: the stored attach info; None when it is damaged, and then
        ``attach_handle_info`` raises AttachInfoInvalid.
    """

    uuid: str
    state: str
    device_profile_name: str
    device_profile_group_id: int
    hostname: str | None
    device_rp_uuid: str | None
    instance_uuid: str | None
    project_id: str | None
    attach_handle_type: str
    attach_handle_uuid: str | None
    info: dict[str, Any] | None
    created_at: datetime.datetime | None
    updated_at: datetime.datetime | None

    @property
    def attach_handle_info(self) -> dict[str, Any]:
        if self.info is None:
            raise handle_info.damaged(self)
        return self.info


def list_(context: cyborg_context.RequestContext, **filters: Any
          ) -> list[ShownARQ]:
    """Those that the caller may see, oldest first, in one SQL statement.

    :param filters: as of ``ExtARQ.list``.
    """
    from cyborg.db import arqs
    _refuse_remotely('list_')
    return [_shown(row) for row in arqs.shown(context, **filters)]


def created(context: cyborg_context.RequestContext, uuids: Sequence[str]
            ) -> list[ShownARQ]:
    """Those with these UUIDs, in this order, whoever may see them."""
    from cyborg.db import arqs
    _refuse_remotely('created')
    found = {row.uuid: _shown(row)
             for row in arqs.shown_with(context, uuids)}
    missing = [uuid for uuid in uuids if uuid not in found]
    if missing:
        raise exception.ResourceNotFound(
            resource='ExtArq', msg='with uuid=%s' % ', '.join(missing))
    return [found[uuid] for uuid in uuids]


def _refuse_remotely(method: str) -> None:
    if base.CyborgObject.indirection_api is not None:
        raise exception.RemoteMethodRefused(objname='ShownARQ', method=method)


def _shown(row) -> ShownARQ:
    (uuid, state, group, hostname, rp_uuid, instance, project, created_at,
     updated_at, profile, handle_uuid, handle_type, text) = row
    if state != fields.ARQState.BOUND or handle_uuid is None:
        handle_uuid, handle_type, info = None, '', {}
    else:
        info = handle_info.parsed(text)
    return ShownARQ(uuid, state, profile or '', group, hostname, rp_uuid,
                    instance, project, handle_type, handle_uuid, info,
                    created_at, updated_at)

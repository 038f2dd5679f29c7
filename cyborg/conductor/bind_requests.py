# SPDX-License-Identifier: Apache-2.0
"""What a patch asks to bind, beside what is stored of it. Pure.

Rows are those of ``cyborg.db.arqs``, by the UUID of the ARQ.
"""

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import json

from cyborg.common import constants
from cyborg.common import exception
from cyborg.db import binding
from cyborg.inventory import products

_BINDABLE = constants.ARQ_STATES_TRANSFORM_MATRIX[constants.ARQ_BIND_STARTED]


def paired(rows: Iterable, requests: Iterable[binding.Request]
           ) -> list[tuple]:
    """Each row of an ARQ with the request to bind it."""
    by_uuid = {request.arq_uuid: request for request in requests}
    return [(row, by_uuid[row.ExtARQ.uuid]) for row in rows]


def told_apart(rows: Mapping, requests: Sequence[binding.Request]
               ) -> tuple[list[binding.Request], ...]:
    """Binds that are done, under way, and to be done.

    :raises exception.ARQBadState: an ARQ can be none of these.
    """
    again, under_way, todo = [], [], []
    for request in requests:
        arq = rows[request.arq_uuid].ExtARQ
        if arq.state in _BINDABLE:
            todo.append(request)
        elif binding.is_done(arq, request):
            again.append(request)
        elif binding.is_under_way(arq, request):
            under_way.append(request)
        else:
            raise exception.ARQBadState(
                uuid=request.arq_uuid, state=arq.state,
                expected=', '.join(_BINDABLE))
    return again, under_way, todo


def with_products(request: binding.Request, rows: Mapping
                  ) -> binding.Request:
    """The request with what its group of the device profile requires."""
    try:
        row = rows[request.arq_uuid]
        group = json.loads(row.profile_json)['groups'][
            row.ExtARQ.device_profile_group_id]
        return dataclasses.replace(request, products=products.required(group))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        # Damaged, or its profile is gone: it asks for no product.
        return request


def request_of(arq_uuid: str, valid_fields: dict[str, dict]
               ) -> binding.Request:
    """:raises exception.PatchError: a value is missing."""
    fields = valid_fields.get(arq_uuid) or {}
    missing = [name for name in ('hostname', 'device_rp_uuid',
                                 'instance_uuid') if not fields.get(name)]
    if missing:
        raise exception.PatchError(
            reason='accelerator request %s lacks %s' % (
                arq_uuid, ', '.join(missing)))
    return binding.Request(
        arq_uuid, str(fields['hostname']), fields['device_rp_uuid'],
        fields['instance_uuid'], fields.get('project_id'))
